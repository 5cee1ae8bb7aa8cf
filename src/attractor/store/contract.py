"""The contract of a store: reader, writer and watch; speculative commit is a capability that an engine may have.

    StoreError
    ├── Stale             a compared key is at another revision: read again
    ├── Compacted         the revision is no longer kept: start over
    ├── FutureRevision    the revision is not there yet
    ├── TooLarge          the engine takes no transaction of that size; nothing was written
    ├── Unverifiable      a draft cannot show that: take a snapshot
    ├── StoreFull         no space; nothing was written, reads go on
    ├── StoreUnavailable  the engine cannot be reached; whether a write in flight happened is unknown
    └── StoreUnusable     the store cannot be opened: the text says what is wrong and what to do

Worked example: on an empty store, ``commit({"a": 0}, puts={"a": b"1"})`` answers revision 1; the same again raises
``Stale`` for ``a`` (it is at 1 now); ``commit({"a": 1}, deletes={"a"})`` answers 2. A watch after 0 then sees
``Event(1, "a", b"1", None)`` and ``Event(2, "a", None, Entry("a", b"1", 1, 1))``; a snapshot at 1 still reads ``a``.
After ``compact(2)`` the snapshot at 1 and a watch after 0 or 1 raise ``Compacted``; a watch after 2 goes on.

Keys are text that is not empty and does not begin with U+0000; they are ordered by code point, which is the order of
their UTF-8 bytes. Revisions grow with each transaction. In memory and in SQLite they grow by one; in etcd they are
etcd's own, so that writes to keys of others leave gaps.

Speculative commit: a *draft* shows what is durable and, on top of it, this process's own writes that are still on
their way to the disk or to etcd. A write that is planned on a draft follows those writes instead of waiting for them or
losing to them. If one of them fails, so does every write that was planned on it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

import msgspec

if TYPE_CHECKING:
    import asyncio
    from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
    from contextlib import AbstractAsyncContextManager


class StoreError(Exception):
    """Anything that a store refuses or fails to do."""


class Stale(StoreError):
    """A compared key is not at the expected revision; nothing was written."""

    def __init__(self, keys: Collection[str]) -> None:
        self.keys = frozenset(keys)
        super().__init__(f"changed since it was read: {', '.join(sorted(self.keys))}; read again")


class Compacted(StoreError):
    """The asked revision is older than what is kept."""

    def __init__(self, asked: int, oldest: int) -> None:
        self.asked, self.oldest = asked, oldest
        super().__init__(f"revision {asked} is compacted, the oldest kept is {oldest}; start over from a snapshot")


class FutureRevision(StoreError):
    """The asked revision has not been written yet."""

    def __init__(self, asked: int, newest: int) -> None:
        self.asked, self.newest = asked, newest
        super().__init__(f"revision {asked} is in the future, the newest is {newest}")


class TooLarge(StoreError):
    """The engine takes no transaction of that size; nothing was written, and trying again is of no use."""


class Unverifiable(StoreError):
    """A draft was asked for something that ``commit_draft`` could not verify."""


class StoreFull(StoreError):
    """There is no space left; nothing of the transaction was written, and reads go on."""


class StoreUnavailable(StoreError):
    """The engine cannot be reached; a write in flight may or may not have happened."""


class StoreUnusable(StoreError):
    """The store cannot be opened, and will not be until somebody does something about it."""


class Entry(msgspec.Struct, frozen=True, gc=False):
    """A key's value at some snapshot, the revision that wrote it, and the one that created the key."""

    key: str
    value: bytes
    revision: int
    created: int


class Event(msgspec.Struct, frozen=True, gc=False):
    """One change: the new value (None when deleted), the entry before (None when created)."""

    revision: int
    key: str
    value: bytes | None
    previous: Entry | None


class Batch(NamedTuple):
    """All matching events after the last batch, up to and including ``revision``: the place to resume from."""

    revision: int
    events: Sequence[Event]


class Snapshot(Protocol):
    """The whole store at one revision; reading it never blocks and never changes."""

    @property
    def revision(self) -> int:
        """The revision that this snapshot shows."""
        ...

    def get(self, key: str) -> Entry | None:
        """The entry of a key."""
        ...

    def range(self, prefix: str, *, after: str = "", limit: int = 0) -> Sequence[Entry]:
        """Entries whose key starts with ``prefix`` and is greater than ``after``, in key order; 0 means no limit."""
        ...

    def has_any(self, prefix: str) -> bool:
        """Whether there is any key under a prefix."""
        ...

    def count(self, prefix: str, *, after: str = "") -> int:
        """How many entries such a range has; takes about as long as a ``get``, however many."""
        ...


class Watch(Protocol):
    """A running watch: an iterator of batches that ends when the store is closed."""

    @property
    def revision(self) -> int:
        """Every matching event up to here has been handed out; it moves on while others write elsewhere.

        This is the progress mark: a watch that resumes after it misses nothing.
        """
        ...

    def __aiter__(self) -> AsyncIterator[Batch]:
        """The watch itself."""
        ...

    async def __anext__(self) -> Batch:
        """The next batch, never empty."""
        ...


class Reader(Protocol):
    """The reading side of a store: snapshots of now and of earlier revisions."""

    @property
    def is_exclusive(self) -> bool:
        """Whether this process is the only one that writes: then ``snapshot_nowait`` is linearizable, too."""
        ...

    @property
    def revision(self) -> int:
        """The newest revision that this process knows to be durable."""
        ...

    @property
    def compacted(self) -> int:
        """Revisions below this one are no longer kept."""
        ...

    async def snapshot(self) -> Snapshot:
        """Linearizable: shows every write that anyone had acknowledged before the call."""
        ...

    def snapshot_nowait(self) -> Snapshot:
        """The newest state that this process knows; on a shared engine it may lag behind other processes."""
        ...

    def snapshot_at(self, revision: int) -> Snapshot:
        """Exactly that revision; raises ``Compacted`` or ``FutureRevision``."""
        ...


class Writer(Protocol):
    """The writing side of a store: transactions and compaction."""

    async def commit(
        self, compares: Mapping[str, int], *, puts: Mapping[str, bytes], deletes: Collection[str] = ()
    ) -> int:
        """Write all or nothing if every compared key is at its revision (0: absent); answer the new revision.

        Durable when it answers, and visible in every snapshot that is taken from then on. Raises ``Stale`` with the
        keys that differ, ``TooLarge``, ``StoreFull`` or ``StoreUnavailable``. Deleting an absent key changes nothing;
        a transaction that changes nothing takes no revision and answers the newest.

        A caller that is cancelled does not take its write back: it may still happen.
        """
        ...

    async def compact(self, revision: int) -> None:
        """Forget history below that revision; the newest state is always kept. Compacting less than before is no-op."""
        ...


class Watchable(Protocol):
    """The watching side of a store: its events, in order."""

    def watch(self, prefix: str, *, after: int) -> AbstractAsyncContextManager[Watch]:
        """All events after that revision under a prefix, in order, in batches that never split a revision.

        Entering raises ``Compacted`` or ``FutureRevision``. A watcher that falls too far behind gets ``Compacted``
        later; it never slows others down. Leaving the context ends the watch at once.
        """
        ...

    def events_after(self, prefix: str, after: int, *, limit: int = 0) -> Batch:
        """The events that a watcher at that revision has to read now, without waiting; the batch may be empty.

        With a limit it stops at the first whole revision that reaches it. Raises as entering ``watch`` does.
        """
        ...

    def subscribe(self, prefix: str, heard: Callable[[int], None]) -> Callable[[], None]:
        """Call ``heard`` whenever there is something new under a prefix; the answer ends the subscription.

        ``heard`` gets the first new revision that matters, once for all transactions that became durable together; 0
        means that the history broke off, so that ``events_after`` will raise ``Compacted``. It must not block or raise.
        """
        ...


class Store(Reader, Writer, Watchable, Protocol):
    """A store, used from one event loop."""

    async def aclose(self) -> None:
        """Finish running writes, end watches, and let go of files and connections."""
        ...


@runtime_checkable
class Claimant(Protocol):
    """Claims, the optional capability of a shared engine: a server that always loses asks the others to give way."""

    claimed: Callable[[str], None] | None
    """Called with a key that another server claims."""

    def claim(self, key: str) -> None:
        """Ask the other servers to leave a key alone for a few writes' time; they may or may not hear of it."""
        ...


@runtime_checkable
class SpeculativeWriter(Protocol):
    """Speculative commit, the optional capability of an engine: plan a write on writes that are still on their way.

    A draft is good for the step of the event loop in which it was answered: read it, then ``commit_draft`` or
    ``settled``, without waiting in between. On an exclusive engine a draft is exact. On a shared engine it may lag
    behind other processes, so nothing may be answered from it, and the engine compares all that it has shown.
    """

    def draft_nowait(self) -> Snapshot | None:
        """The draft on what this process knows; None while the engine cannot be reached.

        On a shared engine, reading it raises ``Unverifiable`` for what the engine could not compare.
        """
        ...

    async def draft(self) -> Snapshot:
        """The draft on a linearizable snapshot, to be written with ``commit``.

        Its writes may still fail, so whoever answers from it without writing anything asks ``settled`` first. Where
        only the engine can tell the revision of a write on its way, a placeholder below zero stands for it, which
        ``commit`` understands and nobody else should see.
        """
        ...

    def commit_draft(
        self,
        draft: Snapshot,
        *,
        puts: Mapping[str, bytes],
        deletes: Collection[str] = (),
        again: Callable[[Stale], Awaitable[Any]] | None = None,
    ) -> int | asyncio.Future[Any]:
        """Commit speculatively on what ``draft_nowait`` has just answered; on conflict call ``again``.

        Answers the new revision, or its future while the write is on its way; both raise as ``commit`` does. On
        conflict the future brings what ``again`` answers, or raises ``Stale`` if there is no ``again``; an exclusive
        engine has no conflicts. Raises ``Stale`` at once where the engine could not compare all that the draft has
        shown. Cancelling the future does not take the write back.
        """
        ...

    async def settled(self, draft: Snapshot) -> bool:
        """Wait until all that a draft shows is durable; False when some of it failed, so that the draft never was.

        False also when it has shown a placeholder for a revision: take a ``snapshot`` then. Waits for the engine alone:
        for what becomes of the writes that were shown, not for what is done ``again`` after a conflict.
        """
        ...
