"""CEL's abstract syntax: what the parser makes, and the checker, the cost estimator and the evaluator read.

Macros stay what they are (a ``Comprehension`` node), instead of being unrolled into folds: they run faster so, and
their cost is counted as if they had been unrolled.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable


class CelSyntaxError(ValueError):
    """A text that is no CEL expression; ``mistakes`` are all that were found, each with its offset, in their order."""

    def __init__(self, message: str, at: int, others: Iterable[tuple[str, int]] = ()) -> None:
        super().__init__(message)
        self.mistakes = sorted([(message, at), *others], key=lambda mistake: mistake[1])


@dataclass(slots=True, eq=False)
class Expr:
    """A node; ``at`` is its offset in the text."""

    at: int


@dataclass(slots=True, eq=False)
class Literal(Expr):
    """A constant; ``kind`` is its type's name."""

    value: Any
    kind: str


@dataclass(slots=True, eq=False)
class Ident(Expr):
    """A variable, or the first part of a qualified name."""

    name: str


@dataclass(slots=True, eq=False)
class Select(Expr):
    """``operand.field``; with ``test_only`` it is ``has(operand.field)``, with ``optional`` ``operand.?field``."""

    operand: Expr
    field: str
    test_only: bool = False
    optional: bool = False


@dataclass(slots=True, eq=False)
class Call(Expr):
    """A function or an operator (``_+_``); ``target`` is the receiver of a member call."""

    function: str
    target: Expr | None
    args: list[Expr]


@dataclass(slots=True, eq=False)
class ListLiteral(Expr):
    """``[a, ?b]``."""

    items: list[Expr]
    optional: frozenset[int] = frozenset()


@dataclass(slots=True, eq=False)
class MapLiteral(Expr):
    """``{k: v, ?o: w}``."""

    entries: list[tuple[Expr, Expr, bool]] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Comprehension(Expr):
    """A macro that runs over a list or a map.

    ``kind`` is one of ``all exists exists_one map filter transformList transformMap transformMapEntry``, or
    ``optMap optFlatMap`` over an optional value. ``index`` and ``item`` name the two variables of the two-variable
    form; otherwise ``index`` is None.
    """

    kind: str
    range: Expr
    index: str | None
    item: str
    condition: Expr | None
    body: Expr | None


def with_dotted_names(expr: Expr, names: Iterable[str]) -> Expr:
    """The expression in which ``a.b`` is one variable wherever there is a variable of that name."""
    dotted = {tuple(name.split(".")): name for name in names if "." in name}
    return _joined(expr, dotted) if dotted else expr


def _joined(expr: Expr, dotted: dict[tuple[str, ...], str]) -> Expr:
    match expr:
        case Select(at, Ident(_, first), second, False, False) if (first, second) in dotted:
            return Ident(at, dotted[first, second])
        case Select():
            expr.operand = _joined(expr.operand, dotted)
        case Call():
            expr.target = _joined(expr.target, dotted) if expr.target is not None else None
            expr.args = [_joined(part, dotted) for part in expr.args]
        case ListLiteral():
            expr.items = [_joined(part, dotted) for part in expr.items]
        case MapLiteral():
            expr.entries = [(_joined(key, dotted), _joined(value, dotted), maybe) for key, value, maybe in expr.entries]
        case Comprehension():
            expr.range = _joined(expr.range, dotted)
            expr.condition = _joined(expr.condition, dotted) if expr.condition is not None else None
            expr.body = _joined(expr.body, dotted) if expr.body is not None else None
    return expr


def children(expr: Expr) -> list[Expr]:
    """The direct parts of a node."""
    match expr:
        case Select():
            return [expr.operand]
        case Call():
            return [*([expr.target] if expr.target is not None else []), *expr.args]
        case ListLiteral():
            return expr.items
        case MapLiteral():
            return [part for key, value, _ in expr.entries for part in (key, value)]
        case Comprehension():
            return [part for part in (expr.range, expr.condition, expr.body) if part is not None]
        case _:
            return []


def mentions(expr: Expr, name: str) -> bool:
    """Whether a variable occurs in an expression."""
    return (isinstance(expr, Ident) and expr.name == name) or any(mentions(part, name) for part in children(expr))
