"""The algorithm of client-go's work queue, without a clock or an event loop.

Worked example: ``add(a)``, ``add(a)``, ``add(b)``: a and b wait, a once. ``get()`` is a; ``add(a)`` now only marks it
dirty, so ``get()`` is b. ``done(a)`` queues a again, because it is dirty; ``done(b)`` forgets b.
"""

from __future__ import annotations

import heapq
from typing import Generic, NamedTuple, TypeVar

K = TypeVar("K")

STALE = 64
"""So many stale entries of a heap are left where they are; of more, at most as many as there are live ones."""


class QueueState(NamedTuple, Generic[K]):
    """All that a queue knows, as a value that can be kept, compared and hashed."""

    waiting: tuple[tuple[int, K], ...]
    """Priority and key, in the order in which workers will get them."""
    dirty: frozenset[K]
    processing: frozenset[K]
    again: frozenset[tuple[int, K]] = frozenset()
    """Keys that were added while being processed with another priority than the usual one, and that priority."""


class QueueCore(Generic[K]):
    """Keys that wait, keys that are with a worker, and keys that must run again.

    Higher priorities come first; keys of one priority keep the order in which they were added.
    """

    def __init__(self) -> None:
        self._waiting: list[tuple[int, int, K]] = []
        """A heap of (negated priority, order of arrival, key); entries of re-prioritised keys are stale, and few."""
        self._entry: dict[K, tuple[int, int]] = {}
        """The live heap entry of each waiting key."""
        self._dirty: dict[K, int] = {}
        """Keys that must run, with the priority they ask for: all that wait, and those added while processed."""
        self._processing: set[K] = set()
        self._arrivals = 0

    def check_invariants(self) -> None:
        """Assert the invariants, which hold between any two calls."""
        assert set(self._entry) <= set(self._dirty), "a waiting key is not marked dirty"
        assert not (set(self._entry) & self._processing), "a waiting key is being processed"
        assert set(self._dirty) <= set(self._entry) | self._processing, "a dirty key neither waits nor is processed"
        live = [(negated, order) for negated, order, key in self._waiting if self._entry.get(key) == (negated, order)]
        assert len(live) == len(self._entry), "a waiting key is not in the heap exactly once"
        assert len(self._waiting) <= 2 * len(self._entry) + STALE, "the heap is full of what nobody waits for"

    def __len__(self) -> int:
        """Return the number of keys that wait for a worker."""
        return len(self._entry)

    def count(self, priority: int) -> int:
        """Return the number of keys that wait with a priority."""
        return sum(1 for negated, _ in self._entry.values() if -negated == priority)

    @property
    def processing(self) -> frozenset[K]:
        """The keys that are with a worker."""
        return frozenset(self._processing)

    @property
    def is_idle(self) -> bool:
        """Return whether nothing waits and nothing is being processed."""
        return not self._entry and not self._processing

    def add(self, key: K, priority: int = 0) -> bool:
        """Ask for a key to run; answers whether it waits for a worker now that did not before.

        A key that waits already keeps its place, unless the priority is higher than the one it waits with.
        """
        known = self._dirty.get(key)
        if known is not None and known >= priority:
            return False
        self._dirty[key] = priority
        if key in self._processing:
            return False
        self._push(key, priority)
        return known is None

    def _push(self, key: K, priority: int) -> None:
        self._arrivals += 1
        self._entry[key] = (-priority, self._arrivals)
        heapq.heappush(self._waiting, (-priority, self._arrivals, key))
        self._sweep()

    def _sweep(self) -> None:
        """Throw stale entries away when there are many: low ones may lie there for as long as others come first."""
        if len(self._waiting) > 2 * len(self._entry) + STALE:
            self._waiting = sorted((negated, order, key) for key, (negated, order) in self._entry.items())

    def get(self) -> tuple[K, int] | None:
        """The next key and its priority, now with a worker; None when nothing waits."""
        while self._waiting:
            negated, order, key = heapq.heappop(self._waiting)
            if self._entry.get(key) == (negated, order):
                del self._entry[key]
                self._processing.add(key)
                self._sweep()
                return key, self._dirty.pop(key)
        return None

    def done(self, key: K) -> bool:
        """A worker has finished with a key; answers whether the key waits again."""
        if key not in self._processing:
            raise ValueError(f"{key!r} is not being processed; done() must follow the get() that handed it out")
        self._processing.remove(key)
        if key not in self._dirty:
            return False
        self._push(key, self._dirty[key])
        return True

    def state(self) -> QueueState[K]:
        """The queue as a value."""
        live = sorted((negated, order, key) for key, (negated, order) in self._entry.items())
        waiting = tuple((-negated, key) for negated, _, key in live)
        again = frozenset((at, key) for key, at in self._dirty.items() if at and key in self._processing)
        return QueueState(waiting, frozenset(self._dirty), frozenset(self._processing), again)

    @classmethod
    def of(cls, state: QueueState[K]) -> QueueCore[K]:
        """A queue in that state."""
        queue: QueueCore[K] = cls()
        queue._processing = set(state.processing)
        for priority, key in state.waiting:
            queue.add(key, priority)
        for key in state.dirty & state.processing:
            queue._dirty[key] = 0
        for priority, key in state.again:
            queue._dirty[key] = priority
        return queue
