"""Watchers: cursors into the one history that a store keeps.

Nothing is queued for a watcher and no event is copied: a watcher is a prefix and a revision, and reads on from there
when it is told (``subscriptions``) that something matches.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import Self

    from attractor.store.contract import Batch
    from attractor.store.local import LocalStore

BATCH_EVENTS = 1000
"""A watcher that catches up gets about so many events at a time, and the event loop can breathe in between."""


class Watcher:
    """One watch: a context manager and an iterator of batches."""

    def __init__(self, store: LocalStore, prefix: str, after: int) -> None:
        self._store = store
        self._prefix = prefix
        self._read = after
        """Everything up to here was handed out."""
        self._parked: asyncio.Future[None] | None = None
        """Set while waiting. Nothing that matches has come since, so the watcher is as new as the store."""
        self._end: Callable[[], None] | None = None

    @property
    def revision(self) -> int:
        """Every matching event up to here has been handed out; it moves on while others write elsewhere."""
        return self._store.revision if self._parked is not None and not self._parked.done() else self._read

    async def __aenter__(self) -> Self:
        if self._read > self._store.revision:
            await self._store.snapshot()  # on a shared engine, another server may have written it
        self._store.check_kept(self._read)
        self._end = self._store.subscribe(self._prefix, self._heard)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._end is not None:
            self._end()
            self._end = None

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Batch:
        while self._end is not None and not self._store.is_closed:
            batch = self._store.events_after(self._prefix, self._read, limit=BATCH_EVENTS)
            self._read = batch.revision
            if batch.events:
                return batch
            if batch.revision == self._store.revision:
                self._parked = asyncio.get_running_loop().create_future()
                try:
                    await self._parked
                finally:
                    self._parked = None
        raise StopAsyncIteration

    def _heard(self, revision: int) -> None:
        if self._parked is not None and not self._parked.done():
            # Skip what did not match while parked: it may be compacted by now, and that would be no loss.
            self._read = max(self._read, revision - 1)
            self._parked.set_result(None)
