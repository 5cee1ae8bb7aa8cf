"""Locks of threads that a suspended reconcile holds: the next one to run would wait for them, for ever.

Looked for in each frame along the await chain: what a ``with`` will leave, local variables, what the code names in its
module, and attributes of either. It is done before the same reconcile is run again, so the check does not hang.
"""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any

from attractor.check.world.frames import stack_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

_OF_TASKS = (asyncio.Lock, asyncio.Condition, asyncio.Semaphore)
_Lock, _RLock = type(threading.Lock()), type(threading.RLock())


def held_lock(coroutine: Any, *, tasks: bool = False) -> str | None:
    """What kind of lock of threads a suspended coroutine holds, if any; with ``tasks`` those of ``asyncio`` count, too.

    One that is made afresh by each reconcile is harmless among tasks, and nobody can find it held by another.
    """
    while (frame := getattr(coroutine, "cr_frame", None)) is not None:
        for value in _within_reach(coroutine, frame):
            if (kind := _held(value)) is not None:
                return kind
            if tasks and isinstance(value, _OF_TASKS) and value.locked():
                return f"an `asyncio.{type(value).__name__}`"
        coroutine = coroutine.cr_await
    return None


def _held(value: Any) -> str | None:
    if isinstance(value, threading.Condition):
        value = value._lock  # type: ignore[attr-defined]  # noqa: SLF001 - there is no other way to ask
    if isinstance(value, _Lock) and value.locked():
        return "a `threading.Lock`"
    if isinstance(value, _RLock) and value._is_owned():  # type: ignore[attr-defined]  # noqa: SLF001
        return "a `threading.RLock`"
    return None


def _within_reach(coroutine: Any, frame: FrameType) -> Iterator[Any]:
    names = frame.f_code.co_names
    variables = frame.f_locals
    for value in stack_of(coroutine, frame, variables):
        yield getattr(value, "__self__", value)
    for value in (*variables.values(), *(frame.f_globals[name] for name in names if name in frame.f_globals)):
        yield value
        held = getattr(value, "__dict__", {})
        yield from (held[name] for name in names if name in held)
