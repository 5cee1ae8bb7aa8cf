"""Locks of threads that a suspended reconcile holds: the next one to run would wait for them, for ever.

Looked for where they can outlive a reconcile: attributes of the controller, variables that it closes over, what the
code along the await chain names in its module, and attributes of that. It is done before the same reconcile is run
again, so the check does not hang; a lock that is not found here makes it wait, and ``watchdog`` ends that.
"""

from __future__ import annotations

import asyncio
import threading
from itertools import chain
from typing import TYPE_CHECKING, Any

from attractor.check.sandbox.purity import outliving

if TYPE_CHECKING:
    from collections.abc import Iterator

_OF_TASKS = (asyncio.Lock, asyncio.Condition, asyncio.Semaphore)
_Lock, _RLock = type(threading.Lock()), type(threading.RLock())


def held_lock(coroutine: Any, function: Any, *, tasks: bool = False) -> str | None:
    """What kind of lock a suspended coroutine of ``function`` holds, if any: of threads, with ``tasks`` of asyncio too.

    One that is made afresh by each reconcile is harmless among tasks, and nobody can find it held by another.
    """
    for value in chain(_lasting(function), _chain(coroutine)):
        if (kind := _held(value)) is not None:
            return kind
        if tasks and isinstance(value, _OF_TASKS) and value.locked():
            return f"an `asyncio.{type(value).__name__}`"
    return None


def _lasting(function: Any) -> Iterator[Any]:
    for value in outliving(function):
        yield from value.values() if isinstance(value, dict) else (value,)


def _chain(coroutine: Any) -> Iterator[Any]:
    while getattr(coroutine, "cr_frame", None) is not None:
        yield from _within_reach(coroutine)
        coroutine = coroutine.cr_await


def _held(value: Any) -> str | None:
    if isinstance(value, threading.Condition):
        value = value._lock  # type: ignore[attr-defined]  # noqa: SLF001 - there is no other way to ask
    if isinstance(value, _Lock) and value.locked():
        return "a `threading.Lock`"
    if isinstance(value, _RLock) and value._is_owned():  # type: ignore[attr-defined]  # noqa: SLF001
        return "a `threading.RLock`"
    return None


def _within_reach(coroutine: Any) -> Iterator[Any]:
    """What the code names in its module, and what it names of that; ``f_locals`` is left alone."""
    names, known = coroutine.cr_code.co_names, coroutine.cr_frame.f_globals
    for value in [known[name] for name in names if name in known]:
        yield value
        held = getattr(value, "__dict__", {})
        yield from (held[name] for name in names if name in held)
