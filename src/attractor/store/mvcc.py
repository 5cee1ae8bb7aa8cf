"""Multi-version state: the sans-I/O core of every engine.

A ``View`` is the whole store at one revision: an immutable sorted map and a number. ``View.plan`` checks a transaction
against it and answers the view after and the events between, without changing anything. ``Mvcc`` strings such commits
into a history that is kept back to a floor::

    mvcc = Mvcc()
    commit = mvcc.head.plan({"a": 0}, {"a": b"1"})    # Commit(view at 1, (Event(1, "a", b"1", None),))
    mvcc.append(commit)
    fork = mvcc.fork()                                # O(1), history included; both go their own way from here

So an engine may plan on a view of its own that is ahead of what is durable, and append once it is; throwing that view
away is the whole rollback.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING, NamedTuple

from attractor.store.contract import Batch, Compacted, Entry, Event, FutureRevision, Stale
from attractor.store.sorted_map import SortedMap, prefix_end

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

HISTORY_LIMIT = 10_000
"""Revisions kept by default: minutes of a busy control plane, and some megabytes of objects' earlier values."""

HISTORY_BYTES = 64 << 20
"""Earlier values kept at most, whatever the number of revisions: large objects have a shorter history."""

CHUNK = 64
"""Commits that share one kept view; reading an older revision undoes at most so many."""

CHUNKS = 16
"""Into so many chunks, at least, the bytes of a full history are cut, so that little is forgotten at a time."""

REMEMBERED_ABSENT = 8
"""Of so many prefixes a view remembers that nothing is there."""

_FIRST_KEY = "\x01"
"""Every key is at least this: not empty, and U+0000 is the engines' own."""


class View:
    """The store at one revision; immutable."""

    __slots__ = ("_absent", "entries", "revision")

    def __init__(self, revision: int, entries: SortedMap[Entry], absent: tuple[str, ...] = ()) -> None:
        self.revision = revision
        self.entries = entries
        self._absent = absent
        """Prefixes that are known to have no keys, here or in the view before with nothing written under them since."""

    def get(self, key: str) -> Entry | None:
        """The entry of a key."""
        return self.entries.get(key)

    def range(self, prefix: str, *, after: str = "", limit: int = 0) -> Sequence[Entry]:
        """Entries whose key starts with ``prefix`` and is greater than ``after``, in key order; 0 means no limit."""
        return self.entries.values(_low(prefix, after), prefix_end(prefix), limit)

    def has_any(self, prefix: str) -> bool:
        """Whether there is any key under a prefix; that there is none is remembered from view to view."""
        if prefix in self._absent:
            return False
        if self.entries.values(prefix, prefix_end(prefix), 1):
            return True
        if len(self._absent) < REMEMBERED_ABSENT:
            self._absent = (*self._absent, prefix)
        return False

    def count(self, prefix: str, *, after: str = "") -> int:
        """How many entries such a range has."""
        high = prefix_end(prefix)
        end = len(self.entries) if high is None else self.entries.rank(high)
        return max(end - self.entries.rank(_low(prefix, after)), 0)

    def plan(self, compares: Mapping[str, int], puts: Mapping[str, bytes], deletes: Collection[str] = ()) -> Commit:
        """What a transaction does to this view; a commit without events changes nothing. Raises ``Stale``."""
        entries = self.entries
        for key, revision in compares.items():
            entry = entries.get(key)
            if revision != (0 if entry is None else entry.revision):
                raise Stale([key for key, revision in compares.items() if _revision(entries.get(key)) != revision])
        return self.planned(puts, deletes)

    def planned(self, puts: Mapping[str, bytes], deletes: Collection[str] = ()) -> Commit:
        """``plan`` for a transaction that has read this very view, so that there is nothing to compare."""
        entries, absent = self.entries, self._absent
        revision = self.revision + 1
        events = []
        check_transaction(puts, deletes)
        for key, value in puts.items():
            if absent and key.startswith(absent):
                absent = ()
            place = entries.place(key)
            before = place[3]
            entry = Entry(key, value, revision, before.created if before is not None else revision)
            entries = entries.set_at(place, key, entry)
            events.append(Event(revision, key, value, before))
        for key in deletes:
            before = entries.get(key)
            if before is not None:
                entries = entries.delete(key)
                events.append(Event(revision, key, None, before))
        return Commit(View(revision, entries, absent), tuple(events)) if events else Commit(self, ())

    def applied(self, revision: int, changes: Mapping[str, Entry | None]) -> Commit:
        """What a transaction did that was decided elsewhere; None deletes the key."""
        entries = self.entries
        events = []
        for key, entry in changes.items():
            before = entries.get(key)
            if entry is not None:
                entries = entries.set(key, entry)
                events.append(Event(revision, key, entry.value, before))
            elif before is not None:
                entries = entries.delete(key)
                events.append(Event(revision, key, None, before))
        return Commit(View(revision, entries), tuple(events))

    def before(self, revision: int, commits: Sequence[Commit]) -> View:
        """The view at an earlier revision, by undoing the commits that led from there to here."""
        entries = self.entries
        for commit in reversed(commits):
            for event in reversed(commit.events):
                previous = event.previous
                entries = entries.delete(event.key) if previous is None else entries.set(event.key, previous)
        return View(revision, entries)

    def check_invariants(self) -> None:
        """Keys match their entries, and nothing is newer than the view."""
        self.entries.check_invariants()
        for key, entry in zip(self.entries.keys(), self.entries.values(), strict=True):
            assert entry.key == key >= _FIRST_KEY, "an entry is kept under another key"
            assert 0 < entry.created <= entry.revision <= self.revision, "an entry is newer than its view"
        for prefix in self._absent:
            assert not self.range(prefix, limit=1), "something is there that is said to be absent"


class Commit:
    """One transaction: the view that it led to, and what it changed."""

    __slots__ = ("events", "view")

    def __init__(self, view: View, events: tuple[Event, ...]) -> None:
        self.view = view
        self.events = events

    @property
    def revision(self) -> int:
        """The revision that it took."""
        return self.view.revision


class _Chunk(NamedTuple):
    """Some consecutive commits of which only the last still has its view; the others are found by undoing."""

    last: View
    revisions: tuple[int, ...]
    events: tuple[tuple[Event, ...], ...]
    size_bytes: int
    """Of the values that these commits replaced or deleted: only the history still holds them."""


class Mvcc:
    """The newest view and the history back to a floor.

    Worked example with ``history_limit=2`` (and chunks of one): after commits 1, 2, 3 the floor is 1. A view at 1 and
    events after 1 are there; a view at 0 and events after 0 raise ``Compacted``. In the same way ``history_bytes``
    bounds the sum of the values that the commits replaced.
    """

    __slots__ = (
        "_bytes_limit",
        "_chunks",
        "_chunks_bytes",
        "_chunks_revisions",
        "_limit",
        "_tail",
        "_tail_bytes",
        "compacted",
        "head",
    )

    def __init__(
        self, head: View | None = None, *, history_limit: int = HISTORY_LIMIT, history_bytes: int = HISTORY_BYTES
    ) -> None:
        if history_limit < 0:
            raise ValueError(f"history_limit is {history_limit}; give the number of revisions to keep, 0 or more")
        self.head = head or View(0, SortedMap())
        self.compacted = self.head.revision
        """The floor: the oldest revision that can be read, and the oldest after which all events are kept."""
        self._limit = history_limit
        self._bytes_limit = history_bytes
        # Both are immutable, so that a fork shares them: full chunks, oldest first, then fewer than CHUNK commits.
        self._chunks: tuple[_Chunk, ...] = ()
        self._tail: tuple[Commit, ...] = ()
        self._tail_bytes = 0
        self._chunks_revisions = self._chunks_bytes = 0

    def fork(self) -> Mvcc:
        """An independent copy, in O(1)."""
        copy = Mvcc.__new__(Mvcc)
        copy.head, copy.compacted, copy._limit = self.head, self.compacted, self._limit  # noqa: SLF001
        copy._chunks, copy._tail = self._chunks, self._tail  # noqa: SLF001
        copy._bytes_limit, copy._tail_bytes = self._bytes_limit, self._tail_bytes  # noqa: SLF001
        copy._chunks_revisions, copy._chunks_bytes = self._chunks_revisions, self._chunks_bytes  # noqa: SLF001
        return copy

    def append(self, commit: Commit) -> None:
        """Take in the next commit, planned on the head; forgets the oldest ones beyond the limit."""
        assert commit.view.revision > self.head.revision, "commits out of order"
        self.head = commit.view
        self._tail = tail = (*self._tail, commit)
        for event in commit.events:
            if event.previous is not None:
                self._tail_bytes += len(event.previous.value)
        if len(tail) >= CHUNK or self._tail_bytes * CHUNKS > self._bytes_limit:
            self._seal()

    def view_at(self, revision: int) -> View:
        """Exactly that revision; raises ``Compacted`` or ``FutureRevision``."""
        self.check_kept(revision)
        if revision == self.head.revision:
            return self.head
        if not self._tail or revision < self._tail[0].revision:
            place = bisect_left(self._chunks, revision, key=_last_revision)
            if place < len(self._chunks):
                chunk = self._chunks[place]
                undone = chunk.events[bisect_right(chunk.revisions, revision) :]
                return chunk.last.before(revision, [Commit(chunk.last, events) for events in undone])
        undo = [commit for commit in self._tail if commit.revision > revision]
        return self.head.before(revision, undo)

    def events_after(self, prefix: str, after: int, limit: int = 0) -> Batch:
        """Events after a revision under a prefix; with a limit, up to the first whole revision that reaches it."""
        self.check_kept(after)
        found: list[Event] = []
        tail, chunks = self._tail, self._chunks
        if chunks and after < chunks[-1].last.revision:
            for chunk in chunks[bisect_right(chunks, after, key=_last_revision) :]:
                start = bisect_right(chunk.revisions, after)
                for revision, events in zip(chunk.revisions[start:], chunk.events[start:], strict=True):
                    found += [event for event in events if event.key.startswith(prefix)]
                    if limit and len(found) >= limit:
                        return Batch(revision, tuple(found))
        for commit in tail[bisect_right(tail, after, key=_commit_revision) :]:
            found += [event for event in commit.events if event.key.startswith(prefix)]
            if limit and len(found) >= limit:
                return Batch(commit.revision, tuple(found))
        return Batch(self.head.revision, tuple(found))

    def compact(self, revision: int) -> None:
        """Raise the floor to that revision, unless it is there already; raises ``FutureRevision``."""
        if revision > self.head.revision:
            raise FutureRevision(revision, self.head.revision)
        if revision > self.compacted:
            self.compacted = revision
            keep = bisect_right(self._chunks, revision, key=_last_revision)
            for chunk in self._chunks[:keep]:
                self._chunks_revisions -= len(chunk.revisions)
                self._chunks_bytes -= chunk.size_bytes
            self._chunks = self._chunks[keep:]
            if not self._chunks:
                self._tail = tuple(commit for commit in self._tail if commit.revision > revision)
                self._tail_bytes = _replaced_bytes(self._tail)

    def check_kept(self, revision: int) -> None:
        """Raise ``Compacted`` or ``FutureRevision`` unless history is there from that revision on."""
        if revision < self.compacted:
            raise Compacted(revision, self.compacted)
        if revision > self.head.revision:
            raise FutureRevision(revision, self.head.revision)

    def check_invariants(self) -> None:
        """What holds between the head, the history and the floor."""
        self.head.check_invariants()
        assert self.compacted <= self.head.revision, "the floor is above the head"
        revisions = [revision for chunk in self._chunks for revision in chunk.revisions]
        revisions += [commit.revision for commit in self._tail]
        assert revisions == sorted(set(revisions)), "the history is out of order"
        assert not revisions or revisions[-1] == self.head.revision, "the history does not lead to the head"
        assert len(self._tail) < CHUNK, "the tail is not sealed"
        assert not self._chunks or self._chunks[0].last.revision > self.compacted, "a chunk below the floor is kept"
        assert len(revisions) < self._limit + 2 * CHUNK, "more history is kept than asked for"
        assert self._tail_bytes == _replaced_bytes(self._tail), "the bytes of the tail are miscounted"
        assert self._chunks_bytes <= self._bytes_limit, "more bytes are kept than asked for"
        counted = sum(chunk.size_bytes for chunk in self._chunks), sum(len(chunk.revisions) for chunk in self._chunks)
        assert counted == (self._chunks_bytes, self._chunks_revisions), "the history's size is miscounted"

    def _seal(self) -> None:
        revisions = tuple([commit.view.revision for commit in self._tail])
        events = tuple([commit.events for commit in self._tail])
        self._chunks = (*self._chunks, _Chunk(self.head, revisions, events, self._tail_bytes))
        self._chunks_revisions = kept = self._chunks_revisions + len(revisions)
        self._chunks_bytes = size_bytes = self._chunks_bytes + self._tail_bytes
        self._tail, self._tail_bytes = (), 0
        forgotten: _Chunk | None = None
        for chunk in self._chunks:
            if kept - len(chunk.revisions) < self._limit and size_bytes <= self._bytes_limit:
                break
            kept, size_bytes, forgotten = kept - len(chunk.revisions), size_bytes - chunk.size_bytes, chunk
        if forgotten is not None:
            self.compact(forgotten.last.revision)


def _replaced_bytes(commits: Sequence[Commit]) -> int:
    return sum(len(event.previous.value) for commit in commits for event in commit.events if event.previous)


def _last_revision(chunk: _Chunk) -> int:
    return chunk.last.revision


def _commit_revision(commit: Commit) -> int:
    return commit.view.revision


def _low(prefix: str, after: str) -> str:
    """The least key of a range: with the prefix, and greater than ``after``."""
    return max(prefix, after + "\x00") if after else prefix


def _revision(entry: Entry | None) -> int:
    return 0 if entry is None else entry.revision


def check_transaction(puts: Mapping[str, object], deletes: Collection[str]) -> None:
    """Raise ``ValueError`` or ``TypeError`` for a transaction that no engine could write."""
    for key, value in puts.items():
        if type(value) is not bytes:
            raise TypeError(f"the value of {key!r} is {type(value).__name__}; a store takes bytes")
        if key < _FIRST_KEY:
            raise ValueError(f"{key!r} cannot be a key: a key is not empty and does not begin with U+0000")
        if not key.isascii():
            key.encode()  # refuses lone surrogates
    for key in deletes:
        if key in puts:
            raise ValueError(f"{key!r} is both put and deleted in one transaction")
