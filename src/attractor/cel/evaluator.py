"""Evaluation: a checked expression becomes nested closures that count what they cost.

Cost is counted as cel-go counts it: one unit for a variable or a field, ten for making a list, a tenth of a unit for
each character read. Whatever can take long (a loop's turn, a function whose cost depends on its arguments) looks at
the limit first, so an evaluation stops soon after its budget is used up, whatever the expression.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from attractor.cel.declaration import unescape
from attractor.cel.syntax import (
    Call,
    Comprehension,
    Expr,
    Ident,
    ListLiteral,
    Literal,
    MapLiteral,
    Select,
)
from attractor.cel.values import (
    MISSING,
    NONE,
    CelError,
    CostExceeded,
    Duration,
    Optional,
    TypeValue,
    Uint,
    find_key,
    size_of,
)

if TYPE_CHECKING:
    from attractor.cel.checker import Checked
    from attractor.cel.library import Overload
    from attractor.cel.types import Type

LIST_COST = 10
MAP_COST = 30


class Activation:
    """The variables of one evaluation, and its cost so far."""

    __slots__ = ("cost", "limit", "variables")

    def __init__(self, variables: dict[str, Any], limit: float) -> None:
        self.variables = variables
        self.limit = limit
        self.cost: float = 0

    def charge(self, units: float) -> None:
        """Add to the cost; stops the evaluation when it is too much."""
        self.cost += units
        if self.cost > self.limit:
            raise CostExceeded("operation cancelled: actual cost limit exceeded")


Evaluate = Callable[[Activation], Any]

_CLASSES: dict[str, Any] = {
    "bool": bool,
    "double": float,
    "string": str,
    "bytes": bytes,
    "list": list,
    "map": dict,
    "null_type": type(None),
    "timestamp": dt.datetime,
    "duration": Duration,
    "optional_type": Optional,
    "type": TypeValue,
}


def compile_expression(checked: Checked) -> Evaluate:
    """The closure of a checked expression."""
    return _Compiler(checked).of(checked.expr)


class _Compiler:
    def __init__(self, checked: Checked) -> None:
        self.checked = checked

    def of(self, expr: Expr) -> Evaluate:
        if (name := self.checked.type_values.get(id(expr))) is not None:
            value = TypeValue(name)
            return lambda _: value
        match expr:
            case Literal():
                constant = Uint(expr.value) if expr.kind == "uint" else expr.value
                return lambda _: constant
            case Ident():
                return _variable(expr.name)
            case Select():
                return self.select(expr)
            case Call():
                return self.call(expr)
            case ListLiteral():
                return self.list_literal(expr)
            case MapLiteral():
                return self.map_literal(expr)
            case Comprehension():
                return _Loop(self, expr).compiled()
            case _:
                raise TypeError(f"no expression: {expr!r}")

    def select(self, expr: Select) -> Evaluate:
        operand = self.of(expr.operand)
        raw = self.checked.raw_fields.get(id(expr))
        name, fallback = (raw, raw) if raw is not None else (expr.field, unescape(expr.field))
        if expr.test_only:
            return lambda env: _has(operand(env), name, fallback)
        if expr.optional or self.checked.type_of(expr.operand).name == "optional_type":
            return lambda env: _select_optional(operand(env), name, fallback)

        def select(env: Activation) -> Any:
            env.cost += 1
            value = operand(env)
            if type(value) is dict:
                found = value.get(name, MISSING)
                if found is MISSING and fallback != name:
                    found = value.get(fallback, MISSING)
                if found is not MISSING:
                    return found
            elif isinstance(value, Optional):
                return _select_optional(value, name, fallback)
            raise CelError(f"no such key: {name}")

        return select

    def call(self, expr: Call) -> Evaluate:
        match expr.function:
            case "_&&_":
                return _junction(self.of(expr.args[0]), self.of(expr.args[1]), decisive=False)
            case "_||_":
                return _junction(self.of(expr.args[0]), self.of(expr.args[1]), decisive=True)
            case "!_":
                return _negation(self.of(expr.args[0]))
            case "_?_:_":
                return _choice(*(self.of(arg) for arg in expr.args))
            case "_[_]" | "_[?_]":
                optional = expr.function == "_[?_]" or self.checked.type_of(expr.args[0]).name == "optional_type"
                return _index(self.of(expr.args[0]), self.of(expr.args[1]), optional)
        args = [self.of(arg) for arg in ([expr.target] if expr.target is not None else []) + expr.args]
        overloads = self.checked.overloads[id(expr)]
        kinds = [self.checked.type_of(arg) for arg in ([expr.target] if expr.target is not None else []) + expr.args]
        if len(overloads) == 1 and not any(_is_open(kind) for kind in kinds):
            return _direct(overloads[0], args)
        if len({id(overload.body) for overload in overloads}) == 1 and all(_takes_anything(o) for o in overloads):
            return _direct(overloads[0], args)
        return _dispatched(overloads, args)

    def list_literal(self, expr: ListLiteral) -> Evaluate:
        parts = [(self.of(item), at in expr.optional) for at, item in enumerate(expr.items)]

        def make(env: Activation) -> list[Any]:
            env.charge(LIST_COST)
            found = []
            for part, optional in parts:
                value = part(env)
                if not optional:
                    found.append(value)
                elif value.present:
                    found.append(value.value)
            return found

        return make

    def map_literal(self, expr: MapLiteral) -> Evaluate:
        parts = [(self.of(key), self.of(value), optional) for key, value, optional in expr.entries]

        def make(env: Activation) -> dict[Any, Any]:
            env.charge(MAP_COST)
            found: dict[Any, Any] = {}
            for key, value, optional in parts:
                name, member = key(env), value(env)
                if not isinstance(name, str | int):
                    raise CelError("unsupported key type")
                if name in found:
                    raise CelError(f"Failed with repeated key: {name}")
                if not optional:
                    found[name] = member
                elif member.present:
                    found[name] = member.value
            return found

        return make


def _is_open(kind: Type) -> bool:
    return kind.name == "dyn" or kind.is_parameter


def _takes_anything(overload: Overload) -> bool:
    return all(_is_open(kind) for kind in overload.args)


def _variable(name: str) -> Evaluate:
    def read(env: Activation) -> Any:
        env.cost += 1
        try:
            return env.variables[name]
        except KeyError:
            raise CelError(f"no such attribute(s): {name}") from None

    return read


def _has(value: Any, name: str, fallback: str) -> bool:
    if isinstance(value, Optional):
        return value.present and _has(value.value, name, fallback)
    if type(value) is dict:
        return name in value or fallback in value
    raise CelError("no such overload")


def _select_optional(value: Any, name: str, fallback: str) -> Optional:
    if isinstance(value, Optional):
        if not value.present:
            return NONE
        value = value.value
    if type(value) is not dict:
        raise CelError("no such overload")
    found = value.get(name, value.get(fallback, MISSING))
    return NONE if found is MISSING else Optional(True, found)


def _junction(left: Evaluate, right: Evaluate, *, decisive: bool) -> Evaluate:
    """``&&`` and ``||``: an error on one side does not count when the other side decides."""

    def decide(env: Activation) -> bool:
        try:
            first = left(env)
            if first is decisive:
                return decisive is True
            failure = None if isinstance(first, bool) else CelError("no such overload")
        except CostExceeded:
            raise
        except CelError as error:
            failure = error
        second = right(env)
        if second is decisive:
            return decisive is True
        if failure is not None:
            raise failure
        return _truth(second)

    return decide


def _truth(value: Any) -> bool:
    if value is True or value is False:
        return bool(value)
    raise CelError("no such overload")


def _negation(operand: Evaluate) -> Evaluate:
    def negate(env: Activation) -> bool:
        env.cost += 1
        return not _truth(operand(env))

    return negate


def _choice(condition: Evaluate, chosen: Evaluate, other: Evaluate) -> Evaluate:
    def choose(env: Activation) -> Any:
        return chosen(env) if _truth(condition(env)) else other(env)

    return choose


def _index(operand: Evaluate, key: Evaluate, optional: bool) -> Evaluate:
    def index(env: Activation) -> Any:
        env.cost += 1
        value, at = operand(env), key(env)
        if not optional and not isinstance(value, Optional):
            return _element(value, at)
        if isinstance(value, Optional):
            if not value.present:
                return NONE
            value = value.value
        try:
            return Optional(True, _element(value, at))
        except CelError as error:
            if str(error).startswith(("no such key", "index out of bounds")):
                return NONE
            raise

    return index


def _element(value: Any, at: Any) -> Any:
    if isinstance(value, list):
        if isinstance(at, bool) or not isinstance(at, int | float) or at != int(at):
            raise CelError("unsupported index type")
        if not 0 <= at < len(value):
            raise CelError(f"index out of bounds: {int(at)}")
        return value[int(at)]
    if isinstance(value, dict):
        found = find_key(value, at)
        if found is MISSING:
            raise CelError(f"no such key: {at}")
        return found
    raise CelError("no such overload")


def _direct(overload: Overload, args: list[Evaluate]) -> Evaluate:
    body, cost = overload.body, overload.cost
    if cost is not None:

        def costly(env: Activation) -> Any:
            values = [arg(env) for arg in args]
            env.charge(cost(*map(size_of, values)))
            return body(*values)

        return costly
    if len(args) == 1:
        only = args[0]

        def unary(env: Activation) -> Any:
            env.cost += 1
            return body(only(env))

        return unary
    if len(args) == 2:
        first, second = args

        def binary(env: Activation) -> Any:
            env.cost += 1
            return body(first(env), second(env))

        return binary

    def call(env: Activation) -> Any:
        env.cost += 1
        return body(*[arg(env) for arg in args])

    return call


def _dispatched(overloads: list[Overload], args: list[Evaluate]) -> Evaluate:
    """A call whose meaning shows only when its arguments are there."""

    def call(env: Activation) -> Any:
        values = [arg(env) for arg in args]
        for overload in overloads:
            if all(is_of(kind, value) for kind, value in zip(overload.args, values, strict=True)):
                env.charge(1 if overload.cost is None else overload.cost(*map(size_of, values)))
                return overload.body(*values)
        raise CelError("no such overload")

    return call


def is_of(kind: Type, value: Any) -> bool:
    """Whether a value is of a type; parameters of types are not looked into."""
    if _is_open(kind):
        return True
    if kind.name == "int":
        return type(value) is int
    if kind.name == "uint":
        return isinstance(value, Uint)
    known = _CLASSES.get(kind.name)
    if known is None:
        return getattr(type(value), "cel_type", None) == kind.name
    return isinstance(value, known)


class _Loop:
    """A macro over a list or map. Each turn is charged what the unrolled fold would cost."""

    def __init__(self, compiler: _Compiler, expr: Comprehension) -> None:
        self.kind = expr.kind
        self.over = compiler.of(expr.range)
        self.index, self.item = expr.index, expr.item
        self.condition = compiler.of(expr.condition) if expr.condition is not None else None
        self.body = compiler.of(expr.body) if expr.body is not None else None

    def compiled(self) -> Evaluate:
        runs: dict[str, Callable[[Activation, Any], Any]] = {
            "all": lambda env, over: self._quantified(env, over, decisive=False),
            "exists": lambda env, over: self._quantified(env, over, decisive=True),
            "exists_one": self._exactly_one,
            "filter": self._listed,
            "map": self._listed,
            "transformList": self._listed,
            "transformMap": self._mapped,
            "transformMapEntry": self._mapped,
            "optMap": self._optional,
            "optFlatMap": self._optional,
        }
        run, over = runs[self.kind], self.over
        names = [name for name in (self.index, self.item) if name is not None]

        def loop(env: Activation) -> Any:
            value = over(env)
            outer = {name: env.variables[name] for name in names if name in env.variables}
            try:
                env.charge(1)
                return run(env, value)
            finally:
                for name in names:
                    env.variables.pop(name, None)
                env.variables.update(outer)

        return loop

    def _turns(self, env: Activation, over: Any, units: float) -> Any:
        """Set the variables for each turn."""
        variables, index, item = env.variables, self.index, self.item
        if isinstance(over, dict):
            entries: Any = over.items() if index is not None else ((None, key) for key in over)
        elif isinstance(over, list):
            entries = enumerate(over)
        else:
            raise CelError("no such overload")
        for first, second in entries:
            env.charge(units)
            if index is not None:
                variables[index] = first
            variables[item] = second
            yield first, second

    def _quantified(self, env: Activation, over: Any, *, decisive: bool) -> bool:
        failure: CelError | None = None
        assert self.body is not None, "a quantifier has a predicate"
        for _ in self._turns(env, over, 4 if decisive else 3):
            try:
                value = self.body(env)
            except CostExceeded:
                raise
            except CelError as error:
                failure = error
                continue
            if value is decisive:
                return decisive is True
            if not isinstance(value, bool):
                failure = CelError("no such overload")
        if failure is not None:
            raise failure
        return not decisive

    def _exactly_one(self, env: Activation, over: Any) -> bool:
        assert self.body is not None, "a quantifier has a predicate"
        return sum(1 for _ in self._turns(env, over, 2) if self._holds(env, self.body)) == 1

    @staticmethod
    def _holds(env: Activation, predicate: Evaluate) -> bool:
        return _truth(predicate(env))

    def _listed(self, env: Activation, over: Any) -> list[Any]:
        env.charge(LIST_COST)
        found = []
        for _, item in self._turns(env, over, 1):
            if self.condition is not None and not self._holds(env, self.condition):
                continue
            env.charge(LIST_COST + 1)
            found.append(item if self.body is None else self.body(env))
        return found

    def _mapped(self, env: Activation, over: Any) -> dict[Any, Any]:
        assert self.body is not None, "a transformation has a result"
        env.charge(MAP_COST)
        found: dict[Any, Any] = {}
        for key, _ in self._turns(env, over, 2):
            if self.condition is not None and not self._holds(env, self.condition):
                continue
            value = self.body(env)
            for name, member in value.items() if self.kind == "transformMapEntry" else ((key, value),):
                if name in found:
                    raise CelError(f"insert failed: key {name} already exists")
                found[name] = member
        return found

    def _optional(self, env: Activation, over: Any) -> Optional:
        assert self.body is not None, "an optional map has a result"
        if not isinstance(over, Optional):
            raise CelError("no such overload")
        if not over.present:
            return NONE
        env.variables[self.item] = over.value
        value = self.body(env)
        if self.kind == "optMap":
            return Optional(True, value)
        return value if isinstance(value, Optional) else NONE
