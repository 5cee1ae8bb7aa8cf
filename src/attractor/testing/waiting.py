"""``eventually``: wait for what a level-based system promises, instead of sleeping and hoping."""

from __future__ import annotations

import asyncio
import inspect
from typing import TYPE_CHECKING, TypeVar, overload

from attractor.objects.errors import ApiError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

T = TypeVar("T")

INTERVAL_S = 0.01


@overload
async def eventually(condition: Callable[[], Awaitable[T]], *, within_s: float = ..., interval_s: float = ...) -> T: ...
@overload
async def eventually(condition: Callable[[], T], *, within_s: float = ..., interval_s: float = ...) -> T: ...
async def eventually(
    condition: Callable[[], object], *, within_s: float = 10.0, interval_s: float = INTERVAL_S
) -> object:
    """Wait until a condition is true; returns its first truthy value.

    An ``ApiError`` or ``AssertionError`` inside the condition means not yet. Under ``virtual_time`` waiting takes no
    time.

    Args:
        condition: A function, sync or async.
        within_s: How long to wait, in the event loop's time.
        interval_s: How long between two attempts.

    Raises:
        AssertionError: The condition did not become true in time; the text has its last value.
    """
    loop = asyncio.get_running_loop()
    deadline = loop.time() + within_s
    while True:
        last: object
        try:
            last = condition()
            if inspect.isawaitable(last):
                last = await last
            if last:
                return last
        except (ApiError, AssertionError) as error:
            last = error
        if loop.time() >= deadline:
            raise AssertionError(f"not within {within_s:g} s; the last answer was {last!r}")
        await asyncio.sleep(interval_s)
