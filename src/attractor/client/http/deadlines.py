"""``Deadlines``: until when answers must have come, with one timer for all of them.

Nearly every answer comes long before its time is over. So a timer is not set and cancelled for each: the one there is
goes off when the earliest deadline that it knew of has come, ends what is overdue, and is set for the next.
"""

from __future__ import annotations

import asyncio
from typing import Protocol

NEVER_S = float("inf")


class Waiting(Protocol):
    """A request that waits for its answer."""

    def expire(self) -> None:
        """Wait no longer."""
        ...


class Deadlines:
    """Ends requests whose answers do not come in time."""

    def __init__(self) -> None:
        self._due_s: dict[Waiting, float] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._timer_due_s = NEVER_S
        """When the timer goes off."""
        self._loop: asyncio.AbstractEventLoop | None = None

    def check_invariants(self) -> None:
        """Assert the invariants, which hold between any two steps of the event loop."""
        assert (self._timer is None) == (self._timer_due_s == NEVER_S), "the timer goes off at another time"
        assert all(self._timer_due_s <= due for due in self._due_s.values()), "a deadline comes before the timer"

    def now_s(self) -> float:
        """The time of the loop in which requests are made."""
        if self._loop is None or self._loop.is_closed():
            self._loop = asyncio.get_running_loop()
        return self._loop.time()

    def add(self, connection: Waiting, timeout_s: float) -> float:
        """The answer to what is now sent on a connection must come within this time; else ``expire`` is called.

        Answers when that is.
        """
        due_s = self.now_s() + timeout_s
        self._due_s[connection] = due_s
        if self._timer_due_s > due_s:
            self._set(due_s)
        return due_s

    def remove(self, connection: Waiting) -> None:
        """The answer has come, or nobody waits for it."""
        self._due_s.pop(connection, None)

    def close(self) -> None:
        """Watch over nothing any more."""
        self._due_s.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer, self._timer_due_s = None, NEVER_S

    def _set(self, due_s: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer, self._timer_due_s = asyncio.get_running_loop().call_at(due_s, self._look), due_s

    def _look(self) -> None:
        self._timer, self._timer_due_s = None, NEVER_S
        now_s = self.now_s()
        for connection in [connection for connection, due_s in self._due_s.items() if due_s <= now_s]:
            del self._due_s[connection]
            connection.expire()
        if self._due_s:
            self._set(min(self._due_s.values()))
