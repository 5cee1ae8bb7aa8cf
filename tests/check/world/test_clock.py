"""The clock of a world: it stands, goes on, or oscillates for ever."""

from __future__ import annotations

from datetime import timedelta

import pytest

from attractor.check import OscillatingClock, SpecError, check
from attractor.check.world.simulation.clock import next_instant
from attractor.check.world.simulation.walk import Walk
from tests.quality.zoo import writes_the_time
from tests.quality.zoo.writes_the_time import NOON

LATER = [NOON + timedelta(seconds=number) for number in range(3)]


def test_a_clock_that_stands_in_the_end_hides_a_hot_loop_that_an_oscillating_one_shows() -> None:
    world = writes_the_time.world()
    assert check(world.but(clock=LATER)).assert_holds().distinct == 56
    assert check(world.but(clock=(NOON,))).assert_holds().distinct == 8
    verdict = check(world)
    verdict.assert_violated("quiesces")
    assert "the clock oscillates for ever between its last two instants" in verdict.within


def test_an_oscillating_clock_goes_to_its_last_instant_and_then_to_and_fro() -> None:
    assert [next_instant(OscillatingClock(LATER), at) for at in (0, 1, 2)] == [1, 2, 1]
    assert [next_instant(LATER, at) for at in (0, 1, 2)] == [1, 2, None]
    oscillating = Walk(writes_the_time.world().but(clock=OscillatingClock(LATER)))
    for _ in range(6):
        oscillating.take("tick")
    standing = Walk(writes_the_time.world().but(clock=LATER))
    standing.take("tick")
    standing.take("tick")
    assert not standing.can("tick")


def test_a_clock_that_cannot_go_is_refused() -> None:
    with pytest.raises(SpecError, match="at least 2 of its instants"):
        writes_the_time.world().but(clock=OscillatingClock((NOON,)))
    with pytest.raises(SpecError, match="at least 1 of its instants"):
        writes_the_time.world().but(clock=())
