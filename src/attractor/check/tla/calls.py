"""Calls: helper methods become operators, builtins their TLA+ counterparts, ``choose`` a quantifier."""

from __future__ import annotations

import ast
import builtins
import types
from abc import abstractmethod
from typing import TYPE_CHECKING, Any

from attractor.check.spec.declarations import Action, Predicate, require
from attractor.check.spec.values import Record
from attractor.check.tla.context import camel
from attractor.check.tla.formula import bulleted, definition
from attractor.check.tla.quantifiers import Comprehension, Quantifiers
from attractor.check.tla.shapes import BOOL, INT, Shape, of_parameter
from attractor.check.tla.source import Source
from attractor.check.tla.terms import Myself, Scope, Term, joined, known

if TYPE_CHECKING:
    from collections.abc import Callable

_SET_METHODS = {"union": "\\cup", "intersection": "\\cap", "difference": "\\"}


class Calls(Quantifiers):
    """The part of the translator that deals with calls, and with functions as expressions."""

    @abstractmethod
    def record(self, node: ast.Call, kind: type, scope: Scope) -> Term:
        """A new record."""

    @abstractmethod
    def but(self, node: ast.Call, owner: Term, scope: Scope) -> Term:
        """A changed record."""

    def call(self, node: ast.Call, scope: Scope) -> Term:
        """Any call."""
        if isinstance(node.func, ast.Attribute):
            if inherited := self.inherited(node.func):
                return self._helper(node, inherited, Myself(), scope)
            owner = self.term(node.func.value, scope)
            if isinstance(owner.value, Myself):
                return self._own_call(node, node.func.attr, owner.value, scope)
            return self._method(node, node.func, owner, scope)
        function = self.term(node.func, scope).value
        if isinstance(function, type) and issubclass(function, Record):
            return self.record(node, function, scope)
        if isinstance(function, types.FunctionType):
            return self._helper(node, function, None, scope)
        return self._builtin(node, function, scope)

    def _builtin(self, node: ast.Call, function: Any, scope: Scope) -> Term:
        if node.keywords:
            raise self.outside(node, f"`{ast.unparse(node)}` has no translation")
        match function:
            case builtins.all | builtins.any:
                return self.quantified(node, scope, every=function is builtins.all)
            case builtins.len:
                return self._len(node, scope)
            case builtins.sum:
                return self.counted(node, scope)
            case builtins.bool:
                return self.truth(node.args[0], scope)
            case builtins.frozenset | builtins.set:
                return self._frozenset(node, scope)
            case builtins.tuple:
                return self._to_tuple(node, scope)
            case builtins.min | builtins.max if len(node.args) == 2:
                one, other = (self.written(each, scope) for each in node.args)
                sign = "<=" if function is builtins.min else ">="
                text = f"IF {one.inner} {sign} {other.inner} THEN {one.text} ELSE {other.text}"
                return Term(text, INT, atomic=False)
        raise self.outside(node, f"`{ast.unparse(node)}` has no translation")

    def _len(self, node: ast.Call, scope: Scope) -> Term:
        term = self.written(node.args[0], scope)
        if term.shape.kind == "seq":
            return Term(f"Len({term.text})", INT)
        return Term(f"Cardinality({self.as_set(node, term).text})", INT)

    def _frozenset(self, node: ast.Call, scope: Scope) -> Term:
        if not node.args:
            return known(frozenset())
        (argument,) = node.args
        if isinstance(argument, Comprehension):
            return self.set_of(argument, scope)
        return self.members(argument, scope)

    def _to_tuple(self, node: ast.Call, scope: Scope) -> Term:
        """``tuple(x for x in sequence if p(x))`` keeps some elements, in order."""
        if not node.args:
            return known(())
        (argument,) = node.args
        if not isinstance(argument, Comprehension):
            term = self.written(argument, scope)
            if term.shape.kind == "seq":
                return term
            raise self.outside(node, "only a tuple can be made a tuple: a set has no order")
        generator = argument.generators[0]
        sequence = self.written(generator.iter, scope)
        if sequence.shape.kind != "seq" or len(argument.generators) > 1 or not isinstance(generator.target, ast.Name):
            raise self.outside(node, "`tuple(...)` is translated for tuples: `tuple(x for x in queue if ...)`")
        name = self.context.fresh(generator.target.id, scope.used)
        inner = scope.binding(name).with_name(generator.target.id, Term(name, sequence.shape.inside()))
        with self.lazily():
            if self.written(argument.elt, inner).text != name:
                raise self.outside(node, "`tuple(...)` may leave elements out, but not change them")
            conditions = [self.truth(each, inner) for each in generator.ifs]
        condition = joined("/\\", conditions).text if conditions else "TRUE"
        return Term(f"SelectSeq({sequence.text}, LAMBDA {name} : {condition})", sequence.shape)

    def _method(self, node: ast.Call, func: ast.Attribute, owner: Term, scope: Scope) -> Term:
        name = func.attr
        if name == "but" and owner.shape.record is not None:
            return self.but(node, owner, scope)
        if name in _SET_METHODS and owner.shape.kind == "set":
            other = self.members(node.args[0], scope)
            return Term(f"{owner.inner} {_SET_METHODS[name]} {other.inner}", owner.shape, atomic=False)
        if name == "get" and owner.shape.kind == "fun" and len(node.args) == 1:
            return Term(f"{owner.inner}[{self.written(node.args[0], scope).text}]", owner.shape.inside())
        method = getattr(owner.shape.record, name, None) if owner.shape.record else None
        if isinstance(method, types.FunctionType):
            return self.inline(node, method, [owner, *(self.written(each, scope) for each in node.args)], scope)
        raise self.outside(node, f"`{ast.unparse(node)}` has no translation")

    # The specification's own words

    def _own_call(self, node: ast.Call, name: str, myself: Myself, scope: Scope) -> Term:
        spec = self.context.spec
        if name == "enabled":
            return self._enabled(node, scope)
        if name == "choose":
            return self._choose(node, scope)
        declared = spec.declared.get(name)
        if isinstance(declared, Predicate):
            return self._helper(node, declared.function, myself, scope)
        found = getattr(type(spec), name, None)
        if isinstance(found, types.FunctionType):
            return self._helper(node, found, myself, scope)
        raise self.outside(node, f"`{ast.unparse(node)}` has no translation")

    def _choose(self, node: ast.Call, scope: Scope) -> Term:
        if self.choices is None or self.is_lazy:
            raise self.outside(
                node, "`choose` is translated as a statement of its own in an action: `x = self.choose(...)`"
            )
        options = self.members(node.args[0], scope)
        name = self.context.fresh(self.choice_name, scope.used | {each for each, _ in self.choices})
        self.choices.append((name, options.text))
        return Term(name, options.shape.inside())

    def _enabled(self, node: ast.Call, scope: Scope) -> Term:
        if scope.has_written:
            raise self.outside(node, "`enabled` after an assignment has no translation")
        first, *arguments = node.args
        name = self.settled(first, scope)
        action = self.context.spec.declared.get(name) if isinstance(name, str) else name
        if not isinstance(action, Action):
            raise self.outside(node, f"there is no action {name!r}")
        operator = self.context.operators.get(("action", action.name))
        if operator is None:
            return Term("FALSE", BOOL)
        if arguments or not action.over:
            given = ", ".join(self.written(each, scope).text for each in arguments)
            return Term(f"ENABLED {operator}({given})" if given else f"ENABLED {operator}", BOOL, atomic=False)
        bound, options = [], scope.bound
        for parameter, over in action.over.items():
            identifier = self.context.fresh(parameter, options)
            options |= {identifier}
            bound.append((identifier, self.context.finite_set(over)[0]))
        ranges = ", ".join(f"{identifier} \\in {over}" for identifier, over in bound)
        step = f"{operator}({', '.join(identifier for identifier, _ in bound)})"
        return Term(f"\\E {ranges} : ENABLED {step}", BOOL, atomic=False)

    # Helper methods

    def _helper(self, node: ast.Call, function: Callable[..., Any], myself: Myself | None, scope: Scope) -> Term:
        arguments = [self.written(each, scope) for each in node.args]
        if node.keywords or any(isinstance(each, ast.Starred) for each in node.args):
            raise self.outside(node, f"call `{ast.unparse(node.func)}` with plain arguments")
        if myself is None:
            return self.inline(node, function, arguments, scope)
        if myself.primed or scope.has_written:
            state = self.context.here(primed=True).state if myself.primed else scope.state
            return self._inlined(node, function, [Term("", value=Myself()), *arguments], state, scope.bound)
        inner = type(self)(self.context, Source(function))
        parameters = inner.source.parameters[1:]
        if len(parameters) != len(arguments):
            raise self.outside(node, f"`{ast.unparse(node.func)}` needs {len(parameters)} arguments")
        shapes = [
            declared if (declared := of_parameter(function, each)).kind != "any" else given.shape
            for each, given in zip(parameters, arguments, strict=True)
        ]
        result: list[Shape] = []

        def make(name: str) -> list[str]:
            inside = self.context.here()
            identifiers = []
            for parameter, shape in zip(parameters, shapes, strict=True):
                identifier = self.context.fresh(parameter, inside.bound)
                identifiers.append(identifier)
                inside = inside.binding(identifier).with_name(parameter, Term(identifier, shape))
            inside = inside.with_name(inner.source.parameters[0], Term("", value=Myself()))
            body = inner.result(inner.source.body, inside)
            result.append(body.shape)
            return definition(name, identifiers, bulleted(body.text, body.operator, body.parts), comment_of(function))

        name = self.context.operator(("helper", function), camel(function.__name__), make)
        shape = result[0] if result else of_parameter(function, "return")
        known_shape = of_parameter(function, "return")
        given = f"({', '.join(each.text for each in arguments)})" if arguments else ""
        return Term(name + given, known_shape if known_shape.kind != "any" else shape)

    def inline(self, node: ast.expr, function: Callable[..., Any], arguments: list[Term], scope: Scope) -> Term:
        """The value that a pure function has for these arguments."""
        return self._inlined(node, function, arguments, scope.state, scope.bound)

    def _inlined(
        self,
        node: ast.expr,
        function: Callable[..., Any],
        arguments: list[Term],
        state: Any,
        bound: frozenset[str],
    ) -> Term:
        inner = type(self)(self.context, Source(function))
        parameters = inner.source.parameters
        if len(parameters) != len(arguments):
            raise self.outside(node, f"`{ast.unparse(node)}` needs {len(parameters)} arguments")
        scope = Scope(dict(zip(parameters, arguments, strict=True)), state, bound)
        return inner.result(inner.source.body, scope)

    def result(self, body: list[ast.stmt], scope: Scope, *, guard: str = "") -> Term:
        """What a function without effects returns. ``guard`` says what a ``require`` means: ``=>`` or ``/\\``."""
        if not body:
            raise self.outside(self.source.node, f"`{self.source.code.co_name}` may end without `return`")
        first, rest = body[0], body[1:]
        match first:
            case ast.Return(value=ast.expr() as value):
                return self.truth(value, scope) if guard else self.written(value, scope)
            case ast.If(test=test, body=then, orelse=otherwise):
                condition = self.truth(test, scope)
                one = self.result([*then, *rest], scope, guard=guard)
                other = self.result([*otherwise, *rest], scope, guard=guard)
                return Term(f"IF {condition.text} THEN {one.text} ELSE {other.text}", one.shape, atomic=False)
            case ast.Expr(value=ast.Call() as call) if guard and self.is_require(call, scope):
                condition = self.truth(call.args[0], scope)
                after = self.result(rest, scope, guard=guard)
                if guard == "/\\":
                    return joined("/\\", [condition, after])
                return Term(f"{condition.inner} => {after.inner}", BOOL, atomic=False)
            case ast.Assign(targets=[target], value=value):
                inner = scope
                for name, term in self.assigned(target, value, scope):
                    inner = inner.with_name(name, term)
                return self.result(rest, inner, guard=guard)
        raise self.outside(
            first, f"`{ast.unparse(first).splitlines()[0]}` has no translation in a function without effects"
        )

    def inherited(self, func: ast.Attribute) -> types.FunctionType | None:
        """The method that ``super().name`` is."""
        owner = func.value
        if not (isinstance(owner, ast.Call) and isinstance(owner.func, ast.Name) and owner.func.id == "super"):
            return None
        cells = dict(zip(self.source.code.co_freevars, self.source.function.__closure__ or (), strict=True))
        return self.context.method(func.attr, cells["__class__"].cell_contents) if "__class__" in cells else None

    def is_require(self, call: ast.Call, scope: Scope) -> bool:
        """Whether a call is ``require(...)``."""
        return (
            isinstance(call.func, ast.Name)
            and call.func.id not in scope.names
            and (self.source.function.__globals__.get(call.func.id) is require)
        )

    def assigned(self, target: ast.expr, value: ast.expr, scope: Scope) -> list[tuple[str, Term]]:
        """The names that an assignment to locals gives a value, with these values."""
        match target, value:
            case ast.Name(id=name), _:
                return [(name, self.term(value, scope))]
            case ast.Tuple(elts=targets), ast.Tuple(elts=values) if len(targets) == len(values):
                return [
                    pair
                    for one, other in zip(targets, values, strict=True)
                    for pair in self.assigned(one, other, scope)
                ]
            case ast.Tuple(elts=targets), _:
                whole = self.written(value, scope)
                if whole.shape.kind == "seq" and all(isinstance(each, ast.Name) for each in targets):
                    return [
                        (each.id, Term(f"{whole.inner}[{number}]", whole.shape.inside()))
                        for number, each in enumerate(targets, 1)
                        if isinstance(each, ast.Name)
                    ]
        raise self.outside(target, f"`{ast.unparse(target)} = ...` has no translation here")


def comment_of(function: Callable[..., Any]) -> str:
    """The first line of a docstring."""
    return (function.__doc__ or "").strip().partition("\n")[0]
