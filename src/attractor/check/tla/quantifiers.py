"""``for x in ...`` inside an expression: quantifiers, comprehensions, membership, counting."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING

from attractor.check.tla.formula import AND
from attractor.check.tla.shapes import ANY, BOOL, INT, Shape, literal
from attractor.check.tla.source import NotKnown, OutsideSubset
from attractor.check.tla.terms import Scope, Term, joined, known
from attractor.check.tla.translator import Bound, Translator

if TYPE_CHECKING:
    from collections.abc import Sequence

Comprehension = ast.GeneratorExp | ast.SetComp | ast.ListComp


class Quantifiers(Translator):
    """The part of the translator that binds variables."""

    def as_set(self, node: ast.AST, term: Term) -> Term:
        """The elements of a collection, as a set."""
        if term.is_known and isinstance(term.value, tuple | list | range | set | frozenset | dict):
            text = literal(frozenset(term.value))
            if text:
                return Term(text, Shape("set", term.shape.key if isinstance(term.value, dict) else term.shape.inside()))
        match term.shape.kind:
            case "set":
                return term
            case "fun":
                return Term(f"DOMAIN {term.inner}", Shape("set", term.shape.key), atomic=False)
            case "seq":
                name = self.context.operator("Range", "RangeOf", self._range_of)
                return Term(f"{name}({term.text})", Shape("set", term.shape.inside()))
        raise self.outside(node, f"`{term.text}` is not known to be a collection; annotate it")

    def _range_of(self, name: str) -> list[str]:
        sequence, place = self.context.fresh("s"), self.context.fresh("i")
        return [f"{name}({sequence}) == {{{sequence}[{place}] : {place} \\in DOMAIN {sequence}}}"]

    def members(self, node: ast.expr, scope: Scope) -> Term:
        """The set that ``in`` looks into, or that ``for`` goes through."""
        if isinstance(node, ast.Tuple | ast.List | ast.Set) and not any(isinstance(e, ast.Starred) for e in node.elts):
            parts = [self.written(each, scope) for each in node.elts]
            shape = parts[0].shape if parts else ANY
            return Term("{" + ", ".join(each.text for each in parts) + "}", Shape("set", shape))
        if isinstance(node, Comprehension):
            return self.set_of(node, scope)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "range":
            return self._range(node, scope)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in {"keys", "values"}:
            owner = self.written(node.func.value, scope)
            if owner.shape.kind == "fun":
                keys = self.as_set(node, owner)
                if node.func.attr == "keys":
                    return keys
                key = self.context.fresh("k", scope.used)
                return Term(f"{{{owner.inner}[{key}] : {key} \\in {keys.text}}}", Shape("set", owner.shape.inside()))
        return self.as_set(node, self.term(node, scope))

    def _range(self, node: ast.Call, scope: Scope) -> Term:
        if len(node.args) > 2:
            raise self.outside(node, "a range with a step has no translation")
        parts = [self.written(each, scope) for each in node.args]
        start = parts[0].inner if len(parts) == 2 else "0"
        return Term(f"{start} .. ({parts[-1].inner} - 1)", Shape("set", INT), atomic=False)

    def bind(self, generator: ast.comprehension, scope: Scope) -> Bound:
        """Bind the variable of one ``for``; ``for k, v in map.items()`` makes v the map's value at k."""
        target, source = generator.target, generator.iter
        items = isinstance(source, ast.Call) and isinstance(source.func, ast.Attribute) and source.func.attr == "items"
        if items and isinstance(target, ast.Tuple) and isinstance(source, ast.Call):
            assert isinstance(source.func, ast.Attribute)
            owner = self.written(source.func.value, scope)
            key, value = target.elts
            if owner.shape.kind != "fun" or not (isinstance(key, ast.Name) and isinstance(value, ast.Name)):
                raise self.outside(source, "`.items()` is translated for maps, as `for key, value in ...`")
            bound = self._bound(key.id, self.as_set(source, owner), scope)
            inner = bound.scope.with_name(value.id, Term(f"{owner.inner}[{bound.name}]", owner.shape.inside()))
            bound = replace(bound, scope=inner)
        elif isinstance(target, ast.Name):
            bound = self._bound(target.id, self.members(source, scope), scope)
        else:
            raise self.outside(target, f"`for {ast.unparse(target)}` has no translation; use one name")
        with self.lazily():
            conditions = tuple(self.truth(each, bound.scope).inner for each in generator.ifs)
        return replace(bound, conditions=conditions)

    def _bound(self, wanted: str, options: Term, scope: Scope) -> Bound:
        name = self.context.fresh(wanted, scope.used)
        shape = options.shape.inside()
        return Bound(name, options.text, shape, scope.binding(name).with_name(wanted, Term(name, shape)))

    def quantified(self, node: ast.Call, scope: Scope, *, every: bool) -> Term:
        """``all(...)`` and ``any(...)``."""
        (argument,) = node.args
        if not isinstance(argument, Comprehension):
            raise self.outside(node, "`all` and `any` are translated with a `... for x in ...` inside")
        try:
            return self._quantified(argument.elt, argument.generators, scope, every=every)
        except OutsideSubset as problem:
            return self._unrolled(argument, scope, problem, every=every)

    def _quantified(
        self, body: ast.expr, generators: Sequence[ast.comprehension], scope: Scope, *, every: bool
    ) -> Term:
        bound = self.bind(generators[0], scope)
        with self.lazily():
            if len(generators) > 1:
                inside = self._quantified(body, generators[1:], bound.scope, every=every)
            else:
                inside = self.truth(body, bound.scope)
        mark = "\\A" if every else "\\E"
        if bound.conditions:
            condition = " /\\ ".join(bound.conditions)
            text = f"({condition}) => {inside.inner}" if every else f"{condition} /\\ {inside.inner}"
        else:
            text = inside.text
        return Term(f"{mark} {bound.name} \\in {bound.options} : {text}", BOOL, atomic=False)

    def _unrolled(self, argument: Comprehension, scope: Scope, problem: OutsideSubset, *, every: bool) -> Term:
        """A quantifier over values known beforehand, one by one: for bodies that need the value itself."""
        (generator, *more) = argument.generators
        if more or generator.ifs or not isinstance(generator.target, ast.Name):
            raise problem
        try:
            values = tuple(self.value(generator.iter, scope))
        except NotKnown:
            raise problem from None
        with self.lazily():
            name = generator.target.id
            parts = [self.truth(argument.elt, scope.with_name(name, known(each))) for each in values]
        return joined("/\\" if every else "\\/", parts) if parts else known(every)

    def set_of(self, node: Comprehension, scope: Scope) -> Term:
        """``{f(x) for x in S if p(x)}``."""
        if len(node.generators) != 1:
            raise self.outside(node, "a set is built from one `for`; nest sets instead")
        bound = self.bind(node.generators[0], scope)
        with self.lazily():
            value = self.written(node.elt, bound.scope)
        options = bound.options
        if bound.conditions:
            options = f"{{{bound.name} \\in {options} : {AND.join(bound.conditions)}}}"
            if value.text == bound.name:
                return Term(options, Shape("set", value.shape))
            inner = self.context.fresh(f"{bound.name}_", scope.used | {bound.name})
            options = f"{{{inner} \\in {bound.options} : {_renamed(bound, inner)}}}"
        elif value.text == bound.name:
            return Term(bound.options, Shape("set", value.shape), atomic=False)
        return Term(f"{{{value.text} : {bound.name} \\in {options}}}", Shape("set", value.shape))

    def counted(self, node: ast.Call, scope: Scope) -> Term:
        """``sum(1 for x in S if p(x))`` and ``sum(p(x) for x in S)``: how many."""
        (argument,) = node.args
        if not isinstance(argument, Comprehension) or len(argument.generators) != 1:
            raise self.outside(node, "`sum` is translated for counting: `sum(1 for x in ... if ...)`")
        generator = argument.generators[0]
        bound = self.bind(generator, scope)
        if self.term_shape(generator.iter, scope) == "seq":
            raise self.outside(node, "counting the elements of a tuple has no translation; count in a set")
        conditions = list(bound.conditions)
        if not (isinstance(argument.elt, ast.Constant) and argument.elt.value == 1):
            body = self.written(argument.elt, bound.scope)
            if body.shape.kind != "bool":
                raise self.outside(node, "`sum` is translated for counting: `sum(1 for x in ... if ...)`")
            conditions.append(body.inner)
        chosen = f"{{{bound.name} \\in {bound.options} : {AND.join(conditions)}}}" if conditions else bound.options
        return Term(f"Cardinality({chosen})", INT)

    def term_shape(self, node: ast.expr, scope: Scope) -> str:
        """The kind of a collection; empty where it is only a set of options."""
        try:
            return self.term(node, scope).shape.kind
        except OutsideSubset:
            return ""


def _renamed(bound: Bound, inner: str) -> str:
    """The conditions with another bound variable, because TLA+ forbids to use one name twice."""
    import re

    pattern = re.compile(rf"(?<![\w!.]){re.escape(bound.name)}(?!\w)")
    return " /\\ ".join(pattern.sub(inner, each) for each in bound.conditions)
