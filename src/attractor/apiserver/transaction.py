"""``Transaction``: the reads and the writes of one attempt to answer a request.

Guarantees: reads come from one snapshot, overlaid with this transaction's own writes; every key that was read is
compared when the transaction commits, so a write never rests on something that changed meanwhile. Time, uids and
name suffixes are handed in, so that the same inputs give the same answer.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, NamedTuple, Protocol

from attractor.apiserver.admission.outside_calls import Answers
from attractor.store.contract import Compacted, Entry, Snapshot

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from attractor.apiserver.admission.outside_calls import Answer, Question
    from attractor.apiserver.request.operation import Operation


_NOTHING: frozenset[str] = frozenset()


class Source(Protocol):
    """Source of time, uids and randomness for transactions."""

    def now(self) -> str:
        """The time, as ``metav1.Time`` writes it."""
        ...

    def now_micro(self) -> str:
        """The time, as ``metav1.MicroTime`` writes it."""
        ...

    def uid(self) -> str:
        """A fresh uid."""
        ...

    def suffix(self) -> str:
        """Five characters that make a generated name unlikely to be taken."""
        ...

    def draw(self, below: int) -> int:
        """A number from 0 up to but not including ``below``, for allocations."""
        ...


class NotYet(Exception):
    """The request rests on something that a controller is about to create; run it again when ``key`` is there."""

    def __init__(self, key: str) -> None:
        self.key = key
        super().__init__(f"{key} is not there yet")


class Beforehand(Exception):
    """Other writes come first, each a commit of its own: perform them and run the request again.

    ``operations`` are named; a run after that finds the names of those that were performed in ``Transaction.done``.
    """

    def __init__(self, operations: Mapping[str, Operation]) -> None:
        self.operations = operations
        super().__init__(f"{', '.join(operations)} must be written first")


class Piece(NamedTuple):
    """One of several commits that a request makes, with a revision of its own."""

    puts: dict[str, bytes]
    deletes: set[str]


class Transaction:
    """One attempt to answer one request: reads from a snapshot or a draft, collects compares, puts and deletes."""

    __slots__ = (
        "_kept", "_now", "answers", "compares", "deletes", "done", "history", "may_wait", "pieces", "puts", "snapshot",
        "source", "warnings",
    )  # fmt: skip

    def __init__(
        self,
        snapshot: Snapshot,
        source: Source,
        history: Callable[[int], Snapshot] | None = None,
        answers: Answers | None = None,
        *,
        may_wait: bool = False,
    ) -> None:
        self.snapshot = snapshot
        self.source = source
        self.history = history
        self.answers = answers
        self.warnings: dict[str, None] = {}
        """Warnings for the caller, given whether or not the request succeeds; an ordered set."""
        self.may_wait = may_wait
        """Whether the driver runs the request again when the core raises ``NotYet``."""
        self.done: AbstractSet[str] = _NOTHING
        """Which writes of a ``Beforehand`` were performed for this request."""
        self.compares: dict[str, int] = {}
        self.puts: dict[str, bytes] = {}
        self.deletes: set[str] = set()
        self.pieces: list[Piece] | None = None
        """All that is written, as commits of their own in this order; None when it is one commit."""
        self._kept: dict[str, bytes] | None = None
        self._now = ""

    @property
    def now(self) -> str:
        """The time of this transaction; it does not move while the transaction runs."""
        if not self._now:
            self._now = self.source.now()
        return self._now

    @property
    def revision(self) -> int:
        """The revision that reads show."""
        return self.snapshot.revision

    def at(self, revision: int) -> Snapshot:
        """The store at an earlier revision; raises the store's ``Compacted`` when it is no longer kept."""
        if revision == self.snapshot.revision:
            return self.snapshot
        if self.history is None:
            raise Compacted(revision, self.snapshot.revision)
        return self.history(revision)

    def get(self, key: str) -> Entry | None:
        """The entry of a key; it will be compared at commit."""
        if key in self.deletes:
            return None
        entry = self.snapshot.get(key)
        self.compares[key] = entry.revision if entry else 0
        written = self.puts.get(key)
        if written is not None:
            return Entry(key, written, self.revision, entry.created if entry else 0)
        return entry

    def ask(self, questions: Sequence[Question]) -> list[Answer]:
        """The outside's answers; raises ``NeedsAnswers`` for those that nobody has given yet."""
        return (self.answers or Answers()).get(questions)

    def warn(self, *texts: str) -> None:
        """Tell the caller something, each thing once."""
        for text in texts:
            self.warnings[text] = None

    def range(self, prefix: str, *, after: str = "", limit: int = 0) -> Sequence[Entry]:
        """Entries under a prefix, as of the snapshot; not compared."""
        return self.snapshot.range(prefix, after=after, limit=limit)

    def has_any(self, prefix: str) -> bool:
        """Whether the snapshot has anything under a prefix."""
        return self.snapshot.has_any(prefix)

    def put(self, key: str, value: bytes) -> None:
        """Write a value."""
        self.deletes.discard(key)
        self.puts[key] = value

    def delete(self, key: str) -> None:
        """Remove a key."""
        self.puts.pop(key, None)
        self.deletes.add(key)

    def keep(self) -> None:
        """Have what is written so far stay even if the request is refused."""
        self._kept = dict(self.puts)

    def refuse(self) -> None:
        """Forget what was written, but for what stays."""
        self.puts = dict(self._kept or {})
        self.deletes = set()
        self.pieces = None

    @property
    def is_dirty(self) -> bool:
        """Whether there is anything to commit."""
        return bool(self.puts or self.deletes)
