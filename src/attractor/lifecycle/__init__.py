"""Lifecycles: state machines as tables in which every state belongs to exactly one actor.

    DOOR = Lifecycle(
        "Door", initial=Closed, requester=VISITOR,
        rows=[
            move(Closed, VISITOR, "knock", Asked),
            move(Asked, PORTER, "answer", Opening),
            missed(Asked, PORTER, "answer", Open, skips=Opening),
            move(Opening, PORTER, "answer", Open),
            move(Open, VISITOR, "leave", Closed),
        ],
    )
    DOOR.follow(Closed, VISITOR, "knock")        # Asked
    DOOR.follow(Closed, PORTER, "answer")        # Refused: Door is Closed, which only the visitor may move ...

Guarantees: a table that breaks a rule is refused when it is built (``TableError``): a state with two actors, a state
that cannot be reached, a state without a way out that is not said to be final, one event with two outcomes of which
none is said to be the shortcut past a missed message. Nothing here has a clock, a socket or a store.

Read ``table`` first (rows and rules), then ``guard`` (what an API server refuses), ``text`` and ``diagram`` (how a
table is shown). What it does not do: it moves no object by itself, and it knows nothing of the API server or the
checker; ``attractor.embedded.lifecycles`` and ``attractor.check.spec.lifecycles`` join them.
"""

from attractor.lifecycle.diagram import svg
from attractor.lifecycle.guard import Guard, Requester
from attractor.lifecycle.table import (
    Lifecycle,
    Refused,
    Row,
    TableError,
    WrongActor,
    WrongState,
    missed,
    move,
    override,
    undo,
)
from attractor.lifecycle.text import markdown, page, text_table

__all__ = [
    "Guard",
    "Lifecycle",
    "Refused",
    "Requester",
    "Row",
    "TableError",
    "WrongActor",
    "WrongState",
    "markdown",
    "missed",
    "move",
    "override",
    "page",
    "svg",
    "text_table",
    "undo",
]
