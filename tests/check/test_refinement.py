"""Refinement: a concrete step is an abstract step or a stutter, from an initial state to an initial state."""

from __future__ import annotations

import pytest

from attractor.check import Spec, SpecError, action, check, constant, each, refines, require, subset, var

ENGINES = ("python", "native")


class HourHand(Spec):
    """What can be seen of a clock from afar: three hours, and which bells have rung."""

    hour: int = var(0)
    rung: frozenset[int] = subset(range(3))

    @action
    def tick(self) -> None:
        """The next hour strikes."""
        self.rung.add(self.hour)  # type: ignore[attr-defined]
        self.hour = (self.hour + 1) % 3


class Clock(Spec):
    """Minutes, which the abstract clock does not see."""

    minutes: int = constant(2)
    skips: bool = constant(False)
    starts_at: int = constant(0)
    hour: int = var(lambda self: self.starts_at)
    minute: int = var(0)
    bell: dict[int, bool] = each(range(3), False)

    @action
    def minute_passes(self) -> None:
        """A minute within the hour."""
        require(self.minute + 1 < self.minutes)
        self.minute += 1

    @action
    def hour_passes(self) -> None:
        """The last minute of an hour."""
        require(self.minute + 1 == self.minutes)
        self.minute = 0
        self.bell[self.hour] = True
        self.hour = (self.hour + (2 if self.skips else 1)) % 3

    is_an_hour_hand = refines(
        HourHand, lambda self: {"hour": self.hour, "rung": frozenset(h for h in range(3) if self.bell[h])}
    )


@pytest.mark.parametrize("engine", ENGINES)
def test_steps_that_the_abstract_specification_does_not_see_are_stutters(engine: str) -> None:
    verdict = check(Clock(minutes=3), engine=engine).assert_holds()  # type: ignore[arg-type]
    assert verdict["is_an_hour_hand"].verdict == "holds"


@pytest.mark.parametrize("engine", ENGINES)
def test_a_step_that_the_abstract_specification_cannot_take_is_shown_with_the_shortest_run(engine: str) -> None:
    trace = check(Clock(skips=True), engine=engine).assert_violated("is_an_hour_hand")  # type: ignore[arg-type]
    assert trace.actions == ("minute_passes", "hour_passes")


def test_an_initial_state_must_be_seen_as_an_initial_state() -> None:
    with pytest.raises(
        SpecError, match=r"Clock\.is_an_hour_hand: an initial state is seen as .* no initial state of HourHand"
    ):
        check(Clock(starts_at=2))


def test_an_abstraction_must_give_every_variable_of_the_abstract_specification() -> None:
    class Half(Clock):
        """Forgets the bells."""

        is_an_hour_hand = refines(HourHand, lambda self: {"hour": self.hour})

    with pytest.raises(SpecError, match="gives no value for rung"):
        check(Half())
