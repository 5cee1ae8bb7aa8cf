"""Retry queue: writers that lost a race for a key retry one at a time.

On a store that several servers share, a write finds out that another one was faster only when it commits. If all that
lost retried at once, one would win and all others lose again: the work would grow with the square of the writers. So
whoever has lost waits for its *turn* at the key that it lost on: the right to retry there, which one request has at a
time and keeps until it is done.

Two servers whose writers follow each other closely would take the key from each other with every write, and each loss
is a write for nothing. So after a loss a key cools down here for a few writes' time, in which the other server goes on
undisturbed: they alternate in bursts, and most writes win at once.

A server whose writes follow each other without a pause never loses, and so would never pause; the retries of another,
one at a time from a mirror that lags, would lose for ever. So who loses often *claims* the key: the other servers hear
of it and *give way*, which is to let the key cool down as after a loss of their own.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from random import Random
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine, Iterable

    T = TypeVar("T")

FIRST_COOLDOWN_S = 0.01
MAX_COOLDOWN_S = 0.2
LEAST_WRITES, MOST_WRITES = 6.0, 18.0
"""How long a key cools down after a loss, in writes' time; drawn at random, so that servers do not keep meeting."""
PATIENCE = 3
"""Losses at a key after which it is claimed."""


class _Turn:
    """The turn at one key: who has it holds the lock."""

    __slots__ = ("cools_until", "lock", "losses", "wanted")

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.wanted = 0
        """How many have the turn or wait for it."""
        self.cools_until = 0.0
        self.losses = 0
        """Since the last claim."""


class RetryQueue:
    """The turns at contended keys; knows only the keys that somebody has or waits for."""

    def __init__(self, rng: Random | None = None) -> None:
        self._turns: dict[str, _Turn] = {}
        self._write_s = FIRST_COOLDOWN_S / MOST_WRITES
        """How long a retried write takes, as the last ones did."""
        self._retrying: set[asyncio.Future[Any]] = set()
        """Retries that run in a task; kept, because the event loop does not."""
        self._rng = rng or Random()  # noqa: S311 - it draws pauses
        self.claim: Callable[[str], None] | None = None
        """Asks the other servers to leave a key alone for a while."""

    @asynccontextmanager
    async def turn(self, key: str) -> AsyncIterator[None]:
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
        """Note a loss at a key: it cools down, unless it does already; after some losses it is claimed."""
        turn = self._turns.setdefault(key, _Turn())
        self._cool(turn)
        turn.losses += 1
        if turn.losses >= PATIENCE and self.claim is not None:
            turn.losses = 0
            self.claim(key)

    def give_way(self, key: str) -> None:
        """Let a key cool down that another server has claimed; whoever wants to write it here waits for that."""
        self.spawn(self._give_way(key))

    async def _give_way(self, key: str) -> None:
        async with self.turn(key):
            self._cool(self._turns[key])
            await self.cooled(key)

    def _cool(self, turn: _Turn) -> None:
        now = self.now()
        if turn.cools_until <= now:
            writes = self._rng.uniform(LEAST_WRITES, MOST_WRITES)
            turn.cools_until = now + min(writes * self._write_s, MAX_COOLDOWN_S)

    def is_cool(self, key: str) -> bool:
        """Whether a key may be written, to be asked by who has its turn."""
        return self._turns[key].cools_until <= self.now()

    async def cooled(self, key: str) -> None:
        """Wait, with the turn, until a key may be written."""
        left_s = self._turns[key].cools_until - self.now()
        if left_s > 0:
            await asyncio.sleep(left_s)

    def contended(self, keys: Iterable[str]) -> str | None:
        """The first of some keys whose turn somebody has or waits for."""
        if not self._turns:
            return None
        return next((key for key in keys if key in self._turns), None)

    def spawn(self, retry: Coroutine[Any, Any, T]) -> asyncio.Future[T]:
        """Run a retry in a task of its own."""
        task = asyncio.ensure_future(retry)
        self._retrying.add(task)
        task.add_done_callback(self._retrying.discard)
        return task

    def now(self) -> float:
        """The time, for ``won``."""
        return asyncio.get_running_loop().time()

    def won(self, begun_s: float) -> None:
        """Note that a retry that was begun then is done: cooling down is measured in such times."""
        self._write_s += (self.now() - begun_s - self._write_s) / 8

    def check_invariants(self) -> None:
        """Nothing is left behind by those who are done."""
        assert all(turn.wanted for turn in self._turns.values()), "nobody wants this key any more"
