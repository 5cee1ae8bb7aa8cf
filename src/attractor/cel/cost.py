"""The worst case of a rule, known before any object: each part's largest cost, from the sizes that the schema allows.

Sizes come from ``maxItems``, ``maxProperties`` and ``maxLength``; where a schema says none, from what fits in a
request of three megabytes. The counting follows cel-go's estimator, so the same rules pass and the same are refused.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from attractor.cel.evaluator import LIST_COST, MAP_COST
from attractor.cel.library import times
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
from attractor.cel.types import SCALARS

if TYPE_CHECKING:
    from attractor.cel.checker import Checked
    from attractor.cel.declaration import Declaration
    from attractor.cel.library import Overload

_TURN = {"all": 3, "exists": 4, "exists_one": 2, "optMap": 1, "optFlatMap": 1}


def estimate(checked: Checked, variables: dict[str, Declaration]) -> float:
    """The most units that an evaluation can cost; infinite when nothing bounds it."""
    return _Estimator(checked, dict(variables)).cost(checked.expr)


class _Estimator:
    def __init__(self, checked: Checked, variables: dict[str, Declaration]) -> None:
        self.checked = checked
        self.variables: dict[str, Declaration | None] = dict(variables)
        self.declared: dict[int, Declaration | None] = {}
        self.sizes: dict[int, float] = {}

    def size(self, expr: Expr) -> float:
        """The most elements that a part's value can have."""
        if (known := self.sizes.get(id(expr))) is not None:
            return known
        if (declared := self.declared.get(id(expr))) is not None:
            return declared.max_elements
        return 1 if self.checked.type_of(expr) in SCALARS else math.inf

    def cost(self, expr: Expr) -> float:
        """The most units that a part can cost; also notes its size."""
        match expr:
            case Literal():
                self.sizes[id(expr)] = len(expr.value) if isinstance(expr.value, str | bytes) else 1
                return 0
            case Ident():
                self.declared[id(expr)] = self.variables.get(expr.name)
                return 1
            case Select():
                return self._select(expr)
            case Call():
                return self._call(expr)
            case ListLiteral():
                self.sizes[id(expr)] = len(expr.items)
                return LIST_COST + sum(self.cost(item) for item in expr.items)
            case MapLiteral():
                self.sizes[id(expr)] = len(expr.entries)
                return MAP_COST + sum(self.cost(key) + self.cost(value) for key, value, _ in expr.entries)
            case Comprehension():
                return self._loop(expr)
            case _:
                raise TypeError(f"no expression: {expr!r}")

    def _select(self, expr: Select) -> float:
        operand = self.cost(expr.operand)
        declared = self.declared.get(id(expr.operand))
        if declared is not None:
            known = declared.fields.get(expr.field)
            self.declared[id(expr)] = known[1] if known is not None else declared.element
        if expr.test_only:
            return operand
        selectable = self.checked.type_of(expr.operand).name not in {"dyn", "optional_type"}
        return operand + (1 if selectable else 0)

    def _call(self, expr: Call) -> float:
        args = [*([expr.target] if expr.target is not None else []), *expr.args]
        costs = [self.cost(arg) for arg in args]
        if expr.function in {"_&&_", "_||_"}:
            return sum(costs)
        if expr.function == "_?_:_":
            self.sizes[id(expr)] = max(self.size(args[1]), self.size(args[2]))
            return costs[0] + max(costs[1:])
        if expr.function in {"_[_]", "_[?_]"}:
            declared = self.declared.get(id(args[0]))
            self.declared[id(expr)] = declared.element if declared is not None else None
            return 1 + sum(costs)
        if expr.function == "!_":
            return 1 + sum(costs)
        sizes = [self.size(arg) for arg in args]
        overloads = self.checked.overloads[id(expr)]
        results = [overload.result_size(*sizes) for overload in overloads if overload.result_size is not None]
        if results:
            self.sizes[id(expr)] = max(results)
        return sum(costs) + max(self._own(overload, args, sizes) for overload in overloads)

    def _own(self, overload: Overload, args: list[Expr], sizes: list[float]) -> float:
        if overload.cost is None:
            return 1
        own = overload.cost(*sizes)
        declared = self.declared.get(id(args[0])) if args else None
        element = declared.element if declared is not None else None
        if overload.is_member and overload.args[0].name == "list" and element is not None:
            if overload.name == "join":
                return math.ceil(
                    min(times(sizes[0], element.max_elements + (sizes[1] if len(sizes) > 1 else 0)) / 10, 2**62)
                )
            if element.type.name in {"string", "bytes"}:
                return times(sizes[0], 1 + math.ceil(element.max_elements / 10))
        return own

    def _loop(self, expr: Comprehension) -> float:
        over = self.cost(expr.range)
        declared = self.declared.get(id(expr.range))
        is_map = self.checked.type_of(expr.range).name == "map"
        item = declared.element if declared is not None else None
        if is_map and expr.index is None and declared is not None:
            item = declared.key
        names = {expr.item: item}
        if expr.index is not None:
            names[expr.index] = declared.key if declared is not None and is_map else None
        outer = {name: self.variables.get(name) for name in names}
        self.variables.update(names)
        parts = [part for part in (expr.condition, expr.body) if part is not None]
        turn = sum(self.cost(part) for part in parts)
        self.variables.update(outer)
        count = 1 if expr.kind.startswith("opt") else self.size(expr.range)
        setup = 1 + (LIST_COST if expr.kind in {"map", "filter", "transformList"} else 0)
        if expr.kind.startswith("transformMap"):
            setup += MAP_COST
        if expr.kind not in {"all", "exists", "exists_one"}:
            self.sizes[id(expr)] = count
        per_turn = _TURN.get(expr.kind, LIST_COST + 2 + (1 if expr.kind == "filter" else 0))
        return over + setup + times(count, per_turn + turn)
