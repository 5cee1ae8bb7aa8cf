"""Retrying with exponential backoff, until it works, time is up, or the error is permanent.

Contract: the waits are ``first_s``, twice that, and so on up to ``max_s``; no attempt begins after ``total_s``; a
``Permanent`` error ends the retrying at once, and its cause is raised. Joined errors are permanent when one of them is.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

T = TypeVar("T")


class Permanent(Exception):
    """Raise it ``from`` an error to end a ``retry`` at once; the error itself is then raised."""


def is_permanent(error: BaseException) -> bool:
    """Return whether an error is ``Permanent``, or an exception group that contains one."""
    if isinstance(error, BaseExceptionGroup):
        return any(is_permanent(inner) for inner in error.exceptions)
    return isinstance(error, Permanent)


@dataclass(frozen=True)
class Retrying:
    """The waits of ``retry``: ``first_s``, twice that, and so on."""

    first_s: float = 0.2
    """The first wait."""
    max_s: float = 10.0
    """The longest wait."""
    total_s: float = 120.0
    """No attempt begins after this time."""

    def delay_s(self, attempt: int, elapsed_s: float) -> float | None:
        """The wait after the ``attempt``-th failure, counted from 1; ``None`` when the time is up."""
        delay = min(self.first_s * 2.0 ** min(attempt - 1, 64), self.max_s)
        return delay if elapsed_s + delay <= self.total_s else None


async def retry(action: Callable[[], Awaitable[T]], policy: Retrying | None = None) -> T:
    """Await ``action()`` until it succeeds; returns its result.

    For code outside a reconcile: a reconcile raises, and the work queue tries again.

    Args:
        action: An async function without arguments.
        policy: The waits; by default 0.2 s to 10 s, for 120 s.

    Raises:
        Exception: The last error when the time is up; the cause of a ``Permanent`` error at once.
    """
    loop = asyncio.get_running_loop()
    began, attempt, policy = loop.time(), 0, policy or Retrying()
    while True:
        attempt += 1
        try:
            return await action()
        except Exception as error:
            if is_permanent(error):
                raise error.__cause__ or error from None
            delay = policy.delay_s(attempt, loop.time() - began)
            if delay is None:
                raise
        await asyncio.sleep(delay)
