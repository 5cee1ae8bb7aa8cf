"""The store that lives in this process and dies with it: for tests, demos and the embedded default."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attractor.store.local import LocalStore
from attractor.store.mvcc import HISTORY_LIMIT, Mvcc, View
from attractor.store.sorted_map import SortedMap

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from attractor.store.contract import Snapshot


class MemoryStore(LocalStore):
    """A store without durability. Its ``commit`` never waits, so it never lets another task run either."""

    def __init__(self, *, history_limit: int = HISTORY_LIMIT, after: int = 0) -> None:
        """Revisions are counted on from ``after``: one that no earlier store of the same name can have reached."""
        super().__init__(history_limit=history_limit)
        self._mvcc = Mvcc(View(after, SortedMap()), history_limit=history_limit)

    def commit_nowait(
        self, compares: Mapping[str, int], *, puts: Mapping[str, bytes], deletes: Collection[str] = ()
    ) -> int:
        """``commit`` for callers that are not coroutines."""
        self._check_open()
        commit = self._mvcc.head.plan(compares, puts, deletes)
        if commit.events:
            self._publish((commit,))
        return commit.revision

    async def commit(
        self, compares: Mapping[str, int], *, puts: Mapping[str, bytes], deletes: Collection[str] = ()
    ) -> int:
        """Write all or nothing if every compared key is at its revision (0: absent); answer the new revision."""
        return self.commit_nowait(compares, puts=puts, deletes=deletes)

    def draft_nowait(self) -> View:
        """The newest state: nothing is ever on its way here."""
        return self._mvcc.head

    async def draft(self) -> View:
        """The same."""
        return self._mvcc.head

    def commit_draft(
        self, draft: Snapshot, *, puts: Mapping[str, bytes], deletes: Collection[str] = (), again: object = None
    ) -> int:
        """Commit on what ``draft_nowait`` has just answered; there are no conflicts."""
        if self.is_closed:
            self._check_open()
        head = self._mvcc.head
        assert draft is head, "somebody has written since the draft was taken"
        commit = head.planned(puts, deletes)
        if commit.events:
            self._publish((commit,))
        return commit.view.revision

    async def settled(self, draft: Snapshot) -> bool:
        """Whether all that a draft shows is durable: always."""
        return True

    def fork(self) -> MemoryStore:
        """An independent store with the same state and history, in O(1); watchers stay with the original."""
        copy = MemoryStore(history_limit=self._history_limit)
        copy._mvcc = self._mvcc.fork()
        return copy

    async def compact(self, revision: int) -> None:
        """Forget history below that revision; the newest state is always kept."""
        self._mvcc.compact(revision)

    async def aclose(self) -> None:
        """End watches."""
        self._end_watches()
