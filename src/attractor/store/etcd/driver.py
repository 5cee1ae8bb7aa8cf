"""The mirror of etcd and the transactions that go past it."""

from __future__ import annotations

import asyncio
import heapq
import itertools
import logging
from functools import partial
from typing import TYPE_CHECKING

from attractor.store.contract import FutureRevision, Stale, StoreError, StoreUnavailable, StoreUnusable
from attractor.store.etcd.chain import Chain, Draft
from attractor.store.etcd.channel import CallFailed
from attractor.store.etcd.connection import Connection, is_compacted, translated
from attractor.store.etcd.layout import Layout, head_revision
from attractor.store.etcd.proto import rpc_pb2 as pb
from attractor.store.local import LocalStore
from attractor.store.mvcc import HISTORY_LIMIT, Mvcc, View, check_transaction
from attractor.store.sortedmap import SortedMap

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Mapping
    from typing import Any, NoReturn, Self, TypeVar

    from attractor.store.contract import Entry, Snapshot
    from attractor.store.etcd.chain import Write
    from attractor.store.etcd.connection import EtcdOptions

    Answer = TypeVar("Answer")

log = logging.getLogger(__name__)

BACKOFF_S = 0.05
MAX_BACKOFF_S = 2.0


class _CompactedAway(Exception):
    """Etcd has forgotten the revision from which the watch would go on; it still has ``oldest``."""

    def __init__(self, oldest: int) -> None:
        self.oldest = oldest


class EtcdStore(LocalStore):
    """A store that other processes share. Make one with ``EtcdStore.open``."""

    is_exclusive = False

    def __init__(self, options: EtcdOptions, *, history_limit: int = HISTORY_LIMIT) -> None:
        super().__init__(history_limit=history_limit)
        self._options = options
        self._layout = Layout(options.prefix)
        self._is_loaded = False
        self._followed = 0
        """The revision of etcd up to which the mirror has everything; others' writes may put it above our own."""
        self._connected: asyncio.Future[Connection] = asyncio.get_running_loop().create_future()
        """Done while the watch runs; calls go over the very connection that it runs on."""
        self._trouble: StoreError = StoreUnavailable(f"{options} did not answer; check that it runs")
        """Why there is no connection."""
        self._behind: list[tuple[int, int, asyncio.Future[None]]] = []
        """A heap of those who wait for the mirror to reach a revision; never one that it has reached."""
        self._ticket = itertools.count()
        self._chain = Chain()
        self._reading: asyncio.Task[None] | None = None
        self._next_read: asyncio.Task[None] | None = None
        """The quorum read that is under way, and the one after it, which newcomers must take: see ``snapshot``."""
        self._mirror: asyncio.Task[None] | None = None

    @classmethod
    async def open(cls, options: EtcdOptions, *, history_limit: int = HISTORY_LIMIT) -> Self:
        """Connect and read everything in; raises ``StoreUnavailable`` or ``StoreUnusable``."""
        store = cls(options, history_limit=history_limit)
        store._mirror = asyncio.create_task(store._run(), name=f"mirror of {options}")
        store._mirror.add_done_callback(store._stopped)
        try:
            await store.snapshot()
        except BaseException:
            await store.aclose()
            raise
        return store

    async def snapshot(self) -> View:
        """Linearizable: shows every write that anyone had acknowledged before the call."""
        # A read that is under way may have passed etcd before a write that this caller knows of: take the next one.
        self._check_open()
        if self._next_read is None:
            self._next_read = asyncio.create_task(self._read_after(self._reading))
            self._next_read.add_done_callback(_retrieved)
        await asyncio.shield(self._next_read)
        return self._mvcc.head

    async def commit(
        self, compares: Mapping[str, int], *, puts: Mapping[str, bytes], deletes: Collection[str] = ()
    ) -> int:
        """Write all or nothing if every compared key is at its revision (0: absent); answer the new revision."""
        self._check_open()
        check_transaction(puts, deletes)
        write = self._chain.begin(self._mvcc.head, compares, puts, deletes, asyncio.get_running_loop().create_future)
        try:
            if write.rests_on:
                revisions = await self._answers(write.rests_on)
                write.rests_on = {}
                # Where a write deleted the key, it is compared with 0 as ever.
                compares = {key: revisions[key] if compared < 0 else compared for key, compared in compares.items()}
            revision = await self._send(compares, puts, deletes)
            self._chain.answered(write, revision)
            await self._reach(revision)
        finally:
            if write.answer.done():
                self._chain.ended(write)
            else:
                self._chain.lost(write)
        return revision

    async def draft(self) -> Draft:
        """``snapshot``, and on top of it this server's own writes that are on their way."""
        return Draft(await self.snapshot(), self._chain)

    async def settled(self, draft: Snapshot) -> bool:
        """Wait until all that a draft has shown is durable; False when some of it was not even answered then."""
        seen = draft.seen if isinstance(draft, Draft) else []
        waits = [write.answer for write in seen if write.revision < 0]
        if waits:
            await asyncio.wait(waits)
        await self._reach(max((write.revision for write in seen), default=0))
        return not waits

    async def _answers(self, rests_on: Mapping[str, Write]) -> dict[str, int]:
        """The revisions of the writes that one rests on, by key; raises ``Stale`` if one was lost."""
        await asyncio.wait([write.answer for write in rests_on.values()])
        if lost := [key for key, write in rests_on.items() if write.answer.cancelled()]:
            raise Stale(lost)
        return {key: write.revision for key, write in rests_on.items()}

    async def _send(self, compares: Mapping[str, int], puts: Mapping[str, bytes], deletes: Collection[str]) -> int:
        """One transaction of etcd; answers its revision, or the newest if there was nothing to change."""
        while True:
            # Etcd would count a delete of nothing as a change, because of the head: delete only what is there, and
            # make sure that it is so.
            known = {key: entry.revision if (entry := self._mvcc.head.get(key)) else 0 for key in deletes}
            checked = {**known, **compares}
            request = self._layout.transaction(checked, puts, [key for key in deletes if checked[key]])
            answer = await self._called(partial(Connection.txn, request=request))
            if answer.succeeded and (puts or any(checked[key] for key in deletes)):
                revision: int = answer.header.revision
                return revision
            found = [op.response_range for op in answer.responses]
            await self._reach(head_revision(found[0]))
            if answer.succeeded:
                return self.revision
            differ = [
                key
                for (key, wanted), read in zip(checked.items(), found[1:], strict=True)
                if head_revision(read) != wanted
            ]
            if stale := [key for key in differ if key in compares]:
                raise Stale(stale)

    async def compact(self, revision: int) -> None:
        """Forget history below that revision, in all of etcd; other servers keep what they hold."""
        self._check_open()
        if revision > self.revision:
            raise FutureRevision(revision, self.revision)
        if revision <= self.compacted:
            return
        try:
            await self._called(partial(Connection.compact, request=pb.CompactionRequest(revision=revision)))
        except _CompactedAway:
            log.debug("compacted by another server already: %s", revision)
        self._mvcc.compact(revision)

    async def aclose(self) -> None:
        """Finish running writes, end watches, and let go of the connection."""
        if self.is_closed:
            return
        self._end_watches()
        tasks = [task for task in (self._mirror, self._reading, self._next_read) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        self._connected.cancel()
        for _, _, reached in self._behind:
            if not reached.done():
                reached.set_exception(StoreUnavailable(f"{self._options}: the store was closed during the write"))
        self._behind.clear()

    def check_invariants(self) -> None:
        """What holds between any two steps of the event loop."""
        super().check_invariants()
        assert self.revision <= self._followed or not self._is_loaded, "the mirror shows what it has not got"
        assert all(revision > self.revision for revision, _, _ in self._behind), "somebody waits for what is there"

    # Calls

    async def _called(self, call: Callable[[Connection], Awaitable[Answer]]) -> Answer:
        """Make one call over the connection that the mirror uses."""
        connection = await self._connection()
        try:
            return await call(connection)
        except CallFailed as error:
            if is_compacted(error):
                raise _CompactedAway(0) from error
            raise translated(error, self._options) from error

    async def _connection(self) -> Connection:
        """The connection, waiting for it if need be."""
        if self._connected.done():
            return self._connected.result()
        try:
            async with asyncio.timeout(self._options.timeout_s):
                while True:
                    # The future is replaced when the connection is lost.
                    connected = self._connected
                    await asyncio.wait([connected])
                    if connected is self._connected:
                        return connected.result()
        except TimeoutError:
            raise type(self._trouble)(*self._trouble.args) from None

    async def _read_after(self, previous: asyncio.Task[None] | None) -> None:
        if previous is not None:
            await asyncio.wait([previous])
        self._reading, self._next_read = self._next_read, None
        await self._reach(await self._written())

    async def _written(self) -> int:
        """The revision of the last transaction of anybody; a read may be tried until the time is up."""
        clock = asyncio.get_running_loop().time
        deadline = clock() + self._options.timeout_s
        while True:
            try:
                return head_revision(await self._called(partial(Connection.range, request=self._layout.head_request())))
            except StoreUnavailable:
                if clock() + BACKOFF_S > deadline:
                    raise
            await asyncio.sleep(BACKOFF_S)

    async def _reach(self, revision: int) -> None:
        """Wait until the mirror shows that revision."""
        if revision <= self.revision:
            return
        reached: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._behind, (revision, next(self._ticket), reached))
        try:
            async with asyncio.timeout(self._options.timeout_s):
                await reached
        except TimeoutError:
            raise StoreUnavailable(
                f"{self._options} has revision {revision}, but did not deliver it in {self._options.timeout_s} s"
            ) from None

    # The mirror

    async def _run(self) -> None:
        """Follow etcd for good, from one endpoint to the next."""
        delay = BACKOFF_S
        for endpoint in itertools.cycle(self._options.endpoints):
            try:
                async with Connection(endpoint, self._options) as connection:
                    await connection.login()
                    await self._follow(connection)
            except CallFailed as error:
                self._trouble = translated(error, self._options)
            except StoreError as error:
                self._trouble = error
            if self._connected.done():
                delay = BACKOFF_S
                self._connected = asyncio.get_running_loop().create_future()
            elif isinstance(self._trouble, StoreUnusable) and not self._is_loaded:
                self._connected.set_exception(self._trouble)
                self._connected.add_done_callback(_retrieved)
                return
            log.warning("lost etcd at %s, trying again: %s", endpoint, self._trouble)
            await asyncio.sleep(delay)
            delay = min(delay * 2, MAX_BACKOFF_S)

    def _stopped(self, mirror: asyncio.Task[None]) -> None:
        """Without a mirror nothing can be served: say so to every caller, rather than let them wait."""
        if not mirror.cancelled() and (error := mirror.exception()) is not None:
            log.error("the mirror of %s has died", self._options, exc_info=error)
            self._connected = asyncio.get_running_loop().create_future()
            self._connected.set_exception(
                StoreUnavailable(f"{self._options}: the mirror has died; open the store anew")
            )
            self._connected.add_done_callback(_retrieved)

    async def _follow(self, connection: Connection) -> None:
        """Bring the mirror up and keep it so, until the connection fails."""
        newest = (await connection.range(self._layout.head_request())).header.revision
        if not self._is_loaded or newest < self._followed:
            # The first time, or after etcd was restored from a backup.
            await self._load(connection, max(newest - self._history_limit, 1))
        while True:
            try:
                await self._watch(connection)
            except _CompactedAway as gone:
                await self._load(connection, gone.oldest)

    async def _load(self, connection: Connection, revision: int) -> None:
        """Start over from an old revision, or from the oldest that etcd has, so that history reaches back there."""
        while True:
            try:
                view = await self._list(connection, revision)
                break
            except _CompactedAway:
                revision = await self._oldest(connection, revision)
        if not self._is_loaded or view.revision != self.revision or view.range("") != self._mvcc.head.range(""):
            self._mvcc = Mvcc(view, history_limit=self._history_limit)
            self._is_loaded = True
            self._subscriptions.tell_all()
        # Else etcd has compacted what others did, and nothing of ours: no watcher has missed anything.
        self._followed = revision
        self._wake()

    async def _list(self, connection: Connection, revision: int) -> View:
        """Everything at a revision of etcd, as a view at the last transaction of ours up to there.

        So all servers count alike, whatever others have written since.
        """
        entries: list[Entry] = []
        last: bytes | None = None
        try:
            head = self._layout.head_request()
            head.revision = revision
            written = head_revision(await connection.range(head))
            while True:
                page = await connection.range(self._layout.page_request(revision, last))
                entries += map(self._layout.entry, page.kvs)
                if not page.more:
                    break
                last = page.kvs[-1].key
        except CallFailed as error:
            if is_compacted(error):
                raise _CompactedAway(0) from error
            raise
        written = max([written, *(entry.revision for entry in entries)])
        return View(written, SortedMap.of([entry.key for entry in entries], entries))

    async def _oldest(self, connection: Connection, compacted: int) -> int:
        """The oldest revision that etcd still has; only a watch that comes too late is told."""
        try:
            await self._responses(connection, compacted - 1, lambda _: None)
        except _CompactedAway as gone:
            return gone.oldest

    async def _watch(self, connection: Connection) -> None:
        """Take in what etcd tells, until the stream breaks."""

        def take(response: pb.WatchResponse) -> None:
            commits = []
            head = self._mvcc.head
            for revision, changed in self._layout.changes(response.events):
                commits.append(head.applied(revision, changed))
                head = commits[-1].view
            if commits:
                self._publish(commits)
                self._followed = self.revision
                self._wake()
            if not self._connected.done():
                self._connected.set_result(connection)

        await self._responses(connection, self._followed, take)

    async def _responses(
        self, connection: Connection, after: int, take: Callable[[pb.WatchResponse], None]
    ) -> NoReturn:
        """Hand over each response of a watch; it ends with an error, if only because the stream was closed."""
        stream = connection.watch()
        try:
            stream.write(self._layout.watch_request(after))
            while response := await stream.read():
                if response.compact_revision:
                    raise _CompactedAway(response.compact_revision)
                if response.canceled:
                    raise StoreUnavailable(f"{self._options} ended the watch: {response.cancel_reason}")
                take(response)
        finally:
            stream.cancel()
        raise StoreUnavailable(f"{self._options} closed the watch")

    def _wake(self) -> None:
        """Tell those who waited for the mirror to come this far."""
        while self._behind and self._behind[0][0] <= self.revision:
            reached = heapq.heappop(self._behind)[2]
            if not reached.done():
                reached.set_result(None)


def _retrieved(ended: asyncio.Future[Any]) -> None:
    """Look at the outcome, so that asyncio does not complain when every caller has gone."""
    if not ended.cancelled():
        ended.exception()
