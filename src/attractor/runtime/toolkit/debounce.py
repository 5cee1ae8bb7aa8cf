"""Debouncing: many calls in a short time make one, soon after the last but never later than a limit.

Contract: a key is due ``delay_s`` after its latest call, and at most ``max_delay_s`` after its first call since it was
last due. ``Debounce`` is the core, without a clock; ``DebouncedCalls`` drives it on the event loop.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

K = TypeVar("K", bound="Hashable")

DELAY_S = 0.5
MAX_DELAY_S = 5.0


@dataclass
class Debounce(Generic[K]):
    """Which keys wait, and until when."""

    delay_s: float = DELAY_S
    max_delay_s: float = MAX_DELAY_S
    _waiting: dict[K, tuple[float, float]] = field(default_factory=dict)
    """For each key the time by which it must be due at the latest, and the time at which it is due."""

    def check_invariants(self) -> None:
        """What holds between any two calls."""
        assert all(due <= latest for latest, due in self._waiting.values()), "a key waits longer than it may"

    def call(self, key: K, now_s: float) -> float:
        """Count a call; answers when the key is due."""
        latest, _ = self._waiting.get(key, (now_s + self.max_delay_s, 0.0))
        due = min(now_s + self.delay_s, latest)
        self._waiting[key] = (latest, due)
        return due

    def drop(self, key: K) -> None:
        """Forget the calls so far: what they wanted happens now for another reason."""
        self._waiting.pop(key, None)

    def take_due(self, now_s: float) -> list[K]:
        """The keys whose time has come, earliest first; they no longer wait."""
        found = sorted((due, key) for key, (_, due) in self._waiting.items() if due <= now_s)
        for _, key in found:
            del self._waiting[key]
        return [key for _, key in found]

    @property
    def next_due_s(self) -> float | None:
        """When the next key is due; None when none waits."""
        return min((due for _, due in self._waiting.values()), default=None)


class DebouncedCalls(Generic[K]):
    """Calls ``action(key)`` from the event loop when a key is due; ``call`` never blocks."""

    def __init__(
        self, action: Callable[[K], None], *, delay_s: float = DELAY_S, max_delay_s: float = MAX_DELAY_S
    ) -> None:
        self._core: Debounce[K] = Debounce(delay_s, max_delay_s)
        self._action = action
        self._timer: asyncio.TimerHandle | None = None

    def call(self, key: K) -> None:
        """Ask for the action, soon."""
        self._core.call(key, asyncio.get_running_loop().time())
        self._set_timer()

    def drop(self, key: K) -> None:
        """The action has just happened for another reason."""
        self._core.drop(key)

    def close(self) -> None:
        """Forget everything; nothing happens any more."""
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
        for key in self._core.take_due(asyncio.get_running_loop().time()):
            self._action(key)
        self._set_timer()
