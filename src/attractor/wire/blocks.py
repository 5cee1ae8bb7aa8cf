"""``async with`` for compiled coroutines, in a coroutine that is interpreted.

A coroutine that mypyc has compiled leaves the error that it handles to whoever runs next, if it awaits anything
meanwhile, and so does an ``async with`` that an error passes through: later errors of other tasks are then chained to
it, without end. An interpreted coroutine keeps its errors to itself. So a compiled module says

    return await inside(asyncio.timeout(5), lambda _: self._ask(request))

This module must not be compiled; ``tests/tidy/test_compiled.py`` keeps the rule.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from contextlib import AbstractAsyncContextManager

T = TypeVar("T")
R = TypeVar("R")


async def inside(manager: AbstractAsyncContextManager[T, Any], body: Callable[[T], Awaitable[R]]) -> R:
    """Await ``body`` inside ``async with manager``; it is given what the manager yields."""
    async with manager as entered:
        return await body(entered)
