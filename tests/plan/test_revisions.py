"""History by ControllerRevision."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attractor.k8s.apps_v1 import ControllerRevision
from attractor.k8s.core_v1 import ConfigMap
from attractor.plan import History, UnknownRevision

from .hand import named

OWNER = ConfigMap(metadata=named("owner"))


def after(*states: int, limit: int = 3) -> History:
    """The history once the owner has had these states, one after the other."""
    history = History([])
    for state in states:
        history = History(history.with_current(OWNER, {"size": state}, limit))
    return history


def numbers(history: History) -> dict[int, int]:
    return {one.revision: history.data(one.revision)["size"] for one in history.revisions}


def test_each_state_is_a_revision() -> None:
    assert numbers(after(10, 20, 30)) == {1: 10, 2: 20, 3: 30}


def test_the_same_state_twice_is_one_revision() -> None:
    assert numbers(after(10, 10, 10)) == {1: 10}


def test_going_back_moves_the_revision_to_the_newest_number() -> None:
    history = after(10, 20, 10)
    assert numbers(history) == {2: 20, 3: 10}
    assert history.data(2) == {"size": 20}


def test_old_revisions_are_no_longer_wanted() -> None:
    assert numbers(after(1, 2, 3, 4, 5, 6, limit=2)) == {4: 4, 5: 5, 6: 6}
    assert numbers(after(1, 2, limit=0)) == {2: 2}


def test_an_unknown_revision_is_refused_with_those_there_are() -> None:
    with pytest.raises(UnknownRevision, match="there is no revision 9; there are: 1, 2"):
        after(10, 20).data(9)


@given(st.lists(st.integers(0, 4), max_size=12), st.integers(0, 3))
def test_numbers_only_grow_and_the_current_state_is_always_there(states: list[int], limit: int) -> None:
    history = History(list[ControllerRevision]())
    for state in states:
        before = history.newest
        history = History(history.with_current(OWNER, {"size": state}, limit))
        assert history.newest >= before
        assert history.data(history.newest) == {"size": state}
        assert len(history.revisions) <= limit + 1
        assert len({one.metadata.name for one in history.revisions}) == len(history.revisions)
