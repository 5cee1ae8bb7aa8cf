"""The durable store for one machine: SQLite with group commit.

How a write goes: it is checked against the *head* and planned in the event loop, at once and in order. One thread
makes all planned writes durable together, with one sync of the disk for all of them. Only then do they become visible
to readers and watchers, and only then are they acknowledged. If the disk refuses, the head goes back to what is
durable, which is one assignment, and every waiting writer is told.

Survives ``kill -9`` and power cuts: what was acknowledged is there, what was not is there whole or not at all. On a
full disk, what does not grow the store is still written, from a reserve (``reserve``).
"""

from __future__ import annotations

import asyncio
import logging
import queue
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from attractor.store.contract import FutureRevision, Stale, StoreError, StoreFull, StoreUnavailable
from attractor.store.local import LocalStore
from attractor.store.mvcc import HISTORY_LIMIT
from attractor.store.sqlite.log import SqliteLog
from attractor.store.sqlite.reserve import Reserve, does_not_grow

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from os import PathLike

    from attractor.store.contract import Snapshot
    from attractor.store.mvcc import Commit, View

log = logging.getLogger(__name__)

GROUP_BYTES = 8 << 20
"""A group is cut here, far below the greatest row that SQLite takes, and so that writers see progress."""
FOLD_LAG = 250
"""How many forgotten revisions may pile up in the file before they are folded into the state."""
MARK_SYNC_S = 1.0
"""So far may the mark on the disk lag behind after a power cut."""


class _Waiting(NamedTuple):
    """A writer that waits: for a transaction to be durable, or for the floor to be."""

    commit: Commit | None
    compacted: int | None
    revision: int
    """What it is told when that is so."""
    done: asyncio.Future[int]


class SqliteStore(LocalStore):
    """A store in one file, open in one process."""

    def __init__(self, path: str | PathLike[str], *, history_limit: int = HISTORY_LIMIT) -> None:
        """Open or create the file and read it in; this blocks, so servers use ``open_store``."""
        super().__init__(history_limit=history_limit)
        self._path = Path(path)
        self._file = SqliteLog.open(self._path)
        try:
            self._mvcc = self._file.load(history_limit=history_limit)
        except StoreError:
            self._file.close()
            raise
        self._head = self._mvcc.head
        """The newest planned view; ahead of the durable one exactly while somebody waits."""
        self._queue: list[_Waiting] = []
        """Planned, and not yet handed to the writer thread."""
        self._group: list[_Waiting] = []
        """With the writer thread. A second group is not started before the first is settled, so that what was
        planned on top of a failed write is never written."""
        self._is_scheduled = False
        """Whether ``_start_group`` is about to run, or a group is under way and will run it."""
        self._settling: list[asyncio.Future[None]] = []
        """Those who wait for any group to end, well or not."""
        self._failures = 0
        """How many groups have failed; each took the head back."""
        self._reserve = Reserve(self._path)
        self._reserve.keep()
        self._file.bound_wal(self._reserve.size_bytes // 2)
        self._full: StoreFull | None = None
        """What the disk said when it was last full; then what grows the store has to wait for the reserve."""
        self._folding_to = self._mvcc.compacted
        """Rows of the log below this revision serve nobody any more."""
        self._died = StoreUnavailable(f"{self._path}: the writer thread has died; open the store anew")
        self._is_dead = False
        """Whether it has, by an error that nobody foresaw; then nothing more is accepted."""
        self._jobs: queue.SimpleQueue[list[_Waiting] | None] = queue.SimpleQueue()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = threading.Thread(target=self._write, name=f"store {self._path.name}", daemon=True)
        self._thread.start()

    async def commit(
        self, compares: Mapping[str, int], *, puts: Mapping[str, bytes], deletes: Collection[str] = ()
    ) -> int:
        """Write all or nothing if every compared key is at its revision (0: absent); answer the new revision."""
        while True:
            self._check_writable()
            try:
                commit = self._head.plan(compares, puts, deletes)
            except Stale:
                # Stale against what is durable is final. Stale against a write in flight is not: it may yet fail.
                self._mvcc.head.plan(compares, {})
                await self._settled()
                continue
            if commit.events:
                self._check_room(commit)
                self._head = commit.view
                return await self._enqueue(commit)
            if self._head is self._mvcc.head:
                return commit.revision
            await self._settled()

    def draft_nowait(self) -> View:
        """The newest planned view: what is durable, and the writes on their way."""
        return self._head

    async def draft(self) -> View:
        """The same."""
        return self._head

    def commit_draft(
        self, draft: Snapshot, *, puts: Mapping[str, bytes], deletes: Collection[str] = (), again: object = None
    ) -> int | asyncio.Future[int]:
        """Commit on what ``draft_nowait`` has just answered; there are no conflicts."""
        self._check_writable()
        assert draft is self._head, "somebody has written since the draft was taken"
        commit = self._head.planned(puts, deletes)
        if commit.events:
            self._check_room(commit)
            self._head = commit.view
            return self._enqueue(commit)
        if self._head is self._mvcc.head:
            return commit.revision
        return self._enqueue(revision=commit.revision)  # once what it rests on is durable

    async def settled(self, draft: Snapshot) -> bool:
        """Wait until all that a draft shows is durable; False when some of it failed."""
        failures = self._failures
        while draft.revision > self.revision and failures == self._failures:
            await self._settled()
        return failures == self._failures

    async def compact(self, revision: int) -> None:
        """Forget history below that revision; the newest state is always kept."""
        self._check_writable()
        if revision > self.revision:
            raise FutureRevision(revision, self.revision)
        if revision > self.compacted:
            await self._enqueue(compacted=revision)

    async def aclose(self) -> None:
        """Finish running writes, end watches, and let go of the file."""
        if self.is_closed:
            return
        self._end_watches()
        while self._queue or self._group:
            await self._settled()
        self._jobs.put(None)
        await asyncio.get_running_loop().run_in_executor(None, self._thread.join)

    def check_invariants(self) -> None:
        """What holds between any two steps of the event loop."""
        super().check_invariants()
        planned = [waiting.commit for waiting in self._group + self._queue if waiting.commit is not None]
        revisions = [commit.revision for commit in planned]
        assert revisions == list(range(self.revision + 1, self._head.revision + 1)), "a planned write has no waiter"
        assert self._is_scheduled or not (self._queue or self._group), "nobody will serve the waiting writers"

    def _enqueue(
        self, commit: Commit | None = None, *, compacted: int | None = None, revision: int = 0
    ) -> asyncio.Future[int]:
        loop = self._loop = asyncio.get_running_loop()
        done: asyncio.Future[int] = loop.create_future()
        self._queue.append(_Waiting(commit, compacted, commit.revision if commit is not None else revision, done))
        if not self._is_scheduled:
            # Not at once: all tasks that are ready to write may join the group first.
            self._is_scheduled = True
            loop.call_soon(self._start_group)
        return done

    async def _settled(self) -> None:
        """Wait until the next group has ended, well or not."""
        ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._settling.append(ended)
        await ended

    def _start_group(self) -> None:
        size = cut = 0
        for waiting in self._queue:
            if size >= GROUP_BYTES:
                break
            cut += 1
            if waiting.commit is not None:
                size += sum(len(event.value or b"") for event in waiting.commit.events)
        self._group, self._queue = self._queue[:cut], self._queue[cut:]
        self._is_scheduled = bool(self._group)
        if self._group:
            self._jobs.put(self._group)

    def _end_group(self, error: StoreError | None) -> None:
        """The writer thread has finished: tell the group how it went, and start the next one."""
        group, self._group = self._group, []
        if error is None:
            self._publish([waiting.commit for waiting in group if waiting.commit is not None])
            for waiting in group:
                if waiting.compacted is not None:
                    self._mvcc.compact(waiting.compacted)
                if not waiting.done.done():
                    waiting.done.set_result(waiting.revision)
        else:
            self._head = self._mvcc.head
            self._failures += 1
            if isinstance(error, StoreFull):
                self._full = error
            # Those in the queue planned on writes that have failed.
            group, self._queue = group + self._queue, []
            for waiting in group:
                if not waiting.done.done():
                    waiting.done.set_exception(type(error)(*error.args))
        for ended in self._settling:
            if not ended.done():
                ended.set_result(None)
        self._settling.clear()
        self._folding_to = self._mvcc.compacted
        # After those who were just answered, so that their next writes join the group.
        assert self._loop is not None
        self._loop.call_soon(self._start_group)

    def _check_writable(self) -> None:
        self._check_open()
        if self._is_dead:
            raise StoreUnavailable(*self._died.args)

    def _check_room(self, commit: Commit) -> None:
        """Refuse at once what a full disk would not take, so that it does not fail together with what makes room."""
        if self._full is None or does_not_grow(commit):
            return
        if not self._reserve.has_room():
            raise StoreFull(*self._full.args)
        self._full = None

    def _next_group(self, noted_s: float) -> tuple[list[_Waiting] | None, float]:
        """What the writer thread has to write next, and when the mark was last synced; None to end."""
        if self._file.is_noted:
            return self._jobs.get(), time.monotonic()
        left_s = noted_s + MARK_SYNC_S - time.monotonic()
        if left_s > 0:
            try:
                return self._jobs.get(timeout=left_s), noted_s
            except queue.Empty:
                pass
        self._file.sync_mark()
        self._reserve.keep()
        return self._jobs.get(), time.monotonic()

    def _write(self) -> None:
        """The writer thread: one group after the other; between two, a piece of the log is folded."""
        try:
            group, noted_s = self._next_group(0.0)
            while group is not None:
                assert self._loop is not None
                error: StoreError | None = self._died
                try:
                    error = self._write_group(group)
                finally:
                    self._is_dead = error is self._died
                    self._loop.call_soon_threadsafe(self._end_group, error)
                if error is None and self._folding_to >= self._file.folded + FOLD_LAG:
                    self._fold(self._folding_to)
                group, noted_s = self._next_group(noted_s)
        finally:
            self._file.close()

    def _write_group(self, group: list[_Waiting]) -> StoreError | None:
        compacted = max((waiting.compacted for waiting in group if waiting.compacted is not None), default=None)
        commits = [waiting.commit for waiting in group if waiting.commit is not None]
        try:
            try:
                self._file.append(commits, compacted)
            except StoreFull:
                if not all(does_not_grow(commit) for commit in commits):
                    raise
                self._append_from_reserve(commits, compacted)
        except StoreError as refused:
            return refused
        while compacted is not None and self._fold(compacted):
            pass  # who compacts, waits until the space is free
        return None

    def _append_from_reserve(self, commits: list[Commit], compacted: int | None) -> None:
        """Write into the reserve what makes room, and make that room: the history in the file is what it takes."""
        self._reserve.release()
        self._file.lift_bound()
        try:
            self._file.append(commits, compacted)
        except StoreFull:
            self._file.make_room()
            self._file.append(commits, compacted)
        try:
            self._file.make_room()
        except StoreError as error:
            log.warning("the disk is full, and the room of what was deleted could not be freed yet: %s", error)
        self._reserve.take()

    def _fold(self, floor: int) -> bool:
        """Fold one piece; answers whether to go on. It is housekeeping, and can be done another time."""
        try:
            return self._file.fold(floor)
        except StoreError as error:
            log.warning("the log was not folded, which will be tried again: %s", error)
            return False
