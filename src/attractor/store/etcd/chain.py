"""This server's own writes that are on their way to etcd, and drafts that show them.

A write that rests on another one of this server need not wait until it has run: it is worked out on the value that is
being written, and only its sending waits for the answer to the other, because etcd compares revisions, and that answer
tells the revision. Until then a *mark* stands for it: a number below zero, which nobody outside can know::

    one = chain.begin({"a": 7}, {"a": b"x"}, ())      # in flight, planned on revision 7
    draft.get("a")                                    # Entry("a", b"x", MARK, ...)
    two = chain.begin({"a": MARK}, {"a": b"y"}, ())   # rests on it: sent once ``one`` is answered, with its revision
    chain.answered(one, 9)                            # ``two`` compares "a" with 9
    chain.lost(one)                                   # or: ``two`` is stale without being sent

What a draft shows of others is what its view shows, and ranges are the view's alone.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, NamedTuple

from attractor.store.contract import Entry, Stale

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Collection, Mapping, Sequence

    from attractor.store.mvcc import View

FIRST_MARK = -(10**17)
"""Marks go down from here: so long that no value contains the digits of one by chance."""


class Write:
    """One write on its way."""

    __slots__ = ("answer", "keys", "rests_on", "revision")

    def __init__(
        self, mark: int, keys: tuple[str, ...], rests_on: dict[str, Write], answer: asyncio.Future[None]
    ) -> None:
        self.revision = mark
        """The mark, until etcd has answered; then the revision."""
        self.keys = keys
        """Those under which drafts show it."""
        self.rests_on = rests_on
        """By key, the writes whose values this one was worked out on and that were not answered then."""
        self.answer = answer
        """Done when etcd has answered; cancelled when the write was lost, or nobody knows."""


class _Newest(NamedTuple):
    write: Write
    value: bytes | None
    created: int


class Chain:
    """The newest own write of each key, for as long as the mirror does not show it."""

    def __init__(self) -> None:
        self._marks = itertools.count(FIRST_MARK, -1)
        self._newest: dict[str, _Newest] = {}

    def get(self, key: str, view: View) -> tuple[Entry | None, Write | None]:
        """What a draft on that view shows of a key, and the own write that it is from, if it is from one."""
        newest = self._newest.get(key)
        if newest is None or 0 < newest.write.revision <= view.revision:
            return view.get(key), None
        write, value, created = newest
        return (None if value is None else Entry(key, value, write.revision, created)), write

    def begin(
        self,
        view: View,
        compares: Mapping[str, int],
        puts: Mapping[str, bytes],
        deletes: Collection[str],
        make_answer: Callable[[], asyncio.Future[None]],
    ) -> Write:
        """Take in a write; it is shown where it follows what drafts show now. Raises ``Stale`` for an unknown mark."""
        rests_on: dict[str, Write] = {}
        follows: dict[str, Entry | None] = {}
        for key, compared in compares.items():
            entry, write = self.get(key, view)
            if compared == (0 if entry is None else entry.revision):
                follows[key] = entry
                if write is not None and write.revision < 0:
                    rests_on[key] = write
            elif compared < 0:
                raise Stale([key])
        marks = [str(-write.revision).encode() for write in rests_on.values()]
        if marks and any(mark in value for mark in marks for value in puts.values()):
            # Somebody wants to keep the resourceVersion of what this rests on, which nobody knows yet.
            raise Stale(rests_on)
        keys = tuple(key for key in (*puts, *deletes) if key in follows or key not in self._newest)
        write = Write(next(self._marks), keys, rests_on, make_answer())
        for key in keys:
            before = follows.get(key)
            self._newest[key] = _Newest(write, puts.get(key), 0 if before is None else before.created)
        return write

    def answered(self, write: Write, revision: int) -> None:
        """Etcd has taken a write, at that revision."""
        write.revision = revision
        if not write.answer.done():
            write.answer.set_result(None)

    def lost(self, write: Write) -> None:
        """A write has failed, or nobody knows: drafts show neither it nor what rests on it."""
        if not write.answer.done():
            write.answer.cancel()
        for key in write.keys:
            newest = self._newest.get(key)
            last = None if newest is None else newest.write
            while last is not None and last is not write:
                last = last.rests_on.get(key)
            if last is not None:
                del self._newest[key]

    def ended(self, write: Write) -> None:
        """The mirror shows a write."""
        for key in write.keys:
            newest = self._newest.get(key)
            if newest is not None and newest.write is write:
                del self._newest[key]

    @property
    def is_empty(self) -> bool:
        """Whether nothing is on its way."""
        return not self._newest


class Draft:
    """A view of what is durable, and on top of it the own writes on their way; for one step of the event loop."""

    __slots__ = ("_chain", "_view", "seen")

    def __init__(self, view: View, chain: Chain) -> None:
        self._view = view
        self._chain = chain
        self.seen: list[Write] = []
        """The own writes that were shown."""

    @property
    def revision(self) -> int:
        """The revision of what is durable."""
        return self._view.revision

    def get(self, key: str) -> Entry | None:
        """The entry of a key; of one that is on its way, the revision is a mark."""
        entry, write = self._chain.get(key, self._view)
        if write is not None:
            self.seen.append(write)
        return entry

    def range(self, prefix: str, *, after: str = "", limit: int = 0) -> Sequence[Entry]:
        """Durable entries under a prefix."""
        return self._view.range(prefix, after=after, limit=limit)

    def has_any(self, prefix: str) -> bool:
        """Whether there is any durable key under a prefix."""
        return self._view.has_any(prefix)

    def count(self, prefix: str, *, after: str = "") -> int:
        """How many durable entries such a range has."""
        return self._view.count(prefix, after=after)
