"""Answers that are not there yet: one shape from the store's write to the socket.

Whatever answers a request answers ``T`` or ``Deferred[T]``: the API server ``Response | Deferred[Response]``, the
router ``Reply | Deferred[Reply]``. A ``Deferred`` waits for one future and makes its answer of what that brings::

    begun = server.begin(request)                  # a Response, or a Deferred that waits for the disk
    reply = begun.then(present)                    # the same wait; the answer is then presented as a Reply
    reply.ready.add_done_callback(send)            # so a connection waits: no task is needed
    await reply                                    # so a coroutine waits
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Generator

T = TypeVar("T")
U = TypeVar("U")


class Deferred(Generic[T]):
    """An answer that waits for one future; cancelling that future means that nobody wants the answer any more."""

    __slots__ = ("ready", "result")

    def __init__(self, ready: asyncio.Future[Any], result: Callable[[], T]) -> None:
        self.ready = ready
        """Done, well or not, when ``result`` may be called."""
        self.result = result
        """Makes the answer of what ``ready`` brought, or raises why there is none; to be called once."""

    @staticmethod
    def of(work: Coroutine[Any, Any, T]) -> Deferred[T]:
        """What a coroutine answers, run in a task of its own."""
        task = asyncio.get_running_loop().create_task(work)
        return Deferred(task, task.result)

    def then(self, change: Callable[[T], U]) -> Deferred[U]:
        """The answer, changed by a function once it is there."""
        result = self.result
        return Deferred(self.ready, lambda: change(result()))

    def __await__(self) -> Generator[Any, None, T]:
        """Wait in a task; cancelling the task cancels ``ready``."""
        with suppress(Exception):  # what the future failed with is for ``result`` to tell
            yield from self.ready.__await__()
        return self.result()
