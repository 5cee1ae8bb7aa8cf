"""A running controller's queue in which workers and timers wait for their turn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attractor.objects.gvk import Key
from attractor.runtime.observability.metered_queue import MeteredQueue
from attractor.runtime.toolkit.debounce import DebouncedCalls
from attractor.testing.directed.gates import Departed

if TYPE_CHECKING:
    from attractor.runtime.observability.metrics import Metrics
    from attractor.testing.directed.gates import Gate, Worker, Workers
    from attractor.workqueue import Limiter


class GatedQueue(MeteredQueue):
    """The queue itself decides which key is next; the director, when a worker takes it and when a delay is over.

    Delays are not measured: any clock may be slow, so any timer may fire next.
    """

    def __init__(
        self, name: str, metrics: Metrics, limiter: Limiter | None, begins: Gate[Worker, None, None], workers: Workers
    ) -> None:
        super().__init__(name, metrics, limiter)
        self._controller = name
        self._begins = begins
        self._workers = workers
        self.timers: dict[Key, int] = {}
        """Keys that wait for a delay to be over, with the priority they will have."""
        self.scheduled: set[Key] = set()
        """Keys for which ``ctx.schedule`` asked, which wait for theirs."""

    async def get_with_priority(self) -> tuple[Key, int]:
        """The next key, in this worker's turn."""
        await self._begins.wait(self._workers.enrol(self._controller), None)
        return await super().get_with_priority()

    def add_after(self, key: Key, delay_s: float, *, priority: int = 0) -> None:
        """Ask for a key to run when the director says that its delay is over."""
        if delay_s <= 0:
            self.add(key, priority=priority)
        elif not self.is_shut_down:
            self.timers[key] = max(priority, self.timers.get(key, priority))

    @property
    def delayed(self) -> frozenset[Key]:
        """The keys that wait for a delay to be over, whoever asked for it."""
        return frozenset({*self.timers, *self.scheduled})

    def fire(self, key: Key, *, is_scheduled: bool | None = None) -> None:
        """A key's delay is over (one that ``ctx.schedule`` asked for, or not); raises ``Departed`` when it has none."""
        if key in self.timers and is_scheduled is not True:
            self.add(key, priority=self.timers.pop(key))
        elif key in self.scheduled and is_scheduled is not False:
            self.scheduled.discard(key)
            self.add(key)
        else:
            others = ", ".join(map(str, self.delayed)) or "none"
            raise Departed(f"no timer of {self._controller} waits for {key}; there is {others}")


class GatedCalls(DebouncedCalls[Key]):
    """Debounced calls that are due when the director says so: they are timers of the queue, made where effects are."""

    def __init__(self, queue: GatedQueue) -> None:
        super().__init__(queue.add)
        self._queue = queue

    def drop(self, key: Key) -> None:
        """The action has just happened for another reason."""
        self._queue.scheduled.discard(key)

    def close(self) -> None:
        """Forget everything."""
        self._queue.scheduled.clear()
