"""Refinement keeps the fairness of the abstract specification: what must go on there goes on here."""

from __future__ import annotations

from typing import Any

import pytest

from attractor.check import Spec, action, check, refines, require, strong, var, weak

ENGINES = ["python", "native"]


class Hours(Spec):
    """A clock that must tick."""

    hour: int = var(0)

    @action
    def tick(self) -> None:
        self.hour = (self.hour + 1) % 3

    goes_on = weak("tick")


class Minutes(Spec):
    """A clock with a finer hand, which nothing makes go on."""

    h: int = var(0)
    m: int = var(0)

    @action
    def minute(self) -> None:
        if self.m < 2:
            self.m += 1
        else:
            self.m = 0
            self.h = (self.h + 1) % 3

    @refines(Hours())
    def as_hours(self) -> dict[str, int]:
        return {"hour": self.h}


class Wound(Minutes):
    wound = weak("minute")


class Broken(Wound):
    """Goes on for ever, within one hour."""

    back: bool = var(False)

    @action
    def wobble(self) -> None:
        require(self.m == 1)
        self.m = 0

    unfair = weak("wobble")


@pytest.mark.parametrize("engine", ENGINES)
def test_a_clock_that_may_stop_does_not_refine_one_that_must_tick(engine: Any) -> None:
    verdict = check(Minutes(), engine=engine)
    trace = verdict.assert_violated("as_hours")
    assert (len(trace), trace.loop) == (0, 0)
    assert any("owes goes_on, and never does it" in each for each in verdict.warnings)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_clock_that_must_go_on_refines_one_that_must_tick(engine: Any) -> None:
    check(Wound(), engine=engine).assert_holds()


@pytest.mark.parametrize("engine", ENGINES)
def test_a_clock_that_goes_to_and_fro_for_ever_does_not(engine: Any) -> None:
    trace = check(Broken(), engine=engine, deadlock=False).assert_violated("as_hours")
    assert trace.actions[trace.loop or 0 :] == ("minute", "wobble") or set(trace.actions) == {"minute", "wobble"}


class Doors(Spec):
    """A door that opens for a guest who keeps coming back."""

    waits: bool = var(False)
    inside: bool = var(False)

    @action
    def come(self) -> None:
        require(not self.inside)
        self.waits = not self.waits

    @action
    def enter(self) -> None:
        require(self.waits and not self.inside)
        self.inside = True

    again_and_again = strong("enter")
    comes = weak("come")


class Guard(Doors):
    """The same, with a guard who is only weakly fair."""

    again_and_again = weak("enter")

    @refines(Doors())
    def as_doors(self) -> dict[str, bool]:
        return {"waits": self.waits, "inside": self.inside}


class GoodGuard(Guard):
    again_and_again = strong("enter")


@pytest.mark.parametrize("engine", ENGINES)
def test_strong_fairness_is_more_than_weak(engine: Any) -> None:
    check(Guard(), engine=engine, deadlock=False).assert_violated("as_doors")
    check(GoodGuard(), engine=engine, deadlock=False).assert_holds()
