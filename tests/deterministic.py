"""Time, uids and names that are the same in every run."""

import itertools
from datetime import UTC, datetime, timedelta

from attractor.objects.timestamps import format_micro_time, format_time


class CountingSource:
    """A source whose clock stands still until it is moved, and whose uids and suffixes count up."""

    def __init__(self) -> None:
        self.time = datetime(2026, 11, 1, tzinfo=UTC)
        self._count = itertools.count(1)

    def advance(self, seconds: float) -> None:
        self.time += timedelta(seconds=seconds)

    def now(self) -> str:
        return format_time(self.time)

    def now_micro(self) -> str:
        return format_micro_time(self.time)

    def uid(self) -> str:
        return f"00000000-0000-4000-8000-{next(self._count):012d}"

    def suffix(self) -> str:
        return f"{next(self._count):05d}"

    def draw(self, below: int) -> int:
        return next(self._count) % below
