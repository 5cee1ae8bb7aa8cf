"""What every operator's proofs share."""

from collections.abc import Callable, Mapping
from typing import Any

from attractor.check import World, check


def assert_proved(made: Callable[[], World], states: Mapping[Any, int]) -> None:
    """A world was explored completely, holds, and has as many states as were counted.

    One with fewer states has lost something; one with more tells apart what is the same.
    """
    verdict = check(made())
    verdict.assert_holds()
    assert verdict.bound is None
    assert verdict.distinct == states[made]
