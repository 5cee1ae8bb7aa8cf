"""What a reconcile answers, and the one error that is not tried again."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Result:
    """When to reconcile the object again although nothing changed. None instead of a ``Result`` means: not at all."""

    requeue: bool = False
    """Soon, and later each time in a row, as after a failure but without one."""
    requeue_after_s: float = 0.0
    """After this time; it counts instead of ``requeue`` when positive, and resets the backoff."""

    def __post_init__(self) -> None:
        after_s, requeue = self.requeue_after_s, self.requeue
        if not isinstance(requeue, bool):
            raise TypeError(f"requeue is {requeue!r}; use True, or Result(requeue_after_s=...) for a time")
        if not isinstance(after_s, int | float):
            raise TypeError(f"requeue_after_s is {after_s!r}; give a number of seconds")
        if not 0 <= after_s < math.inf:
            raise ValueError(f"requeue_after_s is {after_s}; use 0 for never, or a positive time")


class TerminalError(Exception):
    """Trying again is of no use until the object changes: it is logged and counted, not requeued."""
