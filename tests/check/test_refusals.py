"""Specifications that cannot be checked are refused with the line and the way out, and never hang."""

from __future__ import annotations

import pytest

from attractor.check import Spec, SpecError, action, check, predicate, require, var, weak
from attractor.check.sandbox import watchdog


class Stepping(Spec):
    """Something that goes on."""

    at: int = var(0)

    @action
    def go(self) -> None:
        require(self.at < 3)
        self.at += 1

    @predicate
    def is_begun(self) -> bool:
        return self.at > 0


def test_a_step_that_computes_for_ever_is_refused_with_the_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watchdog, "LIMIT_S", 0.2)

    class Spins(Stepping):
        def go(self) -> None:
            count = 1 if self.is_begun() else 2
            while count:
                count += 1

    with pytest.raises(SpecError, match=r"test_refusals\.py:\d+: go computes for ever here.*make the loop end"):
        check(Spins())


def test_a_step_that_a_subclass_makes_async_is_refused() -> None:
    with pytest.raises(
        SpecError, match=r"test_refusals\.py:\d+: `go` cannot be part of a specification: it is `async`"
    ):

        class Awaits(Stepping):
            async def go(self) -> None:  # type: ignore[override]
                self.at = 1


def test_fairness_of_an_action_that_lacks_the_parameter_is_refused_with_the_line_and_the_way_out() -> None:
    class Fair(Stepping):
        goes_on = weak("go", per=("w",))

    with pytest.raises(SpecError, match=r"test_refusals\.py:\d+: fairness goes_on: action go has no .*`weak\('go'\)`"):
        check(Fair())


def test_fairness_of_an_action_that_there_is_not_names_those_there_are() -> None:
    class Fair(Stepping):
        goes_on = weak("goo")

    with pytest.raises(SpecError, match=r"test_refusals\.py:\d+: fairness .* has no action 'goo'; it has: go$"):
        check(Fair())
