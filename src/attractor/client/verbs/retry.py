"""Retries of requests: only where that is safe, only so often, only for so long.

- Nothing was sent (``ServerUnreachable``): reads try again; writes do too, for the same reason.
- The answer was lost after bytes were sent: reads try again, writes never.
- 429, and 503 with Retry-After: the server refused before doing anything; every request waits as long as it asks.
- Everything else is an answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from attractor.client.errors import AnswerLost, ServerUnreachable
from attractor.objects.errors import ServiceUnavailable, TooManyRequests

if TYPE_CHECKING:
    from attractor.objects.errors import ApiError


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Limits of retries: how often and how long."""

    attempts: int = 4
    """How often a request is sent, the first time included."""
    budget_s: float = 20.0
    """How long one request may wait altogether between attempts."""
    first_delay_s: float = 0.05
    """The wait before the first retry after a broken connection; it doubles each time."""
    throttled_delay_s: float = 1.0
    """The wait after 429 without Retry-After."""

    def delay_s(self, error: ApiError, *, attempt: int, waited_s: float, is_read: bool) -> float | None:
        """Return how long to wait before sending the request again; None when it must not be."""
        if attempt >= self.attempts:
            return None
        delay = self._wish(error, attempt, is_read=is_read)
        return delay if delay is not None and waited_s + delay <= self.budget_s else None

    def _wish(self, error: ApiError, attempt: int, *, is_read: bool) -> float | None:
        backoff = self.first_delay_s * 2.0 ** (attempt - 1)
        match error:
            case ServerUnreachable():
                return backoff
            case AnswerLost():
                return backoff if is_read else None
            case TooManyRequests():
                asked = error.retry_after_s
                return self.throttled_delay_s if asked is None else float(asked)
            case ServiceUnavailable() if error.retry_after_s is not None:
                return float(error.retry_after_s)
        return None


NO_RETRY = RetryPolicy(attempts=1)
"""Every failure goes straight to the caller, as tests and informers want it."""
