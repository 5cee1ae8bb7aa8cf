"""Formulas as trees, and how they are laid out: bulleted conjunctions, one line for each thought.

TLA+ reads the alignment of ``/\\`` bullets, so the layout is part of the meaning: every tree is laid out relative to
its own first column and put behind its parent's bullet as a block.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

WIDTH = 100
AND, OR, SOME = " /\\ ", " \\/ ", "\\E"


@dataclass(frozen=True)
class Text:
    """One expression."""

    text: str


@dataclass(frozen=True)
class All:
    """A conjunction."""

    parts: tuple[Node, ...]


@dataclass(frozen=True)
class If:
    """A case distinction."""

    condition: str
    then: Node
    otherwise: Node


@dataclass(frozen=True)
class Let:
    """A name for a value."""

    name: str
    value: str
    body: Node


@dataclass(frozen=True)
class Some:
    """One step for each element of a set."""

    name: str
    options: str
    body: Node


Node = Text | All | If | Let | Some


def conjunction(parts: Sequence[Node]) -> Node:
    """All of ``parts``; a conjunction inside a conjunction is the same conjunction."""
    flat: list[Node] = []
    for part in parts:
        flat += part.parts if isinstance(part, All) else [part]
    return flat[0] if len(flat) == 1 else All(tuple(flat))


def layout(node: Node) -> list[str]:
    """The lines of a formula, starting in column 0."""
    match node:
        case Text(text):
            return broken(text)
        case All(parts):
            return [line for part in parts for line in behind("/\\ ", layout(part))]
        case If(condition, then, otherwise):
            return [f"IF {condition}", *behind("THEN ", layout(then)), *behind("ELSE ", layout(otherwise))]
        case Let(name, value, body):
            return [f"LET {name} == {value} IN", *layout(body)]
        case Some(name, options, body):
            return [f"\\E {name} \\in {options} :", *behind("  ", layout(body))]


def broken(text: str) -> list[str]:
    """A long line, broken where an EXCEPT has its next change."""
    if len(text) < WIDTH or ", !" not in text:
        return [text]
    first, *more = text.split(", !")
    indent = first.index("!") if "!" in first else 2
    return [
        first + ",",
        *(" " * indent + "!" + each + ("," if n < len(more) else "") for n, each in enumerate(more, 1)),
    ]


def bulleted(text: str, operator: str, parts: Sequence[str]) -> Node:
    """One line, or a line for each conjunct where one would be too long."""
    if operator == "/\\" and len(text) > WIDTH - 20:
        return All(tuple(Text(each) for each in parts))
    return Text(text)


def behind(mark: str, lines: list[str]) -> list[str]:
    """A block behind a mark: the following lines are indented by as much."""
    return [(mark if number == 0 else " " * len(mark)) + line for number, line in enumerate(lines)]


def definition(name: str, parameters: Sequence[str], body: Node, comment: str = "") -> list[str]:
    """``Name(a, b) == body``, on one line if it is short."""
    head = f"{name}({', '.join(parameters)}) ==" if parameters else f"{name} =="
    lines = layout(body)
    note = [f"\\* {comment.replace('``', '`')}"] if comment else []
    if len(lines) == 1 and len(head) + len(lines[0]) < WIDTH:
        return [*note, f"{head} {lines[0]}"]
    return [*note, head, *("  " + line for line in lines)]
