"""Turns: those who lost a race for an object try again one after the other.

On a store that several servers share, a write finds out that another one was faster only when it commits. If all who
lost tried again at once, one would win and all others lose again: the work would grow with the square of the writers.
So whoever has lost waits for its turn at the key that it lost on, and keeps the turn until it is done.

Two servers whose writers follow each other closely would take the key from each other with every write, and each loss
is a write for nothing. So after a loss a key rests here for a few writes' time, in which the other server goes on
undisturbed: they alternate in bursts, and most writes win at once.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from random import Random
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Coroutine, Iterable

FIRST_REST_S = 0.01
MAX_REST_S = 0.2
LEAST_WRITES, MOST_WRITES = 3.0, 9.0
"""How long a key rests after a loss, in writes' time; drawn at random, so that servers do not keep meeting."""


class _Turn:
    """The turn at one key."""

    __slots__ = ("lock", "rests_until", "wanted")

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.wanted = 0
        self.rests_until = 0.0


class Turns:
    """Who may try again, by key; knows only the keys that somebody wants."""

    def __init__(self, rng: Random | None = None) -> None:
        self._turns: dict[str, _Turn] = {}
        self._write_s = FIRST_REST_S / MOST_WRITES
        """How long a write in turn takes, as the last ones did."""
        self._waiting: set[asyncio.Future[int]] = set()
        """Those who wait for a turn; kept, because the event loop does not."""
        self._rng = rng or Random()  # noqa: S311 - it draws pauses

    @asynccontextmanager
    async def at(self, key: str) -> AsyncIterator[None]:
        """Wait for the turn at a key, and keep it inside."""
        turn = self._turns.setdefault(key, _Turn())
        turn.wanted += 1
        try:
            async with turn.lock:
                yield
        finally:
            turn.wanted -= 1
            if not turn.wanted:
                del self._turns[key]

    def lost(self, key: str) -> None:
        """Somebody has lost at a key: let it rest, unless it does already."""
        turn, now = self._turns.setdefault(key, _Turn()), self.now()
        if turn.rests_until <= now:
            writes = self._rng.uniform(LEAST_WRITES, MOST_WRITES)
            turn.rests_until = now + min(writes * self._write_s, MAX_REST_S)

    def is_rested(self, key: str) -> bool:
        """Whether a key may be written, to be asked in turn."""
        return self._turns[key].rests_until <= self.now()

    async def rested(self, key: str) -> None:
        """Wait, in turn, until a key has rested."""
        rest_s = self._turns[key].rests_until - self.now()
        if rest_s > 0:
            await asyncio.sleep(rest_s)

    def is_wanted(self, keys: Iterable[str]) -> str | None:
        """The first of some keys that somebody waits for or has the turn at."""
        if not self._turns:
            return None
        return next((key for key in keys if key in self._turns), None)

    def beside(self, work: Coroutine[Any, Any, int]) -> asyncio.Future[int]:
        """Have somebody wait for a turn beside everything else."""
        waiting = asyncio.ensure_future(work)
        self._waiting.add(waiting)
        waiting.add_done_callback(self._waiting.discard)
        return waiting

    def now(self) -> float:
        """The time, for ``won``."""
        return asyncio.get_running_loop().time()

    def won(self, begun_s: float) -> None:
        """A write in turn that was begun then is done."""
        self._write_s += (self.now() - begun_s - self._write_s) / 8

    def check_invariants(self) -> None:
        """Nothing is left behind by those who are done."""
        assert all(turn.wanted for turn in self._turns.values()), "nobody wants this key any more"
