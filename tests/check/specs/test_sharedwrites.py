"""Writers of one object on two servers of one etcd: the deadlock of turns that wait for each other, and its cure."""

from __future__ import annotations

import pytest

from attractor.check import check
from attractor.check.engine.selection import EngineName
from attractor.check.specs.sharedwrites import SharedWrites
from tests.check.specs.pinned import ENGINES, Pinned

THREE = Pinned(SharedWrites, {"homes": (0, 0, 1)}, (26_335, 68_201, 25))
OLD = {"keeps_turn": True, "waits_for_retry": True}
FOUR = [
    Pinned(SharedWrites, {}, (1_481_513, 4_260_481, 35)),
    Pinned(SharedWrites, {"replacing": (0,)}, (92_492, 260_912, 34)),
    Pinned(
        SharedWrites, {"replacing": (0,), **OLD}, (80_956, 226_022, 32), {"deadlock": 18, "everyone_is_answered": 18}
    ),
]


@pytest.mark.parametrize("engine", ENGINES, ids=str)
def test_three_requests_are_answered_rightly_on_every_engine(engine: tuple[EngineName, int]) -> None:
    assert not THREE.demand(engine).warnings


@pytest.mark.parametrize(
    "pinned",
    [pytest.param(each, id=str(each), marks=() if each.constants else pytest.mark.nightly) for each in FOUR],
)
def test_four_requests_are_answered_unless_turns_wait_for_each_other(pinned: Pinned) -> None:
    assert not pinned.demand(("native", 1)).warnings


def test_the_deadlock_is_two_requests_of_one_server_that_wait_for_each_other() -> None:
    trace = check(SharedWrites(replacing=(0,), **OLD)).assert_violated("deadlock")
    actions = [(step.action, tuple(step.arguments.values())) for step in trace.steps]
    assert actions.index(("run", (0,))) < actions.index(("hear_failed", (1,)))
    assert ("take_turn", (0,)) not in actions[actions.index(("hear_failed", (1,))) :], "the turn is never free again"


@pytest.mark.parametrize("kept", ["keeps_turn", "waits_for_retry"])
def test_either_rule_alone_is_enough_against_the_deadlock(kept: str) -> None:
    check(SharedWrites(replacing=(0,), **{kept: True})).assert_holds()
