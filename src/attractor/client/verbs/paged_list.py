"""A list over all of its pages: while one is decoded, the next one is on its way.

Decoding keeps this process busy and asking keeps the server busy, so that each need not wait for the other.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from attractor.client.kinds import ObjectList
from attractor.objects.errors import Gone

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine

    from attractor.client.encoding.codec import Codec, Page

T = TypeVar("T")


async def list_pages(
    ask: Callable[[int, str], Coroutine[Any, Any, Page]], codec: Codec[T], page_size: int, limit: int | None
) -> ObjectList[T]:
    """All objects, or the first ``limit`` of them, at one version; ``ask`` fetches a page of a size, at a token.

    When the server forgets the version between two pages, everything is asked for again in one piece. Raises
    ``ApiError``, and then nothing is on its way any more.
    """
    found: ObjectList[T] = ObjectList([], "")
    page = await ask(_size(page_size, limit, 0), "")
    seen = len(page.items)
    while page.continue_token and (limit is None or seen < limit):
        async with _begun(ask(_size(page_size, limit, seen), page.continue_token)) as coming:
            found.extend(codec.decode_list(page))
            try:
                page = await coming
            except Gone:
                return codec.decode_list(await ask(limit or 0, ""))
        seen += len(page.items)
    found.extend(codec.decode_list(page))
    found.resource_version, found.continue_token = page.resource_version, page.continue_token
    return found


def _size(page_size: int, limit: int | None, seen: int) -> int:
    """Return how many objects the next page may have; 0 for all."""
    return page_size if limit is None else min(page_size or limit, limit - seen)


@asynccontextmanager
async def _begun(work: Coroutine[Any, Any, Page]) -> AsyncIterator[asyncio.Task[Page]]:
    """Work whose request has gone out before the body runs; it is given up when the body ends without it."""
    task = asyncio.get_running_loop().create_task(work)
    try:
        await asyncio.sleep(0)
        yield task
    finally:
        task.cancel()
        task.add_done_callback(_forget)


def _forget(task: asyncio.Task[Page]) -> None:
    """Retrieve the error of a task that nobody waits for, so that asyncio does not complain of it."""
    if not task.cancelled():
        task.exception()
