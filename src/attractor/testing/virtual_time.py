"""Virtual time: whenever nothing can happen before the next timer, the clock jumps to that timer.

    async def test_the_lease_expires(virtual_time):
        await asyncio.sleep(3600)          # takes no time

Contract: timers fire in order, each at exactly its time; code that runs takes no virtual time; nothing that is ready
is ever passed over. Threads of ``run_in_executor`` hold the clock until they are done; open sockets hold it for a
moment, so that answers which are on their way arrive first.
"""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from attractor.embedded import SystemSource

if TYPE_CHECKING:
    from collections.abc import Iterator

START = datetime(2026, 1, 1, tzinfo=UTC)
SOCKET_GRACE_S = 0.01
_OWN_FILES = 1
"""The event loop's own self-pipe is always registered."""


class VirtualTime:
    """A clock that jumps: whenever nothing can happen before the next timer, it moves on to that timer.

    Timers fire in order, each at exactly its time; running code takes no virtual time. Threads of ``run_in_executor``
    hold the clock until they are done.
    """

    def __init__(self) -> None:
        self._now_s = 0.0
        self._threads = 0
        self._waiting: list[asyncio.Future[None]] = []
        """Those who wait until nothing is left to do."""

    def time(self) -> float:
        """Seconds since the start, as the event loop's ``time()``."""
        return self._now_s

    def now(self) -> datetime:
        """The virtual time of day, in UTC."""
        return START + timedelta(seconds=self._now_s)

    @contextmanager
    def install(self, loop: asyncio.AbstractEventLoop) -> Iterator[VirtualTime]:
        """Replace the clock of a selector event loop while a ``with`` block lasts."""
        target: Any = loop
        selector = target._selector  # noqa: SLF001 - asyncio offers no other way to see that a loop is idle
        target._selector = _JumpingSelector(selector, self)  # noqa: SLF001
        self._now_s = loop.time()
        target.time = self.time
        target.run_in_executor = self._counting(loop)
        try:
            yield self
        finally:
            target._selector = selector  # noqa: SLF001
            del target.time
            del target.run_in_executor

    def _counting(self, loop: asyncio.AbstractEventLoop) -> Any:
        original = loop.run_in_executor

        def run_in_executor(executor: Any, function: Any, *args: Any) -> asyncio.Future[Any]:
            self._threads += 1
            future = original(executor, function, *args)
            future.add_done_callback(self._thread_done)
            return future

        return run_in_executor

    def _thread_done(self, _: object) -> None:
        self._threads -= 1

    @property
    def is_held(self) -> bool:
        """Return whether a thread is at work, which holds the clock."""
        return self._threads > 0

    def jump(self, seconds: float) -> None:
        """Move the clock on by some seconds."""
        self._now_s += seconds

    async def quiet(self) -> None:
        """Wait until nothing is left to do before the next timer; the clock stands still meanwhile."""
        waiter = asyncio.get_running_loop().create_future()
        self._waiting.append(waiter)
        await waiter

    def tell_quiet(self) -> bool:
        """Wake one waiter of ``quiet``; returns whether there was one. For the event loop."""
        while self._waiting:
            waiter = self._waiting.pop(0)
            if not waiter.done():
                waiter.set_result(None)
                return True
        return False


class _JumpingSelector:
    """A selector that, instead of waiting, moves the clock."""

    def __init__(self, selector: Any, clock: VirtualTime) -> None:
        self._inner = selector
        self._clock = clock

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def select(self, timeout: float | None = None) -> Any:
        ready = self._inner.select(0)
        if ready or (timeout is not None and timeout <= 0):
            return ready
        if not self._clock.is_held and self._clock.tell_quiet():
            return ready
        if timeout is None or self._clock.is_held:
            return self._inner.select(None)
        if len(self._inner.get_map()) > _OWN_FILES:
            ready = self._inner.select(SOCKET_GRACE_S)
            if ready:
                return ready
        self._clock.jump(timeout)
        return ready


class VirtualSource(SystemSource):
    """Time stamps of the virtual clock, for the API server's objects."""

    def __init__(self, clock: VirtualTime) -> None:
        super().__init__()
        self._clock = clock

    def now(self) -> str:
        """The time, to the second."""
        return self._clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")

    def now_micro(self) -> str:
        """The time, to the microsecond."""
        return self._clock.now().strftime("%Y-%m-%dT%H:%M:%S.%fZ")
