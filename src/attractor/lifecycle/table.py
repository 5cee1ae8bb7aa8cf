"""``Lifecycle``: rows of (state, actor, event, next state), and the rules that a table keeps.

    Current State      Actor            Next State
    CreateRequested    CRM response     Creating
                       CRM response     Ready (if Creating message was missed)
                       CRM error        CreateError
    CreateError        Controller undo  NotPresent (undo)

Four kinds of rows: ``move`` is ordinary; ``missed`` is the shortcut that the same event takes when the message about
the state between was lost; ``undo`` takes back what failed; ``override`` is what an administrator may do to a state
that belongs to somebody else, and is no part of the machine's own life: the rules do not count it.

Errors:
    TableError      the table breaks a rule; raised when it is built, the text names the fix
    Refused         a move that the table does not have
    ├── WrongActor  the state belongs to another actor
    └── WrongState  the state is the actor's own, but does not lead there
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, Literal, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

S = TypeVar("S", bound=str)
A = TypeVar("A", bound=str)
Kind = Literal["move", "missed", "undo", "override"]


class TableError(ValueError):
    """A table breaks a rule; the text says which, and what to change."""


class Refused(ValueError):
    """The table has no such move; the text names the state and the actor."""


class WrongActor(Refused):
    """The state belongs to another actor."""


class WrongState(Refused):
    """The actor owns the state, but it does not lead there."""


@dataclass(frozen=True, slots=True)
class Row(Generic[S, A]):
    """One line of a table: in ``state``, ``event`` of ``actor`` leads to ``next``."""

    state: S
    actor: A
    event: str
    next: S
    kind: Kind = "move"
    note: str = ""
    skips: S | None = None
    """With ``missed``: the state whose message was lost."""

    @property
    def remark(self) -> str:
        """Return the remark in brackets behind the next state."""
        if self.skips is not None:
            return f"if {self.skips} message was missed"
        return ", ".join(part for part in (self.kind if self.kind != "move" else "", self.note) if part)


def move(state: S, actor: A, event: str, next_: S, note: str = "") -> Row[S, A]:
    """An ordinary row."""
    return Row(state, actor, event, next_, note=note)


def missed(state: S, actor: A, event: str, next_: S, *, skips: S) -> Row[S, A]:
    """The shortcut past ``skips``, for when its message was lost."""
    return Row(state, actor, event, next_, "missed", skips=skips)


def undo(state: S, actor: A, event: str, next_: S, note: str = "") -> Row[S, A]:
    """A row that takes back what failed."""
    return Row(state, actor, event, next_, "undo", note)


def override(states: Iterable[S], actor: A, event: str, next_: S, note: str = "") -> list[Row[S, A]]:
    """Return rows by which an administrator moves states of others: one for each that is not there already."""
    return [Row(state, actor, event, next_, "override", note) for state in states if state != next_]


@dataclass(frozen=True)
class Lifecycle(Generic[S, A]):
    """A checked table. Two tables are equal when their rows are."""

    name: str
    initial: S
    requester: A
    """Whose states are those of rest: in them a new wish is accepted, in all others the object is busy."""
    rows: Sequence[Row[S, A]]
    final: frozenset[S] = frozenset()
    """States that nobody leaves, but by an override."""
    timeouts_s: Mapping[S, float] = field(default_factory=dict)
    """How long a state may last before people are told. Nothing is undone: the work may still be in progress."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows", tuple(self.rows))
        object.__setattr__(self, "final", frozenset(self.final))
        _check(self)

    # What the table says

    @property
    def steps(self) -> tuple[Row[S, A], ...]:
        """The machine's own rows, without overrides."""
        return tuple(row for row in self.rows if row.kind != "override")

    @property
    def states(self) -> tuple[S, ...]:
        """Every state, in the order in which the rows name them."""
        named = [self.initial, *(state for row in self.steps for state in (row.state, row.next)), *sorted(self.final)]
        return tuple(dict.fromkeys(named))

    @property
    def actors(self) -> tuple[A, ...]:
        """Every actor, those of overrides last."""
        return tuple(dict.fromkeys([row.actor for row in self.steps] + [row.actor for row in self.rows]))

    @property
    def events(self) -> tuple[str, ...]:
        """Every event."""
        return tuple(dict.fromkeys(row.event for row in self.rows))

    def owner(self, state: S) -> A | None:
        """The one actor that may move a state; None for a final one."""
        return next((row.actor for row in self.steps if row.state == state), None)

    @property
    def resting(self) -> frozenset[S]:
        """The states in which nothing is going on and a wish is accepted: the requester's."""
        return frozenset(state for state in self.states if self.owner(state) == self.requester)

    @property
    def errors(self) -> frozenset[S]:
        """The states that say that work has failed: every way out is an undo, or there is none."""
        failed = {row.state for row in self.steps if row.kind == "undo"}
        return frozenset(failed - {row.state for row in self.steps if row.kind != "undo"}) | self.final

    @property
    def busy(self) -> frozenset[S]:
        """The states in which somebody is at work."""
        return frozenset(self.states) - self.resting - self.errors

    def nexts(self, state: S, actor: A) -> frozenset[S]:
        """Return the states that an actor may move a state to, by overrides too."""
        return frozenset(row.next for row in self.rows if row.state == state and row.actor == actor)

    def triples(self) -> Iterator[tuple[S, A, str, frozenset[S]]]:
        """Every state, actor and event, each with the next states that the table has for it (none: refused)."""
        for state in self.states:
            for actor in self.actors:
                for event in self.events:
                    found = (
                        row.next for row in self.rows if (row.state, row.actor, row.event) == (state, actor, event)
                    )
                    yield state, actor, event, frozenset(found)

    def _rows(self, state: S, actor: A, event: str) -> list[Row[S, A]]:
        return [row for row in self.rows if (row.state, row.actor, row.event) == (state, actor, event)]

    # What it allows

    def follow(self, state: S, actor: A, event: str, *, to: S | None = None) -> S:
        """The state that an event leads to; ``to`` chooses the shortcut of a missed message. Raises ``Refused``."""
        rows = self._rows(state, actor, event)
        if to is not None:
            rows = [row for row in rows if row.next == to]
        elif len(rows) > 1:
            rows = [row for row in rows if row.kind != "missed"]
        if not rows:
            raise self.refusal(state, [actor], f"do {event!r}" + ("" if to is None else f" to {to}"))
        return rows[0].next

    def check(self, state: S, actors: Iterable[A], next_: S, subject: str = "") -> None:
        """Check that one of these actors may move a state; raises ``Refused``, whose text names the object and both."""
        asking = tuple(actors)
        if not any(next_ in self.nexts(state, actor) for actor in asking):
            raise self.refusal(state, asking, f"move it to {next_}", subject)

    def refusal(self, state: S, actors: Iterable[str], what: str, subject: str = "") -> Refused:
        """Return the error that says why these actors may not do something to a state."""
        asking = tuple(actors)
        named = " or ".join(f"the {actor}" for actor in asking) or "nobody"
        of = f"{subject or self.name} is {state}"
        owner = self.owner(state)
        if owner is None:
            return WrongActor(f"{of}, which is final: {named} may not {what}; an administrator may repair it")
        if owner not in asking:
            return WrongActor(f"{of}, which only the {owner} may move: {named} may not {what}")
        leads = ", ".join(sorted(self.nexts(state, owner)))
        return WrongState(f"{of}, from where {named} may not {what}; it leads to {leads}")

    def overdue(self, state: S, waited_s: float) -> str:
        """Return a message about a state that lasts too long; empty while it does not. It never means an undo."""
        limit_s = self.timeouts_s.get(state)
        if limit_s is None or waited_s < limit_s:
            return ""
        return (
            f"still {state} after {limit_s / 60:g} min: the {self.owner(state)} is at work or away, and work in "
            "progress is not undone; wait, or ask an administrator for an override"
        )


def _check(table: Lifecycle[S, A]) -> None:
    _check_rows(table)
    _check_owners(table)
    _check_outcomes(table)
    _check_ways(table)


def _check_rows(table: Lifecycle[S, A]) -> None:
    seen: set[tuple[str, str, str, str]] = set()
    for row in table.rows:
        quadruple = (row.state, row.actor, row.event, row.next)
        if quadruple in seen:
            raise TableError(f"{table.name}: the row {row.state} | {row.actor} {row.event} | {row.next} stands twice")
        seen.add(quadruple)
        if row.kind == "override" and row.state not in table.states:
            raise TableError(f"{table.name}: an override of {row.state}, which no other row names; drop it")
        if row.kind != "override" and row.state == row.next:
            raise TableError(f"{table.name}: {row.state} leads to itself; a row changes the state, drop it")
    for state in table.timeouts_s:
        if state not in table.states:
            raise TableError(f"{table.name}: a timeout of {state}, which no row names; drop it")


def _check_owners(table: Lifecycle[S, A]) -> None:
    for state in table.states:
        owners = list(dict.fromkeys(row.actor for row in table.steps if row.state == state))
        if len(owners) > 1:
            raise TableError(
                f"{table.name}: {state} belongs to {' and to '.join(owners)}, so that both could move it at once; "
                "give it to one of them, or split it into two states"
            )
        if owners and state in table.final:
            raise TableError(f"{table.name}: {state} is final, but {owners[0]} moves it; drop the row or `final`")
    if table.owner(table.initial) is None:
        raise TableError(f"{table.name}: nobody moves the initial state {table.initial}; add a row that does")


def _check_outcomes(table: Lifecycle[S, A]) -> None:
    """One event of a state has one outcome, and the others are shortcuts past a state that lies between."""
    ways = {(row.state, row.next) for row in table.steps if row.kind != "missed"}
    outcomes: dict[tuple[S, str], S] = {}
    for row in table.steps:
        if row.kind == "missed":
            if row.skips is None or not {(row.state, row.skips), (row.skips, row.next)} <= ways:
                raise TableError(
                    f"{table.name}: {row.state} to {row.next} is said to skip {row.skips}, but there is no way "
                    f"{row.state} to {row.skips} to {row.next}; name the state that lies between"
                )
            continue
        other = outcomes.setdefault((row.state, row.event), row.next)
        if other != row.next:
            raise TableError(
                f"{table.name}: in {row.state}, {row.event!r} leads to {other} and to {row.next}; give the outcomes "
                "different events, or declare the shortcut past a lost message with missed(..., skips=...)"
            )


def _check_ways(table: Lifecycle[S, A]) -> None:
    reached = {table.initial}
    grown = True
    while grown:
        found = {row.next for row in table.steps if row.state in reached} - reached
        reached |= found
        grown = bool(found)
    for state in table.states:
        if state not in reached:
            raise TableError(f"{table.name}: no way leads from {table.initial} to {state}; add a row or drop the state")
        if table.owner(state) is None and state not in table.final:
            raise TableError(f"{table.name}: {state} has no way out; add a row, or say that it is final")
