"""Watches from a version that does not exist yet.

Such a watcher has read from another server that is ahead of this one, or from a store that was set back since. The
first is right to wait: within ``Limits.future_s`` the version is there, and the watch goes on as any other. The second
would wait in vain and miss everything meanwhile, so after that time it is told that its version is too large, and
lists again.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

from attractor.apiserver.verbs.read import too_large
from attractor.apiserver.verbs.watch import error_event
from attractor.httpd.watch.task_stream import TaskStream
from attractor.objects.errors import ApiError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from attractor.httpd.reply import Stream
    from attractor.httpd.watch.streams import Encoder
    from attractor.store.contract import Store


async def is_reached(store: Store, revision: int, within_s: float) -> bool:
    """Whether the store gets as far as a revision within a time."""
    changed = asyncio.Event()
    end = store.subscribe("", lambda _: changed.set())
    try:
        with suppress(TimeoutError):
            async with asyncio.timeout(within_s):
                while (await store.snapshot()).revision < revision:
                    await changed.wait()
                    changed.clear()
    finally:
        end()
    return store.revision >= revision


class WaitingWatch(TaskStream):
    """A stream that becomes another one as soon as the store has a revision."""

    def __init__(
        self,
        store: Store,
        revision: int,
        begin: Callable[[], Awaitable[Stream]],
        encode: Encoder,
        *,
        patience_s: float,
        timeout_s: float | None,
    ) -> None:
        super().__init__()
        self._store = store
        self._revision = revision
        self._begin = begin
        """Answers the stream to go on with, or raises ``ApiError``."""
        self._encode = encode
        self._patience_s = patience_s
        self._timeout_s = timeout_s
        self._then: Stream | None = None
        """The stream that this one has become."""

    async def write_all(self) -> None:
        """Wait; then begin, say that the version is too large, or just end when the watch's time is over."""
        within_s = min(self._patience_s, self._timeout_s or self._patience_s)
        try:
            if not await is_reached(self._store, self._revision, within_s):
                if within_s == self._timeout_s:
                    return
                raise too_large(self._revision, self._store.revision)
            stream = await self._begin()
        except ApiError as error:
            await self.write(self._encode(error_event(error)))
            return
        writer, self._writer = self._writer, None
        if writer is not None:
            self._then = stream
            stream.start(writer)

    def resumed(self) -> None:
        """The client reads again."""
        if self._then is None:
            super().resumed()
        else:
            self._then.resumed()

    def finish(self) -> None:
        """The server stops: a clean end."""
        if self._then is None:
            super().finish()
        else:
            self._then.finish()

    def lost(self) -> None:
        """The client is gone."""
        if self._then is None:
            super().lost()
        else:
            self._then.lost()
