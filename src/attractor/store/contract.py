"""What every store owes its callers.

    StoreError
    ├── Stale             a compared key is at another revision: read again
    ├── Compacted         the revision is no longer kept: start over
    ├── FutureRevision    the revision is not there yet
    ├── TooLarge          the engine takes no transaction of that size; nothing was written
    ├── Unsure            a guess cannot show that: take a draft
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
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import msgspec

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Generator, Mapping, Sequence
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


class Unsure(StoreError):
    """A guess was asked for something that could not be compared when it is committed."""


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


class Pending(Protocol):
    """The revision of a write that is on its way; the event loop's futures are such."""

    def result(self) -> int:
        """The revision, once the write is durable; raises as ``commit`` does."""
        ...

    def __await__(self) -> Generator[Any, None, int]:
        """Wait for it."""
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


class Store(Protocol):
    """A store, used from one event loop."""

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

    async def draft(self) -> Snapshot:
        """What a write may rest on: ``snapshot``, and on top of it the writes of this process that are on their way.

        A write planned on it follows them instead of losing to them. They may still fail, so whoever answers from a
        draft without writing anything asks ``settled`` first. Where only the engine can tell the revision of a write
        on its way, a number below zero stands for it, which ``commit`` understands and nobody else should see.
        """
        ...

    async def settled(self, draft: Snapshot) -> bool:
        """Wait until all that a draft shows is durable; False when some of it failed, so that the draft never was.

        False also when it has shown a number that only stood for a revision: take a ``snapshot`` then. To be asked in
        the step of the event loop in which the draft was taken. Waits for the engine alone: for what becomes of the
        writes that were shown, not for what is done ``again`` after one was lost. A guess may be asked about, too.
        """
        ...

    def snapshot_nowait(self) -> Snapshot:
        """What this process knows now; on a shared engine it may lag behind other processes."""
        ...

    def snapshot_at(self, revision: int) -> Snapshot:
        """Exactly that revision; raises ``Compacted`` or ``FutureRevision``."""
        ...

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

    def draft_nowait(self) -> Snapshot | None:
        """The draft, for whoever goes on to ``commit_on`` it without waiting; None where others write, too."""
        ...

    def commit_on(
        self, draft: Snapshot, compares: Mapping[str, int], *, puts: Mapping[str, bytes], deletes: Collection[str] = ()
    ) -> int | Pending:
        """``commit``, in the step of the event loop in which ``draft_nowait`` answered what everything was read from.

        Nobody has written since, so nothing is compared: ``compares`` only tells what is known of the keys that are
        put. Answers the new revision, or its future while it is on its way; both raise as ``commit`` does, but never
        ``Stale``. Cancelling the future does not take the write back.
        """
        ...

    def guess(self) -> Snapshot | None:
        """On an engine that others write to: what a write may be tried on without asking; else None.

        It shows what this process knows and its own writes on their way, and raises ``Unsure`` when it is asked for
        what ``commit_guess`` could not compare. For one step of the event loop; nothing may be answered from it.
        """
        ...

    def commit_guess(
        self,
        guess: Snapshot,
        *,
        puts: Mapping[str, bytes],
        deletes: Collection[str] = (),
        again: Callable[[Stale], Awaitable[int]] | None = None,
    ) -> Pending:
        """Write, if all that the guess has shown is so; else do it ``again`` in another way, and answer what that does.

        To be called in the step of the event loop in which the guess was taken. Raises ``Stale`` when it is known
        already that it will not do; the answer raises as ``commit`` does, but ``Stale`` only if ``again`` does or there
        is none.
        """
        ...

    def watch(self, prefix: str, *, after: int) -> AbstractAsyncContextManager[Watch]:
        """All events after that revision under a prefix, in order, in batches that never split a revision.

        Entering raises ``Compacted`` or ``FutureRevision``. A watcher that falls too far behind gets ``Compacted``
        later; it never slows others down. Leaving the context ends the watch at once.
        """
        ...

    def events_after(self, prefix: str, after: int, *, limit: int = 0) -> Batch:
        """What a watcher at that revision has to read now, without waiting; the batch may be empty.

        With a limit it stops at the first whole revision that reaches it. Raises as entering ``watch`` does.
        """
        ...

    def subscribe(self, prefix: str, heard: Callable[[int], None]) -> Callable[[], None]:
        """Call ``heard`` whenever there is something new under a prefix; the answer ends the subscription.

        ``heard`` gets the first new revision that matters, once for all transactions that became durable together; 0
        means that the history broke off, so that ``events_after`` will raise ``Compacted``. It must not block or raise.
        """
        ...

    async def compact(self, revision: int) -> None:
        """Forget history below that revision; the newest state is always kept. Compacting less than before is no-op."""
        ...

    async def aclose(self) -> None:
        """Finish running writes, end watches, and let go of files and connections."""
        ...
