"""The clock of a world: instants that the time goes through, one after the other, each at any moment.

    clock=(noon, evening)    from noon to evening, where it stands
    clock=OscillatingClock((noon, evening, a_second_later))    to the evening, and then to and fro for ever

A world is finite, so a clock that only goes on stands in the end, and a controller that writes the time whenever it
runs comes to rest with it. A clock that oscillates never stands: such a controller writes for ever, as in production.
Let the last two instants be so near to each other that the code under check treats them alike, but for writing them
down. Time that goes back by a second is what a controller sees when the clock is set, or on another machine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attractor.check.errors import SpecError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime


class OscillatingClock(tuple["datetime", ...]):
    """A world's clock that never stands still: instants of which the last two alternate for ever."""

    __slots__ = ()


def checked(clock: Sequence[datetime]) -> tuple[datetime, ...]:
    """A clock that can go; raises ``SpecError``."""
    found = clock if isinstance(clock, OscillatingClock) else tuple(clock)
    least = 2 if isinstance(found, OscillatingClock) else 1
    if len(found) < least:
        example = "OscillatingClock((noon, later))" if least > 1 else "(noon,)"
        raise SpecError(f"a clock needs at least {least} of its instants, as in clock={example}")
    return found


def next_instant(clock: Sequence[datetime], at: int) -> int | None:
    """The place of the instant that follows; None where the time stands."""
    if at + 1 < len(clock):
        return at + 1
    return len(clock) - 2 if isinstance(clock, OscillatingClock) else None
