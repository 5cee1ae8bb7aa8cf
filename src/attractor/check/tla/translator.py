"""Base of the expression translator's parts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import ast
    from collections.abc import Callable, Iterator

    from attractor.check.tla.context import Context
    from attractor.check.tla.shapes import Shape
    from attractor.check.tla.source import OutsideSubset, Source
    from attractor.check.tla.terms import Scope, Term


@dataclass(frozen=True)
class Bound:
    """A variable bound by a quantifier: its identifier, the set it ranges over, and the scope inside."""

    name: str
    options: str
    shape: Shape
    scope: Scope
    conditions: tuple[str, ...] = ()


class Translator(ABC):
    """Translates the expressions of one function (``source``) of a specification."""

    def __init__(self, context: Context, source: Source) -> None:
        self.context = context
        self.source = source
        self.choices: list[tuple[str, str]] | None = None
        self.choice_name = "choice"
        self._lazy = 0

    def outside(self, node: ast.AST, reason: str) -> OutsideSubset:
        """The refusal of ``node``."""
        return self.source.outside(node, reason)

    @contextmanager
    def lazily(self) -> Iterator[None]:
        """Inside: expressions that may not be evaluated at all, so that nothing may be chosen there."""
        self._lazy += 1
        try:
            yield
        finally:
            self._lazy -= 1

    @property
    def is_lazy(self) -> bool:
        """Whether the expression at hand may not be evaluated at all."""
        return self._lazy > 0

    @abstractmethod
    def term(self, node: ast.expr, scope: Scope) -> Term:
        """The translation of ``node``."""

    @abstractmethod
    def written(self, node: ast.expr, scope: Scope) -> Term:
        """The translation of ``node``, which must have a text."""

    @abstractmethod
    def truth(self, node: ast.expr, scope: Scope) -> Term:
        """The truth of ``node``, as Python sees it."""

    @abstractmethod
    def value(self, node: ast.expr, scope: Scope) -> Any:
        """The Python value of ``node``; ``NotKnown`` if it depends on the state."""

    @abstractmethod
    def settled(self, node: ast.expr, scope: Scope) -> Any:
        """The Python value of ``node``, which must be known before exploring."""

    @abstractmethod
    def inline(self, node: ast.expr, function: Callable[..., Any], arguments: list[Term], scope: Scope) -> Term:
        """The value that a pure function has for these arguments."""
