"""A work queue that is measured, with client-go's metrics."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from attractor.objects.compiling import mypyc_attr
from attractor.workqueue import WorkQueue

if TYPE_CHECKING:
    from attractor.objects.gvk import Key
    from attractor.runtime.observability.metrics import Metrics
    from attractor.wire.prometheus import Counter, Histogram
    from attractor.workqueue import Limiter

INITIAL_PRIORITY = -100
"""Objects that were there from the start wait behind those that change now, as in controller-runtime."""


@mypyc_attr(allow_interpreted_subclasses=True)
class MeteredQueue(WorkQueue["Key"]):
    """Counts and times keys under the controller's name."""

    def __init__(self, name: str, metrics: Metrics, limiter: Limiter | None = None) -> None:
        super().__init__(limiter)
        self._labels = name, name
        self._adds: Counter = metrics.queue_adds
        self._retries: Counter = metrics.queue_retries
        self._queue_time: Histogram = metrics.queue_time
        self._work_time: Histogram = metrics.work_time
        self._added_s: dict[Key, float] = {}
        """Since when a key waits."""
        self._taken_s: dict[Key, float] = {}
        """Since when a key is with a worker."""
        for priority in (0, INITIAL_PRIORITY):
            depth = partial(self.core.count, priority)
            metrics.queue_depth.compute(*self._labels, str(priority), by=depth)
        metrics.unfinished.compute(
            *self._labels, by=lambda: sum(self._now_s() - since for since in self._taken_s.values())
        )
        metrics.longest_running.compute(
            *self._labels, by=lambda: max((self._now_s() - since for since in self._taken_s.values()), default=0.0)
        )

    def add(self, key: Key, *, priority: int = 0) -> None:
        """Ask for a key to run soon."""
        if not self.is_shut_down and key not in self._added_s:
            self._added_s[key] = self._now_s()
            self._adds.add(*self._labels)
        super().add(key, priority=priority)

    def add_after(self, key: Key, delay_s: float, *, priority: int = 0) -> None:
        """Ask for a key to run after a delay; all of these are retries, as client-go counts them."""
        if not self.is_shut_down:
            self._retries.add(*self._labels)
        super().add_after(key, delay_s, priority=priority)

    def handed_out(self, key: Key) -> None:
        """A worker gets a key."""
        now = self._now_s()
        self._queue_time.observe(*self._labels, value=now - self._added_s.pop(key, now))
        self._taken_s[key] = now

    def done(self, key: Key) -> None:
        """The worker has finished with a key."""
        now = self._now_s()
        self._work_time.observe(*self._labels, value=now - self._taken_s.pop(key, now))
        super().done(key)

    def taken(self) -> list[tuple[Key, float]]:
        """The keys that are with workers, and for how many seconds."""
        now = self._now_s()
        return [(key, now - since) for key, since in self._taken_s.items()]

    def _now_s(self) -> float:
        return self.loop().time()
