"""Context of one translation: identifiers, constants, the operators that helper methods become."""

from __future__ import annotations

import inspect
import re
import types
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from attractor.check.spec.declarations import Constant, Declared, MapVariable, SetVariable, Variable, elements
from attractor.check.tla.shapes import ANY, BOOL, Shape, literal, names_of, of_annotation, of_value
from attractor.check.tla.source import Constants, NotKnown, OutsideSubset
from attractor.check.tla.terms import Scope, Term

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from attractor.check.spec.spec import Spec

_STANDARD = """
    Append Head Tail Len Seq SubSeq SelectSeq Cardinality IsFiniteSet Nat Int Real Print PrintT Assert JavaTime TLCGet
    TLCSet Permutations SortSeq ToString RandomElement TLCEval Any Init Next Spec Safe Fairness vars NULL BOOLEAN STRING
    DOMAIN UNION SUBSET ENABLED UNCHANGED CHOOSE EXCEPT LET IN IF THEN ELSE CASE OTHER MODULE INSTANCE EXTENDS CONSTANT
    CONSTANTS VARIABLE VARIABLES ASSUME THEOREM LAMBDA LOCAL RECURSIVE WITH TRUE FALSE WF SF STATE ACTION TEMPORAL
    PROOF BY DEF QED HAVE TAKE WITNESS PICK USE HIDE DEFINE SUFFICES NEW
"""
RESERVED = frozenset(_STANDARD.split())
"""Keywords, what the standard modules define, and what every exported module defines."""


def camel(name: str) -> str:
    """``create_policy`` as TLA+ writers name an operator: ``CreatePolicy``."""
    return "".join(part[:1].upper() + part[1:] for part in name.split("_") if part)


class Context:
    """One translation's memory."""

    def __init__(self, spec: Spec) -> None:
        self.spec = spec
        self.taken: set[str] = set()
        self.frozen: set[str] = set()
        self.used: set[str] = set()
        self.sets: dict[str, str] = {}
        self.operators: dict[Any, str] = {}
        self.definitions: list[list[str]] = []
        self.variables: dict[str, Variable] = dict(spec.of(Variable))
        self.constants: dict[str, Constant] = dict(spec.of(Constant))
        for name in (*self.variables, *self.constants):
            if name in RESERVED or not re.fullmatch(r"[A-Za-z_]*[A-Za-z][A-Za-z0-9_]*", name):
                raise OutsideSubset(f"{spec.name}: `{name}` is not a name that TLA+ allows here; rename it")
            self.taken.add(name)

    def fresh(self, wanted: str, bound: frozenset[str] = frozenset()) -> str:
        """An identifier that nothing else uses."""
        number, name = 1, wanted
        while name in RESERVED or name in self.taken or name in bound:
            number += 1
            name = f"{wanted}_{number}"
        return name

    def claim(self, wanted: str) -> str:
        """A module-wide identifier."""
        name = self.fresh(wanted)
        self.taken.add(name)
        return name

    @contextmanager
    def undone_on_refusal(self) -> Iterator[None]:
        """Forget the definitions made inside if what they are for is refused."""
        before = (list(self.definitions), dict(self.operators), set(self.taken), set(self.used), set(self.frozen))
        try:
            yield
        except OutsideSubset:
            self.definitions[:] = before[0]
            self.operators, self.taken, self.used, self.frozen = before[1:]
            raise

    # Constants

    def constant(self, name: str) -> Term:
        """A constant by its name; the configuration gives it its value."""
        self.used.add(name)
        value = self.spec.constants[name]
        return Term(name, of_value(value), value=value)

    def freezing(self) -> Constants:
        """``self`` for computations at the time of the export: the constants they read are fixed in the module."""
        return Constants(self.spec, self.frozen)

    def finite_set(self, source: Any) -> tuple[str, Shape]:
        """A parameter's finite set as TLA+, and the shape of its elements."""
        if isinstance(source, Constant):
            name, value = source.name, self.spec.constants[source.name]
            if isinstance(value, int):
                self.used.add(name)
                if name not in self.sets:
                    self.sets[name] = self.claim(camel(name))
                return self.sets[name], Shape("int")
            self.frozen.add(name)
        elif callable(source):
            try:
                source = source(self.freezing())
            except NotKnown as problem:
                raise OutsideSubset(f"{self.spec.name}: a finite set depends on `{problem}`, a variable") from None
        values = frozenset(elements(source, self.spec))
        text = literal(values)
        if text is None:
            raise OutsideSubset(f"{self.spec.name}: the elements of {set(values)!r} have no form in TLA+")
        return text, of_value(values).inside()

    # Variables

    def shape_of(self, name: str) -> Shape:
        """The shape of a variable: by annotation, otherwise by its initial value."""
        for owner in type(self.spec).__mro__:
            annotation = inspect.get_annotations(owner).get(name)
            if annotation is not None:
                found = of_annotation(annotation, names_of(owner))
                if found != ANY:
                    return found
        variable = self.variables[name]
        if isinstance(variable, SetVariable):
            return Shape("set", self.finite_set(variable.keys)[1])
        if isinstance(variable, MapVariable):
            keys = elements(variable.keys, self.spec)
            first = variable.initial(keys[0]) if callable(variable.initial) and keys else variable.initial
            return Shape("fun", of_value(first), self.finite_set(variable.keys)[1])
        return of_value(variable.initial(self.freezing()) if callable(variable.initial) else variable.initial)

    def here(self, *, primed: bool = False) -> Scope:
        """The scope of a formula: every variable has its value in the state (or in the next one)."""
        mark = "'" if primed else ""
        return Scope({}, {name: Term(name + mark, self.shape_of(name)) for name in self.variables})

    def initial_term(self, name: str) -> Term:
        """The initial value of a variable, as declared."""
        variable = self.variables[name]
        if not isinstance(variable, MapVariable):
            value = variable.initial(self.freezing()) if callable(variable.initial) else variable.initial
            return self._literal(name, value)
        values = {
            key: variable.initial(key) if callable(variable.initial) else variable.initial
            for key in elements(variable.keys, self.spec)
        }
        domain, _ = self.finite_set(variable.keys)
        if isinstance(variable, SetVariable):
            return self._literal(name, frozenset(key for key, within in values.items() if within))
        if len(set(values.values())) == 1:
            inside = self._literal(name, next(iter(values.values())))
            key = self.fresh("k")
            return Term(f"[{key} \\in {domain} |-> {inside.text}]", self.shape_of(name))
        if isinstance(variable.keys, Constant):
            self.frozen.add(variable.keys.name)
        return self._literal(name, values)

    def _literal(self, name: str, value: Any) -> Term:
        text = literal(value)
        if text is None:
            raise OutsideSubset(f"{self.spec.name}.{name}: its initial value {value!r} has no form in TLA+")
        return Term(text, self.shape_of(name))

    # Operators

    def method(self, name: str, after: type | None = None) -> types.FunctionType | None:
        """The method that ``self.name`` is, or ``super().name`` in a method of the class ``after``."""
        order = type(self.spec).__mro__
        for owner in order[order.index(after) + 1 :] if after else order:
            if name in vars(owner):
                found = vars(owner)[name]
                found = found.function if isinstance(found, Declared) else found
                return found if isinstance(found, types.FunctionType) else None
        return None

    def operator(self, key: Any, wanted: str, make: Callable[[str], list[str]]) -> str:
        """The operator that a helper becomes; ``make(name)`` gives its definition, the first time."""
        if key not in self.operators:
            name = self.claim(wanted)
            self.definitions.append(make(name))
            self.operators[key] = name
        return self.operators[key]


def boolean(term: Term, refuse: Callable[[str], OutsideSubset]) -> Term:
    """The truth of a term, as Python sees it."""
    shape, text = term.shape, term.inner
    empty: Mapping[str, str] = {"seq": "<<>>", "set": "{}", "int": "0", "text": '""', "record": ""}
    if shape.kind == "bool" and not shape.optional:
        return term
    if shape.kind == "null":
        return Term("FALSE", BOOL)
    if shape.kind not in empty:
        raise refuse(f"whether `{term.text}` counts as true depends on its type; annotate it, or compare explicitly")
    nothing = [each for each in ("NULL" if shape.optional else "", empty[shape.kind]) if each]
    if not nothing:
        return Term("TRUE", BOOL)
    if len(nothing) == 1:
        return Term(f"{text} # {nothing[0]}", BOOL, atomic=False, operator="#", parts=(text, nothing[0]))
    return Term(f"{text} \\notin {{{', '.join(nothing)}}}", BOOL, atomic=False)
