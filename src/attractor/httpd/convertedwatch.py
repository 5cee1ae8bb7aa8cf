"""Watch streams of custom kinds that a webhook converts.

Such events cannot be told without waiting for somebody else, so these watchers share nothing with others: each has a
task that reads the store, has each batch converted with one question, and writes it when the client can take it.
"""

from __future__ import annotations

import asyncio
import random
from dataclasses import replace
from typing import TYPE_CHECKING

from attractor.apiserver.watch import error_event
from attractor.httpd.reply import frame
from attractor.httpd.watchstreams import BOOKMARK_S, MIN_TIMEOUT_S, status_of
from attractor.objects.errors import ApiError
from attractor.store.contract import Compacted

if TYPE_CHECKING:
    from collections.abc import Callable

    from attractor.apiserver.server import Server
    from attractor.apiserver.watch import Watch, WatchEvent
    from attractor.httpd.reply import StreamWriter
    from attractor.httpd.watchstreams import Encoder
    from attractor.store.contract import Batch, Snapshot


class ConvertedWatch:
    """One watcher of converted objects: initial state, then live. A conversion that fails ends the watch."""

    def __init__(
        self, server: Server, watch: Watch, snapshot: Snapshot, encode: Encoder, timeout_s: int | None = None
    ) -> None:
        self._server = server
        self._watch = watch
        self._snapshot = snapshot
        self._encode = encode
        self._timeout_s = timeout_s or random.uniform(1, 2) * MIN_TIMEOUT_S  # noqa: S311 - spreads load
        self._revision = watch.after
        """The watcher has been told everything up to here."""
        self._writer: StreamWriter | None = None
        self._can_write = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._bookmark_timer: asyncio.TimerHandle | None = None

    def start(self, writer: StreamWriter) -> None:
        """The head is sent."""
        self._writer = writer
        loop = asyncio.get_running_loop()
        self._task = loop.create_task(self._run(), name="converted watch")
        if self._watch.bookmarks:
            self._bookmark_timer = loop.call_later(BOOKMARK_S, self._bookmark)

    def resumed(self) -> None:
        """The client reads again."""
        self._can_write.set()

    def finish(self) -> None:
        """The server stops: a clean end."""
        self._end()

    def lost(self) -> None:
        """The client is gone."""
        self._writer = None
        self._end()

    def _end(self) -> None:
        writer, self._writer = self._writer, None
        if self._bookmark_timer is not None:
            self._bookmark_timer.cancel()
        if self._task is not None:
            self._task.cancel()
        if writer is not None:
            writer.end()

    async def _run(self) -> None:
        try:
            async with asyncio.timeout(self._timeout_s):
                await self._tell_all()
        except TimeoutError:
            pass
        except Compacted as error:
            await self._write(error_event(status_of(error)).encode())
        except ApiError as error:
            await self._write(error_event(error).encode())
        self._task = None
        self._end()

    async def _tell_all(self) -> None:
        await self._tell(self._snapshot, lambda watch: list(watch.initial_events(self._snapshot)))
        async with self._server.store.watch(self._watch.prefix, after=self._watch.after) as batches:
            async for batch in batches:
                await self._tell_batch(batch)

    async def _tell_batch(self, batch: Batch) -> None:
        await self._tell(self._snapshot, lambda watch: watch.translate_all(batch.events))
        self._revision = batch.revision

    async def _tell(self, snapshot: Snapshot, events: Callable[[Watch], list[WatchEvent]]) -> None:
        watch = self._watch
        told = await self._server.read(snapshot, lambda txn: events(replace(watch, kind=watch.kind.bound_to(txn))))
        if told:
            await self._write(b"".join(map(self._encode, told)))

    async def _write(self, data: bytes) -> None:
        while self._writer is not None and self._writer.is_paused:
            self._can_write.clear()
            await self._can_write.wait()
        if self._writer is not None:
            self._writer.write(data, frame(data))

    def _bookmark(self) -> None:
        self._bookmark_timer = asyncio.get_running_loop().call_later(BOOKMARK_S, self._bookmark)
        if self._writer is not None and not self._writer.is_paused and self._revision:
            line = self._encode(self._watch.bookmark(self._revision))
            self._writer.write(line, frame(line))
