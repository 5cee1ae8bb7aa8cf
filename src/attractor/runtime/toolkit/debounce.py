"""Debouncing: many calls in a short time make one, soon after the last but never later than a limit.

Contract: a key is due ``delay_s`` after its latest call, and at most ``max_delay_s`` after its first call since it was
last due. ``Debounce`` is the core, without a clock; ``DebouncedCalls`` drives it on the event loop.
"""

from __future__ import annotations

import asyncio
import heapq
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

K = TypeVar("K", bound="Hashable")

DELAY_S = 0.5
MAX_DELAY_S = 5.0
STALE = 64
"""So many entries of dropped keys are left where they are; of more, at most as many as there are keys."""


@dataclass
class Debounce(Generic[K]):
    """Debouncing without a clock: which keys wait, and until when. ``DebouncedCalls`` drives it."""

    delay_s: float = DELAY_S
    """How long after its latest call a key is due."""
    max_delay_s: float = MAX_DELAY_S
    """How long after its first call a key is due at the latest."""
    _waiting: dict[K, tuple[float, float, int]] = field(default_factory=dict)
    """For each key the time by which it must be due at the latest, the time at which it is due, and a ticket."""
    _order: list[tuple[float, int, K]] = field(default_factory=list)
    """A heap of (not due before, ticket, key), one entry for each key that waits; those of dropped keys are stale."""
    _tickets: int = 0

    def check_invariants(self) -> None:
        """Raise ``AssertionError`` if an invariant does not hold; for tests."""
        assert all(due <= latest for latest, due, _ in self._waiting.values()), "a key waits longer than it may"
        looked_at = {(ticket, key): at for at, ticket, key in self._order}
        for key, (_, due, ticket) in self._waiting.items():
            assert looked_at.get((ticket, key), due + 1) <= due, "a key is not looked at when it is due"
        assert len(self._order) <= 2 * len(self._waiting) + STALE, "the heap is full of what nobody waits for"

    def call(self, key: K, now_s: float) -> float:
        """Count a call; returns when the key is due."""
        known = self._waiting.get(key)
        self._tickets += known is None
        latest, _, ticket = known or (now_s + self.max_delay_s, 0.0, self._tickets)
        due = min(now_s + self.delay_s, latest)
        self._waiting[key] = (latest, due, ticket)
        if known is None:
            heapq.heappush(self._order, (due, ticket, key))
        return due

    def drop(self, key: K) -> None:
        """Forget the calls of a key, because their purpose has been served."""
        self._waiting.pop(key, None)
        self._sweep()

    def _sweep(self) -> None:
        if len(self._order) > 2 * len(self._waiting) + STALE:
            self._order = sorted((due, ticket, key) for key, (_, due, ticket) in self._waiting.items())

    def take_due(self, now_s: float) -> list[K]:
        """Remove and return the keys that are due, earliest first."""
        found: list[K] = []
        while (due := self.next_due_s) is not None and due <= now_s:
            key = heapq.heappop(self._order)[2]
            del self._waiting[key]
            found.append(key)
        self._sweep()
        return found

    @property
    def next_due_s(self) -> float | None:
        """Return when the next key is due; ``None`` when none waits."""
        while self._order:
            at, ticket, key = self._order[0]
            known = self._waiting.get(key)
            if known is None or known[2] != ticket:
                heapq.heappop(self._order)
            elif known[1] > at:  # it was called again meanwhile
                heapq.heapreplace(self._order, (known[1], ticket, key))
            else:
                return at
        return None


class DebouncedCalls(Generic[K]):
    """Calls ``action(key)`` once for many calls in a short time, on the event loop; ``ctx.schedule`` uses it.

    Args:
        action: What to call when a key is due.
        delay_s: How long after the latest call.
        max_delay_s: How long after the first call at most.
    """

    def __init__(
        self, action: Callable[[K], None], *, delay_s: float = DELAY_S, max_delay_s: float = MAX_DELAY_S
    ) -> None:
        self._core: Debounce[K] = Debounce(delay_s, max_delay_s)
        self._action = action
        self._timer: asyncio.TimerHandle | None = None

    def call(self, key: K) -> None:
        """Request the action for a key; never blocks."""
        self._core.call(key, asyncio.get_running_loop().time())
        self._set_timer()

    def drop(self, key: K) -> None:
        """Forget the requests for a key, because the action happened for another reason."""
        self._core.drop(key)

    def close(self) -> None:
        """Forget all requests; nothing is called any more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._core = Debounce(self._core.delay_s, self._core.max_delay_s)

    def _set_timer(self) -> None:
        due = self._core.next_due_s
        if self._timer is not None:
            if due is not None and self._timer.when() <= due:
                return
            self._timer.cancel()
            self._timer = None
        if due is not None:
            self._timer = asyncio.get_running_loop().call_at(due, self._fire)

    def _fire(self) -> None:
        self._timer = None
        loop = asyncio.get_running_loop()
        for key in self._core.take_due(loop.time()):
            try:
                self._action(key)
            except Exception as error:  # the other keys are due all the same
                loop.call_exception_handler({"message": f"the action for {key} failed", "exception": error})
        self._set_timer()
