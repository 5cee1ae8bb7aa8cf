"""Limits on retries of keys: per-key backoff, a shared rate, and the longer of several."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Hashable


class Limiter(Protocol):
    """Decides delays; the clock is handed in."""

    def delay_s(self, key: Hashable, now_s: float) -> float:
        """Return how long this key must wait, counting this attempt."""
        ...

    def forget(self, key: Hashable) -> None:
        """The key succeeded: its next failure is its first."""
        ...

    def failures(self, key: Hashable) -> int:
        """Return how often the key failed since it was last forgotten."""
        ...


@dataclass
class Backoff:
    """Exponential delay of each failing key: 5 ms, 10 ms, 20 ms, and so on up to 1,000 s, as in client-go."""

    base_s: float = 0.005
    """The first delay."""
    max_s: float = 1000.0
    """The longest delay."""
    _failures: dict[Hashable, int] = field(default_factory=dict)

    def delay_s(self, key: Hashable, now_s: float) -> float:
        """Count a failure of the key; returns its delay, which doubles each time."""
        count = self._failures.get(key, 0)
        self._failures[key] = count + 1
        return min(self.base_s * 2.0 ** min(count, 64), self.max_s)

    def forget(self, key: Hashable) -> None:
        """The key succeeded: begin again with the first delay."""
        self._failures.pop(key, None)

    def failures(self, key: Hashable) -> int:
        """Return how often the key failed since it was last forgotten."""
        return self._failures.get(key, 0)


@dataclass
class TokenBucket:
    """A rate limit that all keys share: ``burst`` at once, then ``rate`` a second."""

    rate: float = 10.0
    """Retries a second, on average."""
    burst: int = 100
    """Retries at once."""
    _tokens: float = field(init=False)
    _last_s: float | None = None

    def __post_init__(self) -> None:
        if self.rate <= 0 or self.burst < 1:
            raise ValueError(f"rate must be positive and burst at least 1, not {self.rate} and {self.burst}")
        self._tokens = float(self.burst)

    def delay_s(self, key: Hashable, now_s: float) -> float:
        """Take a token; returns how long until it is available."""
        if self._last_s is not None:
            self._tokens = min(self.burst, self._tokens + max(0.0, now_s - self._last_s) * self.rate)
        self._last_s = now_s
        self._tokens -= 1
        return max(0.0, -self._tokens / self.rate)

    def forget(self, key: Hashable) -> None:
        """Do nothing: single keys are not remembered."""

    def failures(self, key: Hashable) -> int:
        """Always 0: single keys are not remembered."""
        return 0


class MaxOf:
    """The longest delay of several limiters: ``MaxOf(Backoff(), TokenBucket())`` is the default of every controller."""

    def __init__(self, *limiters: Limiter) -> None:
        if not limiters:
            raise ValueError("MaxOf needs at least one limiter")
        self._limiters = limiters

    def delay_s(self, key: Hashable, now_s: float) -> float:
        """The longest of the delays; every limiter counts the attempt."""
        return max(limiter.delay_s(key, now_s) for limiter in self._limiters)

    def forget(self, key: Hashable) -> None:
        """Tell every limiter that the key succeeded."""
        for limiter in self._limiters:
            limiter.forget(key)

    def failures(self, key: Hashable) -> int:
        """The largest number that any limiter counts."""
        return max(limiter.failures(key) for limiter in self._limiters)
