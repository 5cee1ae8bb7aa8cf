"""Result of a reconcile, and the one error that is not retried."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Result:
    """Request of a reconcile to be run again although nothing changed; ``None`` means only when something changes."""

    requeue: bool = False
    """Run again soon, with the backoff of a failure but without counting as one."""
    requeue_after_s: float = 0.0
    """Run again after this time; if positive, it takes precedence over ``requeue`` and resets the backoff."""

    def __post_init__(self) -> None:
        after_s, requeue = self.requeue_after_s, self.requeue
        if not isinstance(requeue, bool):
            raise TypeError(f"requeue is {requeue!r}; use True, or Result(requeue_after_s=...) for a time")
        if not isinstance(after_s, int | float):
            raise TypeError(f"requeue_after_s is {after_s!r}; give a number of seconds")
        if not 0 <= after_s < math.inf:
            raise ValueError(f"requeue_after_s is {after_s}; use 0 for never, or a positive time")


class TerminalError(Exception):
    """Raise it from a reconcile where a retry is of no use until the object changes.

    It is logged and counted as a failure, and the key is not requeued.
    """
