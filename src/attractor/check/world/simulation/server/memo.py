"""The API server's work, remembered: the same request on the same contents has the same answer and the same writes.

A step that sends a request is run once for each combination of all that it reads: how far watches lag and what caches
hold, besides the few objects that the request is about. What the server makes of the request depends on those objects
alone, and on the clock. So each look of the server's core at the store or the clock is noted with what it showed, and
next time the same looks are taken one after the other: where they show the same, the outcome is known.

The looks are taken in the same order as the core took them, so the step reads the same slots as if it had been run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

from attractor.apiserver.transaction import Transaction
from attractor.check.world.simulation.server.storage import WorldSnapshot, root_of

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from attractor.apiserver.admission.outside_calls import Answers
    from attractor.apiserver.transaction import Source
    from attractor.check.world.simulation.server.storage import Storage
    from attractor.store.contract import Entry

T = TypeVar("T")
Question: TypeAlias = tuple[Any, ...]


class _Looked:
    """A look, and what follows from each thing that it showed: the next look, or the outcome."""

    __slots__ = ("follows", "question")

    def __init__(self, question: Question) -> None:
        self.question = question
        self.follows: dict[Hashable, Any] = {}


class _Outcome(Generic[T]):
    __slots__ = ("value",)

    def __init__(self, value: T) -> None:
        self.value = value


class Looks:
    """The store and the clock as one piece of work sees them, each look noted with what it showed.

    What can never change in this world is not noted. Contracts: ``store.contract.Snapshot``, ``transaction.Source``.
    """

    revision = WorldSnapshot.revision

    def __init__(self, storage: Storage, source: Source) -> None:
        self._storage, self._source = storage, source
        self._snapshot = WorldSnapshot(storage)
        self._suffixes = 0
        self.noted: dict[Question, Any] = {}

    def look(self, question: Question) -> Any:
        """What a look shows; a second one shows the same, and changes nothing."""
        if question not in self.noted:
            self.noted[question] = self._shown(*question)
        return self.noted[question]

    def _shown(self, what: str, *about: Any) -> Any:
        match what:
            case "get":
                return self._snapshot.get(*about)
            case "range":
                prefix, after, limit = about
                return tuple(self._snapshot.range(prefix, after=after, limit=limit))
            case "count":
                prefix, after = about
                return self._snapshot.count(prefix, after=after)
            case "suffix":
                return self._source.suffix()
        return self._source.now() if what == "now" else self._source.now_micro()

    def get(self, key: str) -> Entry | None:
        """The entry of a key."""
        if self._storage.is_fixed(root_of(key)):
            return self._snapshot.get(key)
        entry: Entry | None = self.look(("get", key))
        return entry

    def range(self, prefix: str, *, after: str = "", limit: int = 0) -> Sequence[Entry]:
        """Entries under a prefix, in key order."""
        if prefix.count("/") > 1 and self._storage.is_fixed(root_of(prefix)):
            return self._snapshot.range(prefix, after=after, limit=limit)
        entries: tuple[Entry, ...] = self.look(("range", prefix, after, limit))
        return entries

    def has_any(self, prefix: str) -> bool:
        """Whether there is any key under a prefix."""
        return bool(self.range(prefix, limit=1))

    def count(self, prefix: str, *, after: str = "") -> int:
        """How many entries there are under a prefix."""
        found: int = self.look(("count", prefix, after))
        return found

    def now(self) -> str:
        """The time."""
        time: str = self.look(("now",))
        return time

    def now_micro(self) -> str:
        """The same, as micro time."""
        time: str = self.look(("now_micro",))
        return time

    def uid(self) -> str:
        """A mark that the store replaces."""
        return self._source.uid()

    def suffix(self) -> str:
        """The next generated name of the world."""
        self._suffixes += 1
        name: str = self.look(("suffix", self._suffixes))
        return name

    def draw(self, below: int) -> int:
        """The first of what may be drawn."""
        return self._source.draw(below)


class Recollection:
    """Memo of the server's results, by request and by the part of the store that it read."""

    def __init__(self, storage: Storage, source: Source, answers: Answers) -> None:
        self._storage, self._source, self._answers = storage, source, answers
        self._known: dict[Hashable, Any] | None = {}
        """By what was asked; None once nothing may be taken for granted."""

    def work_always(self) -> None:
        """From now on do the work whenever it is asked for: somebody wants to see whether it comes out the same."""
        self._known = None

    def of(self, asked: Hashable, work: Callable[[Transaction], T]) -> T:
        """The outcome of a pure piece of work: as it was where the same was seen, or by doing it."""
        looks = Looks(self._storage, self._source)
        if self._known is None or self._storage.is_beginning:
            return work(Transaction(looks, looks, answers=self._answers))
        at = self._known.get(asked)
        while type(at) is _Looked:
            at = at.follows.get(looks.look(at.question))
        if at is None:
            outcome = _Outcome(work(Transaction(looks, looks, answers=self._answers)))
            self._keep(self._known, asked, looks, outcome)
            return outcome.value
        found: T = at.value
        return found

    def _keep(self, holder: dict[Hashable, Any], place: Hashable, looks: Looks, outcome: _Outcome[Any]) -> None:
        for question, shown in looks.noted.items():
            node = holder.setdefault(place, _Looked(question))
            holder, place = node.follows, shown
        holder[place] = outcome
