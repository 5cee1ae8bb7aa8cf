"""Terms: pieces of TLA+ with what the translation knows of them; scopes: what names mean at one place."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from attractor.check.tla.shapes import ANY, BOOL, Shape, literal, of_value

if TYPE_CHECKING:
    from collections.abc import Mapping

_OPPOSITE = {"=": "#", "#": "=", "\\in": "\\notin", "\\notin": "\\in", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
UNKNOWN: Any = object()
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True)
class Term:
    """A piece of TLA+. ``value`` is its Python value where that is known before exploring.

    ``parts`` of ``operator`` keep conjunctions and comparisons apart, so that they can be laid out and negated well;
    ``base`` and ``updates`` do the same for ``[base EXCEPT ...]``.
    """

    text: str
    shape: Shape = ANY
    atomic: bool = True
    value: Any = UNKNOWN
    operator: str = ""
    parts: tuple[str, ...] = ()
    base: str = ""
    updates: tuple[tuple[str, str], ...] = ()

    @property
    def inner(self) -> str:
        """The text as an operand."""
        return self.text if self.atomic else f"({self.text})"

    @property
    def is_known(self) -> bool:
        """Whether the Python value is known."""
        return self.value is not UNKNOWN


def known(value: Any) -> Term:
    """The term of a Python value; its text is empty if TLA+ cannot write it."""
    text = literal(value)
    return Term(text or "", of_value(value), value=value)


def operation(operator: str, parts: tuple[Term, ...], shape: Shape) -> Term:
    """``a op b op c``."""
    texts = tuple(each.inner for each in parts)
    return Term(f" {operator} ".join(texts), shape, atomic=False, operator=operator, parts=texts)


def joined(operator: str, parts: list[Term]) -> Term:
    """A conjunction or disjunction; one of the same kind inside is flattened."""
    texts: list[str] = []
    for each in parts:
        texts += each.parts if each.operator == operator else [each.text if each.operator in _OPPOSITE else each.inner]
    if len(texts) == 1:
        return parts[0]
    return Term(f" {operator} ".join(texts), BOOL, atomic=False, operator=operator, parts=tuple(texts))


def negated(term: Term) -> Term:
    """``~term``, as an author would write it."""
    opposite = _OPPOSITE.get(term.operator)
    if opposite and len(term.parts) == 2:
        left, right = term.parts
        return Term(f"{left} {opposite} {right}", BOOL, atomic=False, operator=opposite, parts=term.parts)
    if term.operator == "~":
        return Term(term.parts[0], BOOL, atomic=False)
    if term.text in {"TRUE", "FALSE"}:
        return known(term.text == "FALSE")
    return Term(f"~{term.inner}", BOOL, atomic=True, operator="~", parts=(term.inner,))


def changed(base: Term, updates: tuple[tuple[str, str], ...]) -> Term:
    """``[base EXCEPT !... = ...]``; further changes of a changed term join the list."""
    start, earlier = (base.base, base.updates) if base.base else (base.inner, ())
    merged = (*earlier, *updates)
    listed = ", ".join(f"!{place} = {value}" for place, value in merged)
    return Term(f"[{start} EXCEPT {listed}]", base.shape, base=start, updates=merged)


@dataclass(frozen=True)
class Myself:
    """The value of ``self`` (or of ``step.after``): the specification, in the state that the scope describes."""

    primed: bool = False


@dataclass(frozen=True)
class ThisStep:
    """The value of the ``step`` that a step property judges."""


@dataclass(frozen=True)
class Scope:
    """Scope of names at one place: locals, the current value of each variable, the identifiers in use."""

    names: Mapping[str, Term]
    state: Mapping[str, Term]
    bound: frozenset[str] = frozenset()

    def with_name(self, name: str, term: Term) -> Scope:
        """The scope in which ``name`` means ``term``."""
        return replace(self, names={**self.names, name: term})

    def with_state(self, name: str, term: Term) -> Scope:
        """The scope after ``name`` was assigned ``term``."""
        return replace(self, state={**self.state, name: term})

    def binding(self, identifier: str) -> Scope:
        """The scope in which ``identifier`` is taken."""
        return replace(self, bound=self.bound | {identifier})

    @property
    def used(self) -> frozenset[str]:
        """What a new identifier here must not be called: those in use, and those inside the terms that may be used.

        TLA+ forbids to bind a name twice, one inside the other.
        """
        inside = (term.text for terms in (self.state, self.names) for term in terms.values())
        return self.bound.union(*(_IDENTIFIER.findall(text) for text in inside))

    @property
    def has_written(self) -> bool:
        """Whether a variable was assigned."""
        return any(term.text != name for name, term in self.state.items())
