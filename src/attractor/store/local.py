"""What the engines share: reads and watches, served from memory without waiting."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attractor.store.contract import Batch, StoreUnavailable
from attractor.store.mvcc import HISTORY_LIMIT, Mvcc
from attractor.store.subscriptions import Subscriptions
from attractor.store.watchers import Watcher

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence

    from attractor.store.contract import Snapshot, Stale
    from attractor.store.mvcc import Commit, View


class LocalStore:
    """The reading half of a store; an engine adds ``commit``, ``compact`` and ``aclose``."""

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

    async def draft(self) -> Snapshot:
        """What a write may rest on; an engine that shows nothing before it is durable answers a snapshot."""
        return await self.snapshot()

    def draft_nowait(self) -> View | None:
        """Nothing, for a shared engine has to ask; an exclusive one answers its draft."""
        return None

    def commit_on(
        self, draft: Snapshot, compares: Mapping[str, int], *, puts: Mapping[str, bytes], deletes: Collection[str] = ()
    ) -> int | asyncio.Future[int]:
        """Write on top of what ``draft_nowait`` has just answered."""
        raise NotImplementedError("no draft was given out, so nothing can rest on it")

    def guess(self) -> Snapshot | None:
        """Nothing: who knows all need not guess."""
        return None

    def commit_guess(
        self,
        guess: Snapshot,
        *,
        puts: Mapping[str, bytes],
        deletes: Collection[str] = (),
        again: Callable[[Stale], Awaitable[int]] | None = None,
    ) -> asyncio.Future[int]:
        """Write, if all that a guess has shown is so."""
        raise NotImplementedError("no guess was given out, so nothing can rest on it")

    async def settled(self, draft: Snapshot) -> bool:
        """Whether all that a draft shows is durable."""
        return True

    def snapshot_nowait(self) -> View:
        """What this process knows now."""
        return self._mvcc.head

    def snapshot_at(self, revision: int) -> View:
        """Exactly that revision; raises ``Compacted`` or ``FutureRevision``."""
        return self._mvcc.view_at(revision)

    def watch(self, prefix: str, *, after: int) -> Watcher:
        """All events after that revision under a prefix."""
        return Watcher(self, prefix, after)

    def events_after(self, prefix: str, after: int, *, limit: int = 0) -> Batch:
        """What a watcher at that revision has to read now, without waiting."""
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
