"""The type checker: what each part of an expression is, and which function each call means.

Errors are worded and placed as cel-go does:

    ERROR: <input>:1:5: undefined field 'colour'
     | self.colour == 'red'
     | ....^
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from attractor.cel.catalog import OVERLOADS
from attractor.cel.syntax import (
    Call,
    CelSyntaxError,
    Comprehension,
    Expr,
    Ident,
    ListLiteral,
    Literal,
    MapLiteral,
    Select,
)
from attractor.cel.types import (
    BOOL,
    DYN,
    INT,
    NULL,
    Type,
    assignable,
    list_of,
    map_of,
    optional_of,
    resolved,
)
from attractor.cel.values import CelError, read_duration, read_timestamp
from attractor.schema.patterns import PatternError, matcher

if TYPE_CHECKING:
    from collections.abc import Callable

    from attractor.cel.declaration import Declaration
    from attractor.cel.library import Overload

_READERS: dict[str, Callable[[str], object]] = {
    "duration": read_duration,
    "matches": matcher,
    "timestamp": read_timestamp,
}
"""Functions whose text is checked before anything is run, and how it is read."""

TYPE_NAMES = frozenset(
    [
        "bool",
        "bytes",
        "double",
        "int",
        "list",
        "map",
        "null_type",
        "string",
        "type",
        "uint",
        "google.protobuf.Timestamp",
        "google.protobuf.Duration",
        "optional_type",
        "kubernetes.Quantity",
        "kubernetes.Semver",
        "kubernetes.URL",
        "net.IP",
        "net.CIDR",
    ]
)
_SHOWN = {"timestamp": "google.protobuf.Timestamp", "duration": "google.protobuf.Duration", "null_type": "null"}


def shown(kind: Type) -> str:
    """A type as cel-go prints it."""
    name = _SHOWN.get(kind.name, "dyn" if kind.is_parameter else kind.name)
    return f"{name}({', '.join(shown(param) for param in kind.params)})" if kind.params else name


class CelCheckError(ValueError):
    """An expression that cannot mean anything; the text shows where."""


MAX_MISTAKES = 100
"""How many mistakes of one expression are told, as many as cel-go tells."""
MAX_SHOWN_LINE = 2000
"""A longer line is not shown with each mistake in it."""


def located(message: str, text: str, at: int) -> str:
    """An error with the line it is about and a mark below it."""
    line = text.count("\n", 0, at) + 1
    start = text.rfind("\n", 0, at) + 1
    end = text.find("\n", at)
    end = end if end >= 0 else len(text)
    if end - start > MAX_SHOWN_LINE:
        return f"ERROR: <input>:{line}:{at - start + 1}: {message}"
    source = text[start:end]
    before = "".join("." if character.isascii() else "\uff0e" for character in text[start:at])
    mark = "^" if text[at : at + 1].isascii() else "\uff3e"
    return f"ERROR: <input>:{line}:{at - start + 1}: {message}\n | {source}\n | {before}{mark}"


@dataclass(slots=True)
class Checked:
    """A checked expression; the tables are keyed by node."""

    expr: Expr
    text: str
    types: dict[int, Type] = field(default_factory=dict)
    overloads: dict[int, list[Overload]] = field(default_factory=dict)
    raw_fields: dict[int, str] = field(default_factory=dict)
    type_values: dict[int, str] = field(default_factory=dict)

    def type_of(self, expr: Expr) -> Type:
        """What a node is."""
        return self.types[id(expr)]


def check(expr: Expr, text: str, variables: dict[str, Type], objects: dict[str, Declaration]) -> Checked:
    """The types of an expression; raises ``CelCheckError`` with everything that is wrong."""
    checker = _Checker(Checked(expr, text), dict(variables), objects)
    checker.visit(expr)
    if checker.errors:
        errors = sorted(checker.errors, key=lambda error: error[1])
        raise CelCheckError("\n".join(located(message, text, at) for message, at in errors[:MAX_MISTAKES]))
    return checker.checked


def syntax_error(error: CelSyntaxError, text: str) -> CelCheckError:
    """A syntax error, placed."""
    return CelCheckError("\n".join(located(message, text, at) for message, at in error.mistakes[:MAX_MISTAKES]))


class _Checker:
    def __init__(self, checked: Checked, variables: dict[str, Type], objects: dict[str, Declaration]) -> None:
        self.checked = checked
        self.variables = variables
        self.objects = objects
        self.errors: list[tuple[str, int]] = []
        self.mixed: set[int] = set()
        """List literals that may hold different types: the arguments of ``format``."""

    def error(self, message: str, at: int) -> Type:
        self.errors.append((message, at))
        return DYN

    def visit(self, expr: Expr) -> Type:
        match expr:
            case Literal():
                found = Type(expr.kind)
            case Ident():
                found = self.ident(expr)
            case Select():
                found = self.select(expr)
            case Call():
                found = self.call(expr)
            case ListLiteral():
                found = self.list_literal(expr)
            case MapLiteral():
                found = self.map_literal(expr)
            case Comprehension():
                found = self.comprehension(expr)
            case _:
                raise TypeError(f"no expression: {expr!r}")
        self.checked.types[id(expr)] = found
        return found

    def ident(self, expr: Ident) -> Type:
        if (known := self.variables.get(expr.name)) is not None:
            return known
        if expr.name in TYPE_NAMES:
            return self.type_value(expr, expr.name)
        return self.error(f"undeclared reference to '{expr.name}' (in container '')", expr.at)

    def type_value(self, expr: Expr, name: str) -> Type:
        self.checked.type_values[id(expr)] = name
        return Type("type")

    def select(self, expr: Select) -> Type:
        qualified = _qualified(expr)
        if qualified in TYPE_NAMES and qualified.split(".")[0] not in self.variables:
            return self.type_value(expr, qualified)
        operand = self.visit(expr.operand)
        wrapped = operand.name == "optional_type"
        inner = operand.params[0] if wrapped else operand
        found = self.member(expr, inner)
        if expr.test_only:
            return BOOL
        return optional_of(found) if wrapped or expr.optional else found

    def member(self, expr: Select, operand: Type) -> Type:
        if operand == DYN or operand.is_parameter:
            return DYN
        if operand.name == "map":
            return operand.params[1]
        declared = self.objects.get(operand.name)
        if declared is None and "." in operand.name:
            return self.error(f"unexpected failed resolution of '{shown(operand)}'", expr.at)
        if declared is None:
            return self.error(f"type '{shown(operand)}' does not support field selection", expr.at)
        if (known := declared.fields.get(expr.field)) is None:
            return self.error(f"undefined field '{expr.field}'", expr.at)
        self.checked.raw_fields[id(expr)] = known[0]
        return known[1].type

    def call(self, expr: Call) -> Type:
        if expr.function in {"_&&_", "_||_", "!_"}:
            return self.operator(expr, [BOOL] * len(expr.args), BOOL)
        if expr.function == "_?_:_":
            return self.conditional(expr)
        if expr.function in {"_[_]", "_[?_]"}:
            return self.index(expr)
        if expr.target is not None and (dotted := self.dotted_function(expr)) is not None:
            expr.function, expr.target = dotted, None
        args = [*([expr.target] if expr.target is not None else []), *expr.args]
        if expr.function == "format" and isinstance(args[-1], ListLiteral):
            self.mixed.add(id(args[-1]))
        given = [self.visit(arg) for arg in args]
        candidates = OVERLOADS.get((expr.function, expr.target is not None))
        if not candidates:
            return self.error(f"undeclared reference to '{expr.function}' (in container '')", expr.at)
        self.check_constants(expr, args)
        return self.resolve(expr, candidates, given)

    def check_constants(self, expr: Call, args: list[Expr]) -> None:
        """Refuse a pattern, duration or time that is written down and could never be read."""
        read = _READERS.get(expr.function)
        if read is None or not args or not isinstance(args[-1], Literal) or not isinstance(args[-1].value, str):
            return
        try:
            read(args[-1].value)
        except (CelError, PatternError):
            self.error(f"invalid {expr.function} argument", args[-1].at)

    def dotted_function(self, expr: Call) -> str | None:
        prefix = _qualified(expr.target) if expr.target is not None else ""
        if not prefix or prefix.split(".")[0] in self.variables:
            return None
        name = f"{prefix}.{expr.function}"
        return name if (name, False) in OVERLOADS else None

    def resolve(self, expr: Call, candidates: list[Overload], given: list[Type]) -> Type:
        results: list[Type] = []
        for overload in candidates:
            found: dict[str, Type] = {}
            if len(overload.args) == len(given) and all(
                assignable(declared, kind, found) for declared, kind in zip(overload.args, given, strict=True)
            ):
                self.checked.overloads.setdefault(id(expr), []).append(overload)
                results.append(resolved(overload.result, found))
        if not results:
            return self.mismatch(expr, given)
        return results[0] if all(result == results[0] for result in results) else DYN

    def mismatch(self, expr: Call, given: list[Type]) -> Type:
        member = expr.target is not None
        listed = ", ".join(shown(kind) for kind in given[member:])
        applied = f"{shown(given[0])}.({listed})" if member else f"({listed})"
        return self.error(f"found no matching overload for '{expr.function}' applied to '{applied}'", expr.at)

    def operator(self, expr: Call, declared: list[Type], result: Type) -> Type:
        given = [self.visit(arg) for arg in expr.args]
        if not all(assignable(want, kind, {}) for want, kind in zip(declared, given, strict=True)):
            return self.mismatch(expr, given)
        return result

    def conditional(self, expr: Call) -> Type:
        given = [self.visit(arg) for arg in expr.args]
        found: dict[str, Type] = {}
        if not (assignable(BOOL, given[0], {}) and all(assignable(Type("A"), kind, found) for kind in given[1:])):
            return self.mismatch(expr, given)
        return DYN if DYN in given[1:] else found["A"]

    def index(self, expr: Call) -> Type:
        operand, key = (self.visit(arg) for arg in expr.args)
        wrapped = operand.name == "optional_type"
        inner = operand.params[0] if wrapped else operand
        if inner == DYN or inner.is_parameter:
            found = DYN
        elif inner.name == "list" and assignable(INT, key, {}):
            found = inner.params[0]
        elif inner.name == "map" and assignable(inner.params[0], key, {}):
            found = inner.params[1]
        else:
            return self.mismatch(expr, [operand, key])
        return optional_of(found) if wrapped or expr.function == "_[?_]" else found

    def list_literal(self, expr: ListLiteral) -> Type:
        if id(expr) in self.mixed:
            for item in expr.items:
                self.visit(item)
            return list_of(DYN)
        return list_of(self.homogeneous(expr.items, expr.optional))

    def homogeneous(self, parts: list[Expr], optional: frozenset[int] = frozenset()) -> Type:
        common: Type | None = None
        for at, part in enumerate(parts):
            kind = self.visit(part)
            if at in optional:
                kind = kind.params[0] if kind.name == "optional_type" else DYN
            if common is None or common == NULL:
                common = kind
            elif not assignable(common, kind, {}):
                return self.error(f"expected type '{shown(common)}' but found '{shown(kind)}'", part.at)
        return common if common is not None else Type("A")

    def map_literal(self, expr: MapLiteral) -> Type:
        keys = self.homogeneous([key for key, _, _ in expr.entries])
        optional = frozenset(at for at, entry in enumerate(expr.entries) if entry[2])
        return map_of(keys, self.homogeneous([value for _, value, _ in expr.entries], optional))

    def comprehension(self, expr: Comprehension) -> Type:
        over = self.visit(expr.range)
        first, second = self.iterated(expr, over)
        names = {expr.item: second} if expr.index is None else {expr.index: first, expr.item: second}
        outer = {name: self.variables.get(name) for name in names}
        self.variables.update(names)
        if expr.condition is not None and not assignable(BOOL, kind := self.visit(expr.condition), {}):
            self.error(f"expected type 'bool' but found '{shown(kind)}'", expr.condition.at)
        body = self.visit(expr.body) if expr.body is not None else BOOL
        for name, kind_before in outer.items():
            if kind_before is None:
                del self.variables[name]
            else:
                self.variables[name] = kind_before
        return self.result_of(expr, body, first, second)

    def iterated(self, expr: Comprehension, over: Type) -> tuple[Type, Type]:
        if over == DYN or over.is_parameter:
            return DYN, DYN
        if expr.kind in {"optMap", "optFlatMap"}:
            return (DYN, over.params[0]) if over.name == "optional_type" else (DYN, self.mismatch_range(expr, over))
        if over.name == "list":
            return INT, over.params[0]
        if over.name == "map":
            return over.params[0], over.params[1] if expr.index is not None else over.params[0]
        return DYN, self.mismatch_range(expr, over)

    def mismatch_range(self, expr: Comprehension, over: Type) -> Type:
        message = (
            f"expression of type '{shown(over)}' cannot be range of a comprehension (must be list, map, or dynamic)"
        )
        return self.error(message, expr.range.at)

    def result_of(self, expr: Comprehension, body: Type, first: Type, second: Type) -> Type:
        match expr.kind:
            case "all" | "exists" | "exists_one":
                if not assignable(BOOL, body, {}) and expr.body is not None:
                    return self.error(
                        f"found no matching overload for '_&&_' applied to '(bool, {shown(body)})'", expr.body.at
                    )
                return BOOL
            case "filter":
                return list_of(second)
            case "map" | "transformList":
                return list_of(body)
            case "transformMap":
                return map_of(first, body)
            case "transformMapEntry":
                return body if body.name == "map" else map_of(DYN, DYN)
            case "optMap":
                return optional_of(body)
            case _:
                return body


def _qualified(expr: Expr | None) -> str:
    """``a.b.c`` when an expression is only that."""
    if isinstance(expr, Ident):
        return expr.name
    if isinstance(expr, Select) and not expr.test_only and not expr.optional:
        prefix = _qualified(expr.operand)
        return f"{prefix}.{expr.field}" if prefix else ""
    return ""
