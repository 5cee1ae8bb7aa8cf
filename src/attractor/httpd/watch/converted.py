"""Watch streams of custom kinds that a webhook converts.

Such events cannot be told without waiting for somebody else, so these watchers share nothing with others: each has a
task that reads the store, has each batch converted with one question, and writes it when the client can take it.
"""

from __future__ import annotations

import asyncio
import random
from typing import TYPE_CHECKING

from attractor.apiserver.verbs.watch import error_event
from attractor.httpd.reply import frame
from attractor.httpd.watch.streams import BOOKMARK_S, MIN_TIMEOUT_S, status_of
from attractor.httpd.watch.task_stream import TaskStream
from attractor.objects.errors import ApiError
from attractor.store.contract import Compacted

if TYPE_CHECKING:
    from collections.abc import Callable

    from attractor.apiserver.server import Server
    from attractor.apiserver.verbs.watch import Watch, WatchEvent
    from attractor.httpd.reply import StreamWriter
    from attractor.httpd.watch.streams import Encoder
    from attractor.store.contract import Batch, Snapshot


class ConvertedWatch(TaskStream):
    """One watcher of converted objects: initial state, then live. A conversion that fails ends the watch."""

    def __init__(
        self, server: Server, watch: Watch, snapshot: Snapshot, encode: Encoder, timeout_s: int | None = None
    ) -> None:
        super().__init__()
        self._server = server
        self._watch = watch
        self._snapshot = snapshot
        self._encode = encode
        self._timeout_s = timeout_s or random.uniform(1, 2) * MIN_TIMEOUT_S  # noqa: S311 - spreads load
        self._revision = watch.after
        """The watcher has been told everything up to here."""
        self._bookmark_timer: asyncio.TimerHandle | None = None

    def start(self, writer: StreamWriter) -> None:
        """The head is sent."""
        super().start(writer)
        if self._watch.bookmarks:
            self._bookmark_timer = asyncio.get_running_loop().call_later(BOOKMARK_S, self._bookmark)

    def _end(self) -> None:
        if self._bookmark_timer is not None:
            self._bookmark_timer.cancel()
        super()._end()

    async def write_all(self) -> None:
        """Tell everything until the time is over, the history is gone, or a conversion fails."""
        try:
            async with asyncio.timeout(self._timeout_s):
                await self._tell_all()
        except TimeoutError:
            return
        except Compacted as error:
            await self.write(self._encode(error_event(status_of(error))))
        except ApiError as error:
            await self.write(self._encode(error_event(error)))

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
        told = await self._server.read(snapshot, lambda txn: events(watch.of(watch.kind.bound_to(txn))))
        if told:
            await self.write(b"".join(map(self._encode, told)))

    def _bookmark(self) -> None:
        self._bookmark_timer = asyncio.get_running_loop().call_later(BOOKMARK_S, self._bookmark)
        if self._writer is not None and not self._writer.is_paused and self._revision:
            line = self._encode(self._watch.bookmark(self._revision))
            self._writer.write(line, frame(line))
