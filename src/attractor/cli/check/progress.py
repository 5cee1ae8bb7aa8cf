"""Progress of a check in one line: states, rate, depth, frontier, and an estimate of what is left."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from attractor.check.engine.exploration import Progress
    from attractor.cli.terminal import ProgressLine

EVERY_SECONDS = 0.1
QUIET_SECONDS = 0.5
"""A check that is over sooner shows no progress."""


class Meter:
    """Turns reports of the engine into a line.

    The estimate is honest but rough: while levels grow nothing is promised; once they shrink by a steady factor, what
    is left is the sum of the geometric series, at the present rate.
    """

    def __init__(self, line: ProgressLine) -> None:
        self._line = line
        self._shown = 0.0
        self._started = time.monotonic()
        self._levels: dict[int, int] = {}
        self.last: Progress | None = None

    def __call__(self, progress: Progress) -> None:
        """Show ``progress``, at most ten times a second."""
        self.last = progress
        self._levels[progress.depth] = progress.frontier
        now = time.monotonic()
        if now - self._started < QUIET_SECONDS or now - self._shown < EVERY_SECONDS:
            return
        self._shown = now
        self._line.show(self.text(progress))

    def clear(self) -> None:
        """Take the line away, for something else to be said."""
        self._line.clear()

    def text(self, progress: Progress) -> str:
        """The line."""
        rate = progress.distinct / progress.seconds if progress.seconds else 0.0
        return (
            f"{progress.distinct:,} states  {short_number(rate)}/s  depth {progress.depth}  "
            f"frontier {progress.frontier:,}  {self.estimate(progress, rate)}"
        ).rstrip()

    def estimate(self, progress: Progress, rate: float) -> str:
        """Estimate the time that is left; empty while that cannot be said."""
        sizes = [size for _, size in sorted(self._levels.items())][-4:-1]
        if len(sizes) < 3 or not all(sizes) or rate <= 0:
            return ""
        factor: float = (sizes[-1] / sizes[0]) ** (1 / (len(sizes) - 1))
        if factor >= 1:
            return "still growing"
        left = sizes[-1] * factor / (1 - factor)
        return f"about {short_time(left / rate)} left"


def short_number(number: float) -> str:
    """``1.2 M`` for 1,234,567."""
    for size, unit in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if number >= size:
            return f"{number / size:.1f}{unit}"
    return f"{number:.0f}"


def short_time(seconds: float) -> str:
    """``40 s``, ``3 min`` or ``2.5 h``."""
    if seconds < 100:
        return f"{max(1, round(seconds))} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
