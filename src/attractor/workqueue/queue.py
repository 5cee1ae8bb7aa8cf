"""The work queue on an event loop: workers wait for keys, delayed keys arrive when their time has come."""

from __future__ import annotations

import asyncio
import heapq
from typing import TYPE_CHECKING, Generic, TypeVar

from attractor.objects.compiling import mypyc_attr
from attractor.workqueue.core import STALE, QueueCore
from attractor.workqueue.limits import Backoff, MaxOf, TokenBucket

if TYPE_CHECKING:
    from collections.abc import Hashable

    from attractor.workqueue.limits import Limiter

K = TypeVar("K", bound="Hashable")


class QueueShutDown(Exception):
    """The queue hands out no more keys; a worker that sees it ends."""


@mypyc_attr(allow_interpreted_subclasses=True)
class WorkQueue(Generic[K]):
    """A ``QueueCore`` whose ``get`` waits.

    ``add`` and ``done`` never block. Time is the event loop's, so tests with a virtual clock need no waiting.
    """

    def __init__(self, limiter: Limiter | None = None) -> None:
        self.core: QueueCore[K] = QueueCore()
        self._limiter = limiter or MaxOf(Backoff(), TokenBucket())
        self._waiters: list[asyncio.Future[None]] = []
        self._delayed: list[tuple[float, int, K, int]] = []
        """A heap of (when it is ready, order, key, priority); entries of keys whose wait has changed are stale."""
        self._delayed_until: dict[K, tuple[float, int]] = {}
        """When each delayed key is ready, and the priority that it will have."""
        self._timer: asyncio.TimerHandle | None = None
        self._order = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        """The loop in which the queue is used: from its first use on always the same."""
        self._idle = asyncio.Event()
        self._idle.set()
        self.is_shut_down = False

    def loop(self) -> asyncio.AbstractEventLoop:
        """The loop in which the queue is used; to ask for the running one each time takes a system call."""
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
        return self._loop

    def __len__(self) -> int:
        """Return the number of keys that wait for a worker now; delayed ones do not count."""
        return len(self.core)

    def add(self, key: K, *, priority: int = 0) -> None:
        """Ask for a key to run soon; after shutdown, nothing is added."""
        if self.is_shut_down:
            return
        self._idle.clear()
        if self.core.add(key, priority):
            self._wake_one()

    def add_after(self, key: K, delay_s: float, *, priority: int = 0) -> None:
        """Ask for a key to run after a delay; of several for one key the shortest and the highest priority count."""
        if delay_s <= 0:
            self.add(key, priority=priority)
            return
        if self.is_shut_down:
            return
        ready = self.loop().time() + delay_s
        known = self._delayed_until.get(key)
        if known is not None:
            ready, priority = min(known[0], ready), max(known[1], priority)
            if known == (ready, priority):
                return
        self._order += 1
        self._delayed_until[key] = ready, priority
        heapq.heappush(self._delayed, (ready, self._order, key, priority))
        self._sweep()
        self._set_timer()

    def _sweep(self) -> None:
        """Throw stale entries away when there are many: a wait that is shortened again and again would fill memory."""
        if len(self._delayed) > 2 * len(self._delayed_until) + STALE:
            live = [entry for entry in self._delayed if self._delayed_until.get(entry[2]) == (entry[0], entry[3])]
            self._delayed = sorted(live)

    def add_rate_limited(self, key: K, *, priority: int = 0) -> None:
        """Ask for a key that failed to run again, as late as the limiter says."""
        self.add_after(key, self._limiter.delay_s(key, self.loop().time()), priority=priority)

    def forget(self, key: K) -> None:
        """The key succeeded: its next failure waits as short as its first."""
        self._limiter.forget(key)

    def failures(self, key: K) -> int:
        """Return how often the key failed since it last succeeded."""
        return self._limiter.failures(key)

    async def get(self) -> K:
        """The next key; raises ``QueueShutDown`` when there will be none. ``done`` must follow."""
        return (await self.get_with_priority())[0]

    async def get_with_priority(self) -> tuple[K, int]:
        """The next key and the priority it was added with."""
        while True:
            found = self.core.get()
            if found is not None:
                self.handed_out(found[0])
                return found
            if self.is_shut_down:
                raise QueueShutDown("the queue is shut down and empty")
            waiter = self.loop().create_future()
            self._waiters.append(waiter)
            try:
                await waiter
            except BaseException:
                # A worker that is cancelled just as it was woken passes the wake-up on, or a key would be lost.
                if waiter.done() and not waiter.cancelled() and len(self.core):
                    self._wake_one()
                raise
            finally:
                if waiter in self._waiters:
                    self._waiters.remove(waiter)

    def handed_out(self, key: K) -> None:
        """A worker gets a key; whoever measures a queue does it here."""

    def done(self, key: K) -> None:
        """The worker has finished with a key; it waits again if it was added meanwhile."""
        if self.core.done(key):
            self._wake_one()
        if self.core.is_idle:
            self._idle.set()

    def shut_down(self) -> None:
        """Add nothing more; workers end once what waits is done. Delayed keys are forgotten."""
        self.is_shut_down = True
        self._delayed.clear()
        self._delayed_until.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)
        if self.core.is_idle:
            self._idle.set()

    async def drain(self) -> None:
        """Shut down, and wait until every key that waited or was being processed is done."""
        self.shut_down()
        await self._idle.wait()

    def _wake_one(self) -> None:
        while self._waiters:
            waiter = self._waiters.pop(0)
            if not waiter.done():
                waiter.set_result(None)
                return

    def _set_timer(self) -> None:
        loop = self.loop()
        ready = self._delayed[0][0]
        if self._timer is not None:
            if self._timer.when() <= ready:
                return
            self._timer.cancel()
        self._timer = loop.call_at(ready, self._release_delayed)

    def _release_delayed(self) -> None:
        self._timer = None
        now = self.loop().time()
        while self._delayed and self._delayed[0][0] <= now:
            ready, _, key, priority = heapq.heappop(self._delayed)
            if self._delayed_until.get(key) == (ready, priority):
                del self._delayed_until[key]
                self.add(key, priority=priority)
        if self._delayed:
            self._set_timer()
