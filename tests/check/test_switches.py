"""``when``: a constant switches an action, or what must be reachable because of it, on and off."""

from __future__ import annotations

import pytest

from attractor.check import Spec, SpecError, action, check, constant, eventually, require, sometimes, var, weak


class Lamp(Spec):
    """Somebody lights a lamp; with ``storms`` the wind blows it out."""

    storms: bool = constant(False)
    lit: bool = var(False)
    blown_out: bool = var(False)

    @action(fair="weak")
    def light(self) -> None:
        """Somebody lights it."""
        self.lit = True

    @action(when=storms)
    def storm(self) -> None:
        """The wind blows it out, once."""
        require(self.lit and not self.blown_out)
        self.lit, self.blown_out = False, True

    @sometimes(when=storms)
    def goes_out(self) -> bool:
        """The fault does happen."""
        return self.blown_out

    weather = weak("storm")
    lights = eventually(lambda self: self.lit)


def test_an_action_that_is_switched_off_does_not_exist_and_is_not_warned_of() -> None:
    verdict = check(Lamp()).assert_holds()
    assert verdict.distinct == 2
    assert [row.name for row in verdict.coverage] == ["light"]
    assert not verdict.warnings
    assert "goes_out" not in {each.name for each in verdict.properties}


def test_an_action_that_is_switched_on_is_taken() -> None:
    verdict = check(Lamp(storms=True)).assert_holds()
    assert verdict.distinct == 4
    assert verdict["goes_out"].verdict == "holds"


def test_fairness_of_an_unknown_action_is_refused_by_name() -> None:
    class Misspelt(Lamp):
        """Names no action."""

        weather = weak("strom")

    with pytest.raises(SpecError, match="Misspelt has no action 'strom'"):
        check(Misspelt())
