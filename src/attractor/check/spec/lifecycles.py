"""A lifecycle as a specification: hand a table to the checker as it stands.

    check(specification(CLUSTER_INST)).assert_holds()

The requester and the actors beside the committed state (a coordinator) move it at once. Actors whose messages can be
missed, which are those that have a shortcut in the table, are far away: such an actor hears of a request, goes its own
way along the table, and reports each state in a message. Messages overtake each other and may be lost (``losses``); the
last one is said again until it is heard. A message counts only if the table has that move for the committed state.

Claimed: states move along the table, each by its owner; every wish comes to rest or to a final state; every state is
reached. A table that lacks the shortcut past a lost message breaks the second claim.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from attractor.check.spec.declarations import (
    Subset,
    action,
    constant,
    require,
    subset,
    terminal,
    var,
    weak,
)
from attractor.check.spec.property_declarations import always_step, leads_to, sometimes
from attractor.check.spec.spec import Spec

if TYPE_CHECKING:
    from attractor.check.spec.spec import Step
    from attractor.lifecycle import Lifecycle

Move = tuple[str, str]


def _wishes(self: TableSpec) -> tuple[Move, ...]:
    return self.WISHES


def _local(self: TableSpec) -> tuple[Move, ...]:
    return self.LOCAL


def _work(self: TableSpec) -> tuple[Move, ...]:
    return self.WORK


def _states(self: TableSpec) -> tuple[str, ...]:
    return self.STATES


def _messages(self: TableSpec) -> list[tuple[int, str]]:
    return [(wish, state) for wish in range(1, self.wishes + 1) for state in self.STATES]


class TableSpec(Spec):
    """The base of specifications of tables; ``specification`` fills in the rows."""

    STATES: ClassVar[tuple[str, ...]] = ("",)
    WISHES: ClassVar[tuple[Move, ...]] = ()
    LOCAL: ClassVar[tuple[Move, ...]] = ()
    WORK: ClassVar[tuple[Move, ...]] = ()
    """The rows of far actors, without shortcuts: how the work really goes."""
    HEARD: ClassVar[frozenset[Move]] = frozenset()
    """The rows of far actors with shortcuts: what a message may do."""
    FAR: ClassVar[frozenset[str]] = frozenset()
    REST: ClassVar[frozenset[str]] = frozenset()

    wishes: int = constant(3)
    losses: int = constant(1)

    committed: str = var(lambda self: self.STATES[0])
    wish: int = var(0)
    afar: tuple[int, str] = var((0, ""))
    """What the far actor is at: for which wish, and in which state."""
    messages: Subset[tuple[int, str]] = subset(_messages)
    lost: int = var(0)

    @action(row=_wishes)
    def wishes_for(self, row: Move) -> None:
        """The requester moves a state of rest."""
        require(self.committed == row[0] and self.wish < self.wishes)
        self.committed = row[1]
        self.wish += 1

    @action(row=_local)
    def moves(self, row: Move) -> None:
        """An actor beside the committed state moves its own."""
        require(self.committed == row[0])
        self.committed = row[1]

    @action(fair="weak")
    def hears(self) -> None:
        """A far actor hears what it is asked for, once for each wish."""
        require(self.committed in self.FAR and self.afar[0] != self.wish)
        self.afar = (self.wish, self.committed)

    @action(row=_work)
    def works(self, row: Move) -> None:
        """A far actor goes on, and says so."""
        require(self.afar[1] == row[0] and row[0] in self.FAR)
        self.afar = (self.afar[0], row[1])
        self.messages.add(self.afar)

    @action(fair="weak")
    def says_again(self) -> None:
        """A far actor that is not understood repeats its last word."""
        require(self.afar[0] == self.wish and self.committed in self.FAR and self.afar[1] != self.committed)
        self.messages.add(self.afar)

    @action(message=_messages)
    def arrives(self, message: tuple[int, str]) -> None:
        """A message arrives; it counts if it is about this wish and the table has the move."""
        require(message in self.messages)
        self.messages.discard(message)
        if message[0] == self.wish and (self.committed, message[1]) in self.HEARD:
            self.committed = message[1]

    @action(message=_messages, when=losses)
    def is_lost(self, message: tuple[int, str]) -> None:
        """A message is lost."""
        require(message in self.messages and self.lost < self.losses)
        self.lost += 1
        self.messages.discard(message)

    movers = weak(moves)
    workers = weak(works)
    network = weak(arrives, per=("message",))

    @always_step
    def moves_along_the_table(self, step: Step) -> bool:
        """The requester moves by wishes, those beside by moves, those far away by messages; nobody else moves."""
        pair = (self.committed, step.after.committed)
        require(pair[0] != pair[1])
        rows = {"wishes_for": self.WISHES, "moves": self.LOCAL, "arrives": self.HEARD}
        return pair in rows.get(step.action, ())

    @sometimes(state=_states)
    def is_reached(self, state: str) -> bool:
        """Every state is reached."""
        return self.committed == state

    @terminal
    def rests(self) -> bool:
        """A state of rest, or a final one, may last."""
        return self.committed in self.REST

    comes_to_rest = leads_to(lambda self: self.committed not in self.REST, lambda self: self.committed in self.REST)


def specification(table: Lifecycle[Any, Any], *, wishes: int = 3, losses: int = 1) -> Spec:
    """The specification of a table, with so many wishes of the requester and so many lost messages."""
    far = {row.actor for row in table.steps if row.kind == "missed"}
    pairs = {row: (str(row.state), str(row.next)) for row in table.steps}
    body: dict[str, Any] = {
        "__doc__": f"The table of {table.name}.",
        "__module__": __name__,
        "STATES": tuple(map(str, table.states)),
        "WISHES": _once(pairs[row] for row in table.steps if row.actor == table.requester),
        "LOCAL": _once(pairs[row] for row in table.steps if row.actor not in far | {table.requester}),
        "WORK": _once(pairs[row] for row in table.steps if row.actor in far and row.kind != "missed"),
        "HEARD": frozenset(pairs[row] for row in table.steps if row.actor in far),
        "FAR": frozenset(str(row.state) for row in table.steps if row.actor in far),
        "REST": frozenset(map(str, table.resting | table.final)),
    }
    made: Spec = type(table.name, (TableSpec,), body)(wishes=wishes, losses=losses)
    return made


def _once(pairs: Any) -> tuple[Move, ...]:
    return tuple(dict.fromkeys(pairs))
