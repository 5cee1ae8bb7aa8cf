"""The end of a time limit when the director wants it: the production limit itself expires, before its time."""

from __future__ import annotations

import asyncio
from typing import Any

from attractor.testing.directed.gates import Departed


def expire(task: asyncio.Task[Any]) -> None:
    """Let the innermost ``asyncio.timeout`` in which a task runs expire now; raises ``Departed`` when there is none."""
    loop: Any = task.get_loop()
    for handle in loop._scheduled:  # noqa: SLF001 - asyncio offers no other way to find the limits of a task
        limit = getattr(handle._callback, "__self__", None)  # noqa: SLF001
        if isinstance(limit, asyncio.Timeout) and limit._task is task and not handle.cancelled():  # type: ignore[attr-defined]  # noqa: SLF001
            limit.reschedule(loop.time())
            return
    raise Departed("the reconcile has no time limit that could be over")
