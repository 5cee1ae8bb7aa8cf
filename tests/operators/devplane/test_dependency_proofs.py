"""Dependencies and restarts proved: no start before its dependency is ready, and never two processes."""

from collections.abc import Callable

import pytest

from attractor.check import World, check
from attractor.operators.devplane.proofs import dependency_worlds as worlds
from tests.operators.devplane import wrong
from tests.operators.proofs import assert_proved

STATES: dict[Callable[..., World], int] = {
    worlds.waiting: 89_662,
    worlds.late: 87_801,
    worlds.restarted_while_waiting: 346_457,
    worlds.told: 194_590,
    worlds.told_and_stopped: 69_408,
}


@pytest.mark.nightly
@pytest.mark.parametrize("made", worlds.WORLDS, ids=lambda made: made.__name__)
def test_what_is_promised_is_kept_whoever_crashes(made: Callable[[], World]) -> None:
    assert_proved(made, STATES)


@pytest.mark.parametrize(
    "made", [worlds.waiting, worlds.restarted_while_waiting, worlds.told], ids=lambda made: made.__name__
)
def test_what_is_promised_is_kept_while_nobody_crashes(made: Callable[[], World]) -> None:
    check(made().but(faults=None)).assert_holds(within=["lag"])


def test_a_controller_that_does_not_wait_for_its_dependency_is_found_out() -> None:
    wrong_one = wrong.declared(wrong.StartsAtOnce())
    check(worlds.waiting(wrong_one)).assert_violated("no start before its dependency is ready")
