"""``BackgroundWork``: work that takes too long for a reconcile, a limited number at a time.

Contract: ``start`` never blocks; work begins in the order of ``start``; at most ``limit`` run at once; work that raises
is logged and hurts nobody else; ``run`` ends, once cancelled, only after all running work has been cancelled, and what
had not begun never begins.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Any

from attractor.runtime.observability.failure_log import FailureLog
from attractor.runtime.observability.field_logger import FieldLogger
from attractor.runtime.worker.outcome import ended_itself, is_cancelled_from_outside

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

LIMIT = 6


class BackgroundWork:
    """A queue of work that takes too long for a reconcile; ``ctx.start`` uses one. Its owner runs ``run`` in a task
    group.

    Guarantees: ``start`` never blocks; work begins in order, at most ``limit`` at once; work that raises is logged and
    affects no other; when ``run`` is cancelled, running work is cancelled first and waiting work never begins.

    Args:
        name: For logs.
        limit: How many run at once.
    """

    def __init__(self, name: str = "background", *, limit: int = LIMIT) -> None:
        if limit < 1:
            raise ValueError(f"background work {name!r} has a limit of {limit}, so none would ever run; use 1 or more")
        self._limit = limit
        self._failures = FailureLog(FieldLogger("attractor.runtime.background", {"queue": name}))
        self._waiting: deque[tuple[Callable[[], Awaitable[None]], Mapping[str, Any]]] = deque()
        self._running = 0
        self._changed = asyncio.Event()

    @property
    def running(self) -> int:
        """Return the number of pieces of work that run."""
        return self._running

    def __len__(self) -> int:
        """Return the number of pieces of work that wait to begin."""
        return len(self._waiting)

    def start(self, work: Callable[[], Awaitable[None]], **fields: Any) -> None:
        """Queue work; it begins when a place is free.

        Args:
            work: An async function without arguments.
            **fields: What the log says about it, should it fail.
        """
        self._waiting.append((work, fields))
        self._changed.set()

    async def run(self) -> None:
        """Run work until cancelled."""
        async with asyncio.TaskGroup() as group:
            while True:
                await self._changed.wait()
                self._changed.clear()
                while self._waiting and self._running < self._limit:
                    self._running += 1
                    group.create_task(self._one(*self._waiting.popleft())).add_done_callback(self._ended)

    async def _one(self, work: Callable[[], Awaitable[None]], fields: Mapping[str, Any]) -> None:
        try:
            await work()
        except Exception as error:
            self._failures.failed("background work failed", error, **fields)
        except (asyncio.CancelledError, SystemExit) as end:  # as in a reconcile, they end the work and nothing else
            if is_cancelled_from_outside(end):
                raise
            self._failures.failed("background work failed", ended_itself(end, "the work"), **fields)

    def _ended(self, _: asyncio.Task[None]) -> None:
        self._running -= 1
        self._changed.set()
