"""A compiled CEL expression: the small interface for everything that evaluates one.

>>> program = CelProgram.compile("object.replicas <= limit", variables={"object": DYN, "limit": INT})
>>> program.evaluate({"object": {"replicas": 3}, "limit": 5})
True
>>> program.evaluate({"object": {}, "limit": 5})
Traceback (most recent call last):
    ...
attractor.cel.values.CelError: no such key: replicas
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from attractor.cel.checker import Checked, check, syntax_error
from attractor.cel.cost import estimate
from attractor.cel.declaration import Declaration
from attractor.cel.evaluator import Activation, Evaluate, compile_expression
from attractor.cel.parser import parse
from attractor.cel.syntax import CelSyntaxError, mentions, with_dotted_names
from attractor.cel.types import DYN, INT, Type
from attractor.cel.values import CelError

__all__ = ["DYN", "INT", "PER_CALL_LIMIT", "CelProgram"]

PER_CALL_LIMIT = 1_000_000
"""The most units that one evaluation may cost, as in Kubernetes."""


@dataclass(frozen=True, slots=True)
class CelProgram:
    """An expression, ready to run. Programs do not change and may be shared."""

    text: str
    result: Type
    max_cost: float
    _run: Evaluate
    _checked: Checked

    @classmethod
    def compile(
        cls, text: str, variables: dict[str, Type | Declaration], messages: frozenset[str] = frozenset()
    ) -> CelProgram:
        """Read and check an expression over typed variables; raises ``CelCheckError`` saying where it is wrong.

        ``messages`` are types of which objects can be made (``parse``).
        """
        declared = {name: kind for name, kind in variables.items() if isinstance(kind, Declaration)}
        types = {name: kind.type if isinstance(kind, Declaration) else kind for name, kind in variables.items()}
        try:
            checked = check(with_dotted_names(parse(text, messages), types), text, types, _objects(declared))
        except CelSyntaxError as error:
            raise syntax_error(error, text) from None
        max_cost = estimate(checked, declared)
        return cls(text, checked.type_of(checked.expr), max_cost, compile_expression(checked), checked)

    def evaluate(self, bindings: dict[str, Any], *, limit: float = PER_CALL_LIMIT) -> Any:
        """The value; raises ``CelError``, of which ``CostExceeded`` says that it would cost too much."""
        return self.evaluate_counting(bindings, limit)[0]

    def evaluate_counting(self, bindings: dict[str, Any], limit: float) -> tuple[Any, float]:
        """The value, and what it cost."""
        env = Activation(dict(bindings), limit)
        try:
            value = self._run(env)
        except CelError as error:
            error.cost = env.cost
            raise
        except (TypeError, AttributeError, RecursionError):
            # a value that is not of its declared type, which only objects older than their schema can hold
            failure = CelError("no such overload")
            failure.cost = env.cost
            raise failure from None
        return value, env.cost

    def uses(self, variable: str) -> bool:
        """Whether a variable occurs."""
        return mentions(self._checked.expr, variable)


def _objects(declared: dict[str, Declaration]) -> dict[str, Declaration]:
    """All object types below the variables, by name."""
    found: dict[str, Declaration] = {}
    pending = list(declared.values())
    while pending:
        one = pending.pop()
        if one.type.name in found:
            continue
        if one.fields or one.type.name.startswith(("selfType", "kubernetes.")):
            found[one.type.name] = one
        pending += [child for _, child in one.fields.values()]
        if one.element is not None:
            pending.append(one.element)
    return found
