"""The reader and the watch that all engines share, served from memory without waiting."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attractor.store.contract import Batch, StoreUnavailable
from attractor.store.mvcc import HISTORY_LIMIT, Mvcc
from attractor.store.subscriptions import Subscriptions
from attractor.store.watchers import Watcher

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from attractor.store.mvcc import Commit, View


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
