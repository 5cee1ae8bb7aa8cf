"""Deletions and doubts that no event ends: when they are history."""

import pytest

from attractor.cache.core import UNSURE, ViewCore
from attractor.objects.gvk import Key
from tests.cache.test_view import A, B, obj, view


def test_a_deletion_that_no_event_tells_is_history_once_the_watch_has_passed_a_later_creation() -> None:
    core = ViewCore(lambda one: one, sees_all=False)
    core.replace("10", core.begin(), [])
    core.sending(A)
    core.deleted(A, "hidden")
    core.settled(A)
    core.sending(B)
    core.wrote(obj(B, 15), is_new=True)
    core.settled(B)
    core.advance("14")
    assert A in core.pending, "it may have come into view before it was deleted"
    core.advance("15")
    assert A not in core.pending


def test_a_write_that_changed_nothing_says_nothing_of_a_deletion_before_it() -> None:
    core = view(obj(A, 9, "u"), obj(B, 10), version=10)
    core.sending(A)
    core.deleted(A, "u")
    core.settled(A)
    core.sending(B)
    core.wrote(obj(B, 10))
    core.settled(B)
    core.advance("11")
    assert core.get(A) is None, "the watch is at 11, and has not told of the deletion at 12"


def test_a_write_that_was_sent_before_a_deletion_was_answered_says_nothing_of_it() -> None:
    core = ViewCore(lambda one: one, sees_all=False)
    core.replace("10", core.begin(), [])
    core.deleted(Key("n", "earlier"), "u")
    core.sending(B)
    core.deleted(A, "hidden")
    core.wrote(obj(B, 15), is_new=True)
    core.settled(B)
    core.advance("16")
    assert set(core.pending) == {A}


def test_a_refused_write_puts_in_doubt_until_a_later_creation_is_passed_and_a_lost_one_until_it_is_asked_about() -> (
    None
):
    core = view(version=10)
    core.unsure(A)
    core.unsure(B, may_happen=True)
    core.unsure(B)
    other = Key("n", "other")
    core.sending(other)
    core.wrote(obj(other, 12), is_new=True)
    core.settled(other)
    core.advance("13")
    assert (core.get(A), core.get(B)) == (None, UNSURE)


@pytest.mark.parametrize("objects", [10_000, pytest.param(100_000, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("sees_all", [True, False])
def test_many_objects_that_came_and_went_leave_nothing_behind(sees_all: bool, objects: int) -> None:
    core = ViewCore(lambda one: one, sees_all=sees_all)
    core.replace("0", core.begin(), [])
    version, most = 0, 0
    for number in range(objects):
        key = Key("n", f"k{number}")
        version += 2
        core.sending(key)
        core.wrote(obj(key, version - 1, f"u{number}"), in_scope=sees_all, is_new=True)
        core.settled(key)
        core.sending(key)
        core.unsure(key)
        core.settled(key)
        core.sending(key)
        core.deleted(key, f"u{number}")
        core.settled(key)
        if sees_all:
            core.observe("ADDED", obj(key, version - 1, f"u{number}"))
            core.observe("DELETED", obj(key, version, f"u{number}"))
        elif number % 50 == 49:
            core.advance(str(version))
        most = max(most, sizes(core))
    assert most < 700
    assert (len(core.pending), len(core.seen)) == ((0, 0) if sees_all else (1, 0))


def sizes(core: ViewCore) -> int:
    """How much a view keeps of single objects."""
    kept = (core._floors, core._awaited or (), core._in_flight, core._settling or (), core.seen)
    return sum(map(len, kept))
