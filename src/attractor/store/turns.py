"""Turns: those who lost a race for an object try again one after the other.

On a store that several servers share, a write finds out that another one was faster only when it commits. If all who
lost tried again at once, one would win and all others lose again: the work would grow with the square of the writers.
So whoever has lost waits for its turn at the key that it lost on, and keeps the turn until it is done.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


class Turns:
    """Who may try again, by key; knows only the keys that somebody wants."""

    def __init__(self) -> None:
        self._locks: dict[str, asyncio.Lock] = {}
        self._wanted: dict[str, int] = {}

    @asynccontextmanager
    async def at(self, key: str) -> AsyncIterator[None]:
        """Wait for the turn at a key, and keep it inside."""
        lock = self._locks.setdefault(key, asyncio.Lock())
        self._wanted[key] = self._wanted.get(key, 0) + 1
        try:
            async with lock:
                yield
        finally:
            self._wanted[key] -= 1
            if not self._wanted[key]:
                del self._wanted[key], self._locks[key]

    def check_invariants(self) -> None:
        """Nothing is left behind by those who are done."""
        assert self._locks.keys() == self._wanted.keys(), "a key has a lock and nobody who wants it, or the reverse"
        assert all(self._wanted.values()), "nobody wants this key any more"
