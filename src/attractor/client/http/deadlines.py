"""``Deadlines``: until when answers must have come, with one timer for all of them.

Nearly every answer comes long before its time is over. So a timer is not set and cancelled for each: the one there is
goes off when the earliest deadline that it knew of has come, ends what is overdue, and is set for the next.
"""

from __future__ import annotations

import asyncio
from typing import Protocol


class Waiting(Protocol):
    """Who waits for an answer."""

    def expire(self) -> None:
        """Wait no longer."""
        ...


class Deadlines:
    """Ends requests whose answers do not come in time."""

    def __init__(self) -> None:
        self._due_s: dict[Waiting, float] = {}
        self._timer: asyncio.TimerHandle | None = None

    def check_invariants(self) -> None:
        """What holds between any two steps of the event loop."""
        when = float("inf") if self._timer is None else self._timer.when()
        assert all(when <= due for due in self._due_s.values()), "a deadline comes before the timer"

    def add(self, connection: Waiting, timeout_s: float) -> None:
        """The answer to what is now sent on a connection must come within this time; else ``expire`` is called."""
        loop = asyncio.get_running_loop()
        due_s = self._due_s[connection] = loop.time() + timeout_s
        if self._timer is None or self._timer.when() > due_s:
            self._set(due_s)

    def remove(self, connection: Waiting) -> None:
        """The answer has come, or nobody waits for it."""
        self._due_s.pop(connection, None)

    def close(self) -> None:
        """Watch over nothing any more."""
        self._due_s.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _set(self, due_s: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_at(due_s, self._look)

    def _look(self) -> None:
        self._timer = None
        now_s = asyncio.get_running_loop().time()
        for connection in [connection for connection, due_s in self._due_s.items() if due_s <= now_s]:
            del self._due_s[connection]
            connection.expire()
        if self._due_s:
            self._set(min(self._due_s.values()))
