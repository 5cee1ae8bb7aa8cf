"""The reader and the watch that all engines share, served from memory without waiting.

A ``Watcher`` is a cursor into the one history that a store keeps: a prefix and a revision. Nothing is queued for it and
no event is copied; it reads on from there when it is told (``subscriptions``) that something matches.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from attractor.store.contract import Batch, StoreUnavailable
from attractor.store.mvcc import HISTORY_LIMIT, Mvcc
from attractor.store.subscriptions import Subscriptions

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import TracebackType
    from typing import Self

    from attractor.store.mvcc import Commit, View

BATCH_EVENTS = 1000
"""A watcher that catches up gets about so many events at a time, and the event loop can breathe in between."""


class LocalStore:
    """``Reader`` and ``Watchable``; an engine adds ``Writer``, ``aclose`` and, if it can, ``SpeculativeWriter``."""

    is_exclusive: bool = True

    def __init__(self, *, history_limit: int = HISTORY_LIMIT) -> None:
        self._history_limit = history_limit
        self._mvcc = Mvcc(history_limit=history_limit)
        self._subscriptions = Subscriptions()
        self._last_asked: tuple[str, int, int, View, int] | None = None
        self._last_answer = Batch(0, ())
        self.is_closed = False

    @property
    def revision(self) -> int:
        """The newest revision that this process knows to be durable."""
        return self._mvcc.head.revision

    @property
    def compacted(self) -> int:
        """Revisions below this one are no longer kept."""
        return self._mvcc.compacted

    async def snapshot(self) -> View:
        """Linearizable: shows every write that anyone had acknowledged before the call."""
        return self._mvcc.head

    def snapshot_nowait(self) -> View:
        """The newest state that this process knows."""
        return self._mvcc.head

    def snapshot_at(self, revision: int) -> View:
        """Exactly that revision; raises ``Compacted`` or ``FutureRevision``."""
        return self._mvcc.view_at(revision)

    def watch(self, prefix: str, *, after: int) -> Watcher:
        """All events after that revision under a prefix."""
        return Watcher(self, prefix, after)

    def events_after(self, prefix: str, after: int, *, limit: int = 0) -> Batch:
        """The events that a watcher at that revision has to read now, without waiting."""
        # Watchers of one kind all ask the same right after each other.
        asked = (prefix, after, limit, self._mvcc.head, self._mvcc.compacted)
        if asked != self._last_asked:
            self._last_answer = self._mvcc.events_after(prefix, after, limit)
            self._last_asked = asked
        return self._last_answer

    def check_kept(self, revision: int) -> None:
        """Raise ``Compacted`` or ``FutureRevision`` unless a watch could begin after that revision."""
        self._mvcc.check_kept(revision)

    def subscribe(self, prefix: str, heard: Callable[[int], None]) -> Callable[[], None]:
        """Call ``heard`` whenever there is something new under a prefix; the answer ends the subscription."""
        return self._subscriptions.add(prefix, heard)

    def check_invariants(self) -> None:
        """What holds between any two steps of the event loop."""
        self._mvcc.check_invariants()
        self._subscriptions.check_invariants()

    def _publish(self, commits: Sequence[Commit]) -> None:
        """Make durable commits visible, all of them before anybody is told of one."""
        for commit in commits:
            self._mvcc.append(commit)
        self._subscriptions.publish(commits)

    def _check_open(self) -> None:
        if self.is_closed:
            raise StoreUnavailable("the store is closed; nothing was written")

    def _end_watches(self) -> None:
        self.is_closed = True
        self._subscriptions.tell_all()


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
