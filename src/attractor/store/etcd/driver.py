"""The mirror of etcd and the transactions that go past it."""

from __future__ import annotations

import asyncio
import heapq
import itertools
import logging
from functools import partial
from secrets import token_bytes
from typing import TYPE_CHECKING

from attractor.store.contract import FutureRevision, Stale, StoreError, StoreUnavailable, StoreUnusable, TooLarge
from attractor.store.etcd.chain import Chain, Change, Draft, RecordingDraft, pass_on, retrieved
from attractor.store.etcd.channel import CallFailed, Code
from attractor.store.etcd.connection import Connection, is_compacted, translated
from attractor.store.etcd.group import MAX_COMPARES, Group
from attractor.store.etcd.layout import PLACES, Layout, compared, etcd_revision, head_revision, since
from attractor.store.etcd.proto import rpc_pb2 as pb
from attractor.store.local import LocalStore
from attractor.store.mvcc import HISTORY_LIMIT, Mvcc, View, check_transaction
from attractor.store.sorted_map import SortedMap

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
    from typing import Any, NoReturn, Self, TypeVar

    from attractor.store.contract import Entry, Snapshot
    from attractor.store.etcd.chain import Write
    from attractor.store.etcd.connection import EtcdOptions

    Answer = TypeVar("Answer")
    Then = Callable[[pb.TxnResponse | None, StoreError | None], None]

log = logging.getLogger(__name__)

BACKOFF_S = 0.05
MAX_BACKOFF_S = 2.0
GROUPS = 2
"""Transactions under way at once, beyond which writes wait and share the next one: etcd has one to do while the other
is on the way, and the more writers there are, the more share a transaction and its sync."""
LOOKED_AT = 4 * PLACES
"""Of the writes that wait, so many are looked at for a group."""


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
        self._behind: list[tuple[int, int, asyncio.Future[int], Write | None]] = []
        """A heap of those who wait for the mirror to reach a revision; never one that it has reached."""
        self._ticket = itertools.count()
        self._chain = Chain()
        self._writes: set[Write] = set()
        """Own writes that have not ended."""
        self._ready: list[Write] = []
        """Those that wait for nothing but to be sent, in their order."""
        self._under_way = 0
        """Transactions under way. While there are ``GROUPS``, those that are ready wait."""
        self._is_gathering = False
        """Whether those that are ready will be sent at the end of this step of the event loop."""
        self._tasks: set[asyncio.Future[Any]] = set()
        """What is done beside everything else; kept, because the event loop does not."""
        self._readers: list[asyncio.Future[None]] = []
        self._being_served: list[asyncio.Future[None]] = []
        """Those who wait for the next quorum read, and for the one that is under way, too old for the others."""
        self._is_reading = False
        """Whether quorum reads are made, one after the other, for as long as somebody waits."""
        self._progress = 0
        """Grows with everything that etcd delivers: who waits for the mirror waits as long as it goes on."""
        self._mirror: asyncio.Task[None] | None = None
        self._name = token_bytes(8)
        """Which server has made a claim."""
        self.claimed: Callable[[str], None] | None = None

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
        read: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._readers.append(read)
        if not self._is_reading:
            self._is_reading = True
            self._spawn(self._read())
        await read
        return self._mvcc.head

    async def commit(
        self, compares: Mapping[str, int], *, puts: Mapping[str, bytes], deletes: Collection[str] = ()
    ) -> int:
        """Write all or nothing if every compared key is at its revision (0: absent); answer the new revision."""
        return await self._begin(Change(compares, puts, deletes))

    async def draft(self) -> Draft:
        """``snapshot``, and on top of it this server's own writes that are on their way."""
        return Draft(await self.snapshot(), self._chain)

    async def settled(self, draft: Snapshot) -> bool:
        """Wait until all that a draft has shown is durable; False when some of it was not even answered then.

        A write that was lost has ended, whatever its request does next: that may take a turn which our caller has.
        """
        seen = draft.seen if isinstance(draft, Draft) else []
        waits = [write.ending() for write in seen if write.revision < 0]
        if waits:
            await asyncio.wait(waits)
        await self._reach(max((write.revision for write in seen), default=0))
        return not waits

    def draft_nowait(self) -> RecordingDraft | None:
        """What the mirror shows, and on top of it this server's own writes that are on their way."""
        if self.is_closed or self._connection_nowait() is None:
            return None
        return RecordingDraft(self._mvcc.head, self._chain)

    def commit_draft(
        self,
        draft: Snapshot,
        *,
        puts: Mapping[str, bytes],
        deletes: Collection[str] = (),
        again: Callable[[Stale], Awaitable[Any]] | None = None,
    ) -> asyncio.Future[Any]:
        """Commit speculatively: etcd compares all that the draft has shown; on conflict call ``again``."""
        assert isinstance(draft, RecordingDraft), "only what `draft_nowait` has answered can be compared"
        if len(draft.read) + len(draft.absent) > MAX_COMPARES:
            raise Stale(draft.read)
        return self._begin(Change(draft.read, puts, deletes, draft.absent, again))

    def claim(self, key: str) -> None:
        """Ask the other servers to leave a key alone for a few writes' time; they may or may not hear of it."""
        if (connection := self._connection_nowait()) is not None:
            connection.post_txn(self._layout.claim(key, self._name), lambda _message, _failure: None)

    async def compact(self, revision: int) -> None:
        """Forget history below that revision, in all of etcd; other servers keep what they hold."""
        self._check_open()
        if revision > self.revision:
            raise FutureRevision(revision, self.revision)
        if revision <= self.compacted:
            return
        try:
            request = pb.CompactionRequest(revision=revision // PLACES)
            await self._called(partial(Connection.compact, request=request))
        except _CompactedAway:
            log.debug("compacted by another server already: %s", revision)
        self._mvcc.compact(revision)

    async def aclose(self) -> None:
        """Finish running writes, end watches, and let go of the connection."""
        if self.is_closed:
            return
        self._end_watches()
        tasks = [task for task in (self._mirror, *self._tasks) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        self._connected.cancel()
        closed = f"{self._options}: the store was closed during the write"
        self._ready.clear()
        for write in tuple(self._writes):
            self._lose(write, StoreUnavailable(closed))
        for _, _, reached, _ in self._behind:
            if not reached.done():
                reached.set_exception(StoreUnavailable(closed))
        self._behind.clear()
        self._being_served += self._readers
        self._readers = []
        self._end_reads(StoreUnavailable(f"{self._options}: the store was closed during the read"))

    def check_invariants(self) -> None:
        """What holds between any two steps of the event loop."""
        super().check_invariants()
        assert self.revision // PLACES <= self._followed or not self._is_loaded, "the mirror shows what it has not got"
        assert all(behind[0] > self.revision for behind in self._behind), "somebody waits for what is there"
        assert self._writes or self._chain.is_empty, "drafts show a write that has ended"
        assert self._writes.issuperset(self._ready), "a write that has ended waits to be sent"
        assert not self._ready or self._under_way or self._is_gathering, "nobody sends those that are ready"

    # Writes. Steps, not tasks: an answer is followed by what it makes ready, in the same or the next step of the loop.

    def _begin(self, change: Change) -> asyncio.Future[int]:
        """Send a write, or let it wait for those that it rests on."""
        self._check_open()
        check_transaction(change.puts, change.deletes)
        write = self._chain.begin(self._mvcc.head, change, asyncio.get_running_loop().create_future())
        self._writes.add(write)
        if not write.left:
            self._offer(write)
        return write.done

    def _offer(self, write: Write) -> None:
        """Send a write with all others that are ready in this step of the event loop."""
        self._ready.append(write)
        self._gather()

    def _gather(self) -> None:
        if self._ready and self._under_way < GROUPS and not self._is_gathering:
            self._is_gathering = True
            asyncio.get_running_loop().call_soon(self._send_groups)

    def _send_groups(self) -> None:
        self._is_gathering = False
        while self._ready and self._under_way < GROUPS:
            group = Group(self._ready[0])
            rest = [write for write in self._ready[1:LOOKED_AT] if not group.take(write)]
            self._ready[:LOOKED_AT] = rest
            if len(group.writes) == 1:
                self._send(group.writes[0])
            else:
                request = self._layout.group(group.compares, [one.change.puts for one in group.writes], group.absent)
                self._post(request, partial(self._sent_group, group.writes))

    def _sent_group(self, writes: Sequence[Write], answer: pb.TxnResponse | None, failure: StoreError | None) -> None:
        if answer is not None and answer.succeeded:
            for place, write in enumerate(writes):
                self._written_at(write, answer.header.revision * PLACES + place)
        elif failure is None or isinstance(failure, TooLarge):
            # Nothing was written, because of one of them or of their number: each may still be right.
            for write in writes:
                self._send(write)
        else:
            for write in writes:
                self._lose(write, failure)

    def _send(self, write: Write) -> None:
        # Etcd would count a delete of nothing as a change, because of the head: delete only what is there, and make
        # sure that it is so.
        change, head = write.change, self._mvcc.head
        known = {key: entry.revision if (entry := head.get(key)) else 0 for key in change.deletes}
        write.checked = checked = {**known, **write.compares()}
        deletes = [key for key in change.deletes if checked[key]]
        request = self._layout.transaction(checked, change.puts, deletes, change.absent)
        self._post(request, partial(self._sent, write))

    def _sent(self, write: Write, answer: pb.TxnResponse | None, failure: StoreError | None) -> None:
        if failure is not None:
            self._lose(write, failure)
        elif answer is not None:
            is_write = write.change.puts or any(write.checked[key] for key in write.change.deletes)
            if answer.succeeded and is_write:
                self._written_at(write, answer.header.revision * PLACES)
            else:
                self._spawn(self._sort_out(write, answer))

    def _post(self, request: bytes, then: Then) -> None:
        """Have a transaction sent; ``then`` gets the answer, or why there is none."""
        self._under_way += 1
        connection = self._connection_nowait()
        if connection is None:
            self._spawn(self._post_slowly(request, then))
        else:
            connection.post_txn(request, partial(self._posted, request, then))

    def _posted(self, request: bytes, then: Then, message: bytes, failure: CallFailed | None) -> None:
        if failure is None:
            self._arrived(then, pb.TxnResponse.FromString(message), None)
        elif failure.code is Code.UNAUTHENTICATED and self._options.user:
            self._spawn(self._post_slowly(request, then))
        else:
            self._arrived(then, None, translated(failure, self._options))

    async def _post_slowly(self, request: bytes, then: Then) -> None:
        """Wait for a connection, or for a token, and send it then."""
        try:
            answer = await self._called(partial(Connection.txn, request=request))
        except StoreError as error:
            self._arrived(then, None, error)
        else:
            self._arrived(then, answer, None)

    def _arrived(self, then: Then, answer: pb.TxnResponse | None, failure: StoreError | None) -> None:
        self._under_way -= 1
        then(answer, failure)
        self._gather()

    def _written_at(self, write: Write, revision: int) -> None:
        """Etcd has taken a write; it is acknowledged when the mirror shows it."""
        for follower in self._chain.answered(write, revision):
            self._offer(follower)
        heapq.heappush(self._behind, (revision, next(self._ticket), write.done, write))
        if revision <= self.revision:
            self._wake()
        else:
            loop = asyncio.get_running_loop()
            write.timer = loop.call_later(self._options.timeout_s, self._undelivered, write, revision, self._progress)

    async def _sort_out(self, write: Write, answer: pb.TxnResponse) -> None:
        """Nothing was written: find out why, once the mirror shows why."""
        found = [op.response_range for op in answer.responses]
        try:
            await self._reach(head_revision(found[0]))
        except StoreError as error:
            self._lose(write, error)
            return
        if answer.succeeded:
            for follower in self._chain.answered(write, self.revision):
                self._offer(follower)
            self._end(write)
            if not write.done.done():
                write.done.set_result(self.revision)
            return
        differ = [
            key
            for (key, wanted), read in zip(write.checked.items(), found[1:], strict=True)
            if etcd_revision(read) != compared(wanted)
        ]
        if stale := [key for key in differ if key in write.change.compares]:
            self._lose(write, Stale(stale))
        elif write.change.absent and not differ:
            self._lose(write, Stale(write.change.absent))
        else:
            self._send(write)

    def _lose(self, write: Write, error: StoreError) -> None:
        """A write has failed, and with it all that rest on it."""
        lost = [(write, error)]
        while lost:
            write, error = lost.pop()
            if write.left < 0:
                continue  # lost already, with another one that it rests on
            for follower in self._chain.lost(write):
                stale = Stale([key for key, other in follower.rests_on.items() if other is write])
                lost.append((follower, error if self.is_closed else stale))
            self._end(write)
            if isinstance(error, Stale) and write.change.again is not None:
                self._spawn(write.change.again(error)).add_done_callback(partial(pass_on, write.done))
            elif not write.done.done():
                write.done.set_exception(error)

    def _end(self, write: Write) -> None:
        self._chain.ended(write)
        self._writes.discard(write)
        if write.ended is not None and not write.ended.done():
            write.ended.set_result(None)
        if write.timer is not None:
            write.timer.cancel()

    def _undelivered(self, write: Write, revision: int, progress: int) -> None:
        if self._progress != progress:
            loop = asyncio.get_running_loop()
            write.timer = loop.call_later(self._options.timeout_s, self._undelivered, write, revision, self._progress)
            return
        self._end(write)
        if not write.done.done():
            write.done.set_exception(self._not_delivered(revision))

    def _not_delivered(self, revision: int) -> StoreUnavailable:
        return StoreUnavailable(
            f"{self._options} has revision {revision}, but did not deliver it in {self._options.timeout_s} s"
        )

    def _spawn(self, work: Awaitable[Any]) -> asyncio.Future[Any]:
        """Do something that has to wait, beside everything else."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

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

    def _connection_nowait(self) -> Connection | None:
        """The connection, if there is one now."""
        connected = self._connected
        is_there = connected.done() and not connected.cancelled() and connected.exception() is None
        return connected.result() if is_there else None

    async def _connection(self) -> Connection:
        """The connection, waiting for it if need be."""
        clock = asyncio.get_running_loop().time
        deadline, progress = clock() + self._options.timeout_s, self._progress
        while not self._connected.done():
            # The future is replaced when the connection is lost.
            await asyncio.wait([self._connected], timeout=deadline - clock())
            if clock() >= deadline:
                if self._progress == progress:
                    raise type(self._trouble)(*self._trouble.args)
                deadline, progress = clock() + self._options.timeout_s, self._progress
        return self._connected.result()

    async def _read(self) -> None:
        """Make quorum reads for as long as somebody waits for one."""
        while self._readers:
            self._being_served, self._readers = self._readers, []
            failure: StoreError | None = None
            try:
                await self._reach(await self._written())
            except StoreError as error:
                failure = error
            self._end_reads(failure)
        self._is_reading = False

    def _end_reads(self, failure: StoreError | None) -> None:
        for read in self._being_served:
            if read.done():
                continue
            if failure is None:
                read.set_result(None)
            else:
                read.set_exception(type(failure)(*failure.args))
        self._being_served = []

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
        reached: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._behind, (revision, next(self._ticket), reached, None))
        progress = self._progress
        while not (await asyncio.wait([reached], timeout=self._options.timeout_s))[0]:
            if self._progress == progress:
                raise self._not_delivered(revision)
            progress = self._progress
        reached.result()

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
                self._connected.add_done_callback(retrieved)
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
            self._connected.add_done_callback(retrieved)

    async def _follow(self, connection: Connection) -> None:
        """Bring the mirror up and keep it so, until the connection fails."""
        head = await connection.range(self._layout.head_request())
        newest = head.header.revision
        if not self._is_loaded or newest < self._followed:
            # The first time, or after etcd was restored from a backup.
            self._layout.begin(since(head))
            await self._load(connection, max(newest - self._history_limit, self._layout.since, 1))
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
                self._progress += 1
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

        def take(responses: Sequence[pb.WatchResponse]) -> None:
            commits = []
            self._progress += 1
            head = self._mvcc.head
            for response in responses:
                for revision, changed in self._layout.changes(response.events):
                    commits.append(head.applied(revision, changed))
                    head = commits[-1].view
            if commits:
                self._publish(commits)
                self._followed = self.revision // PLACES
                self._wake()
            if self.claimed is not None:
                for response in responses:
                    for key in self._layout.claimed(response.events, self._name):
                        self.claimed(key)
            if not self._connected.done():
                self._connected.set_result(connection)

        await self._responses(connection, self._followed, take)

    async def _responses(
        self, connection: Connection, after: int, take: Callable[[Sequence[pb.WatchResponse]], None]
    ) -> NoReturn:
        """Hand over the responses of a watch; it ends with an error, if only because the stream was closed."""
        stream = connection.watch()
        try:
            stream.write(self._layout.watch_request(after))
            while responses := await stream.read():
                for last, response in enumerate(responses):
                    if response.compact_revision or response.canceled:
                        take(responses[:last])
                        if response.compact_revision:
                            raise _CompactedAway(response.compact_revision)
                        raise StoreUnavailable(f"{self._options} ended the watch: {response.cancel_reason}")
                take(responses)
        finally:
            stream.cancel()
        raise StoreUnavailable(f"{self._options} closed the watch")

    def _wake(self) -> None:
        """Tell those who waited for the mirror to come this far."""
        while self._behind and self._behind[0][0] <= self.revision:
            revision, _, reached, write = heapq.heappop(self._behind)
            if write is not None:
                self._end(write)
            if not reached.done():
                reached.set_result(revision)
