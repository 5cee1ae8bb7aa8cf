"""This server's own writes that are on their way to etcd, and drafts that show them; pure.

A write that rests on another one of this server need not wait until it has run: it is worked out on the value that is
being written, and only its sending waits for the answer to the other, because etcd compares revisions, and that answer
tells the revision. Until then a *placeholder* stands for it: a number below zero, which nobody outside can know::

    one = chain.begin(view, Change({"a": 7}, {"a": b"x"}), done)       # in flight, planned on revision 7
    draft.get("a")                                                     # Entry("a", b"x", PLACEHOLDER, ...)
    two = chain.begin(view, Change({"a": PLACEHOLDER}, {"a": b"y"}), done)   # rests on it, and waits
    chain.answered(one, 9)                                             # [two]: to be sent, comparing "a" with 9
    chain.lost(one)                                                    # or [two]: stale without being sent

What a draft shows of others is what its view shows, and ranges are the view's alone.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, NamedTuple

from attractor.store.contract import Entry, Stale, Unverifiable
from attractor.store.etcd.layout import PLACES

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence

    from attractor.store.mvcc import View

FIRST_PLACEHOLDER = -(10**17)
"""Placeholders go down from here: so long that no value contains the digits of one by chance."""

NOWHERE = -1
"""Compared instead of a revision of the same transaction but of another place, which etcd could not tell apart."""


class Change(NamedTuple):
    """A transaction: its puts and deletes, and what it compares."""

    compares: Mapping[str, int]
    puts: Mapping[str, bytes]
    deletes: Collection[str] = ()
    absent: Collection[str] = ()
    """Prefixes under which there must be no key."""
    again: Callable[[Stale], Awaitable[Any]] | None = None
    """What to do on conflict, and to answer instead of a revision."""


class Write:
    """One write on its way."""

    __slots__ = ("change", "checked", "done", "ended", "followers", "keys", "left", "rests_on", "revision", "timer")

    def __init__(self, change: Change, placeholder: int, done: asyncio.Future[int]) -> None:
        self.change = change
        self.done = done
        """Done when the mirror shows the write, or it has failed, and what is done ``again`` instead has ended, too."""
        self.ended: asyncio.Future[None] | None = None
        """Done when the mirror shows the write or it has failed; there only when somebody waits for that."""
        self.revision = placeholder
        """The placeholder, until etcd has answered; then the revision."""
        self.keys: tuple[str, ...] = ()
        """Those under which drafts show it."""
        self.rests_on: dict[str, Write] = {}
        """By key, the writes whose values this one was worked out on and that were not answered then."""
        self.left = 0
        """How many of them have not been answered yet; below zero once the write itself is lost."""
        self.followers: list[Write] = []
        """Those that rest on this one."""
        self.checked: dict[str, int] = {}
        """The revisions that were compared when it was sent."""
        self.timer: asyncio.TimerHandle | None = None

    def ending(self) -> asyncio.Future[None]:
        """A future that is done when the mirror shows the write, or it has failed."""
        if self.ended is None:
            self.ended = self.done.get_loop().create_future()
        return self.ended

    def compares(self) -> dict[str, int]:
        """The revisions to compare, placeholders replaced; where a write deleted the key, that is 0 as ever."""
        rests_on = self.rests_on
        return {
            key: rests_on[key].revision if compared < 0 and key in rests_on else compared
            for key, compared in self.change.compares.items()
        }


class _Newest(NamedTuple):
    write: Write
    value: bytes | None
    created: int


class Chain:
    """The newest own write of each key, for as long as the mirror does not show it."""

    def __init__(self) -> None:
        self._placeholders = itertools.count(FIRST_PLACEHOLDER, -1)
        self._newest: dict[str, _Newest] = {}

    def get(self, key: str, view: View) -> tuple[Entry | None, Write | None]:
        """The entry of a key in a draft on that view, and the own write that it is from, if it is from one."""
        newest = self._newest.get(key)
        if newest is None or 0 < newest.write.revision <= view.revision:
            return view.get(key), None
        write, value, created = newest
        return (None if value is None else Entry(key, value, write.revision, created)), write

    def begin(self, view: View, change: Change, done: asyncio.Future[int]) -> Write:
        """Take in a write; drafts show it where it follows what they show. Raises ``Stale`` for a kept placeholder."""
        rests_on: dict[str, Write] = {}
        follows: dict[str, Entry | None] = {}
        misplaced: dict[str, int] = {}
        for key, compared in change.compares.items():
            entry, write = self.get(key, view)
            if compared == (0 if entry is None else entry.revision):
                follows[key] = entry
                if write is not None and write.revision < 0:
                    rests_on[key] = write
            elif compared > 0 and entry is not None and compared // PLACES == entry.revision // PLACES:
                misplaced[key] = NOWHERE
            # A placeholder of a write that was lost is no revision of anything: etcd will say that it differs.
        if misplaced:
            change = change._replace(compares={**change.compares, **misplaced})
        if rests_on:
            shown = [str(-write.revision).encode() for write in rests_on.values()]
            if any(digits in value for digits in shown for value in change.puts.values()):
                # Somebody wants to keep the resourceVersion of what this rests on, which nobody knows yet.
                raise Stale(rests_on)
        begun = Write(change, next(self._placeholders), done)
        if rests_on:
            begun.rests_on = rests_on
            others = {id(write): write for write in rests_on.values()}
            begun.left = len(others)
            for other in others.values():
                other.followers.append(begun)
        newest = self._newest
        begun.keys = tuple(key for key in (*change.puts, *change.deletes) if key in follows or key not in newest)
        for key in begun.keys:
            before = follows.get(key)
            newest[key] = _Newest(begun, change.puts.get(key), 0 if before is None else before.created)
        return begun

    def answered(self, write: Write, revision: int) -> list[Write]:
        """Etcd has taken a write, at that revision; answers those that can be sent now."""
        write.revision = revision
        write.rests_on = {}
        followers, write.followers = write.followers, []
        ready = []
        for follower in followers:
            if follower.left > 0:
                follower.left -= 1
                if not follower.left:
                    ready.append(follower)
        return ready

    def lost(self, write: Write) -> list[Write]:
        """A write has failed, or nobody knows; drafts do not show it any more. Answers those that are lost with it."""
        for key in write.keys:
            newest = self._newest.get(key)
            last = None if newest is None else newest.write
            while last is not None and last is not write:
                last = last.rests_on.get(key)
            if last is not None:
                del self._newest[key]
        write.keys, write.left = (), -1
        followers, write.followers = write.followers, []
        return [follower for follower in followers if follower.left > 0]

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
        """The entry of a key; of one that is on its way, the revision is a placeholder."""
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


class RecordingDraft(Draft):
    """A draft on the mirror, which may lag: records all that was read, so that etcd can compare it.

    Etcd can compare keys, and that there are none under a prefix, and no more than that: ``Unverifiable`` is raised
    instead of showing anything else.
    """

    __slots__ = ("absent", "read")

    def __init__(self, view: View, chain: Chain) -> None:
        super().__init__(view, chain)
        self.read: dict[str, int] = {}
        self.absent: set[str] = set()

    def get(self, key: str) -> Entry | None:
        """The entry of a key; it will be compared."""
        entry, write = self._chain.get(key, self._view)
        if write is not None:
            self.seen.append(write)
        self.read[key] = 0 if entry is None else entry.revision
        return entry

    def range(self, prefix: str, *, after: str = "", limit: int = 0) -> Sequence[Entry]:
        """No entries, if there are none under the prefix."""
        self._check_absent(prefix)
        return ()

    def has_any(self, prefix: str) -> bool:
        """False, if there is no key under a prefix."""
        self._check_absent(prefix)
        return False

    def count(self, prefix: str, *, after: str = "") -> int:
        """Zero, if there is no key under a prefix."""
        self._check_absent(prefix)
        return 0

    def _check_absent(self, prefix: str) -> None:
        if self._view.has_any(prefix):
            raise Unverifiable
        self.absent.add(prefix)


def pass_on(done: asyncio.Future[int], ended: asyncio.Future[int]) -> None:
    """Let one end as the other did."""
    if done.done():
        retrieved(ended)
    elif ended.cancelled():
        done.cancel()
    elif (error := ended.exception()) is not None:
        done.set_exception(error)
    else:
        done.set_result(ended.result())


def retrieved(ended: asyncio.Future[Any]) -> None:
    """Look at the outcome, so that asyncio does not complain when every caller has gone."""
    if not ended.cancelled():
        ended.exception()
