"""Actions: the statements of a step, followed along each path to what every variable is afterwards.

Assignments are carried along as values (Python may read what it has just written); at the end of a path each changed
variable gets one ``x' = value`` and the rest are ``UNCHANGED``. A ``return`` leads to where its caller goes on, so that
helper methods with effects can be followed as if their lines stood in the action.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from attractor.check.spec.declarations import Constant, MapVariable, SetVariable, elements
from attractor.check.tla.expressions import Expressions
from attractor.check.tla.formula import If, Let, Node, Some, Text, conjunction
from attractor.check.tla.source import NotKnown, Source
from attractor.check.tla.terms import Myself, Scope, Term, changed, known

if TYPE_CHECKING:
    from collections.abc import Callable

_SET_CHANGES = {"add": "\\cup", "discard": "\\", "remove": "\\"}


class Steps(Expressions):
    """Translates one function with effects."""

    def block(
        self,
        body: list[ast.stmt],
        scope: Scope,
        then: Callable[[Scope], list[Node]],
        returned: Callable[[Scope, Term | None], list[Node]],
    ) -> list[Node]:
        """The conjuncts of ``body``, then of whatever follows it."""
        if not body:
            return then(scope)
        first, rest = body[0], body[1:]

        def following(scope: Scope) -> list[Node]:
            return self.block(rest, scope, then, returned)

        match first:
            case ast.Pass():
                return following(scope)
            case ast.Assert(test=test):
                place = f"{self.source.file}:{first.lineno}"
                return [Text(f'Assert({self.truth(test, scope).text}, "{place}")'), *following(scope)]
            case ast.Return(value=value):
                return self._returned(value, scope, returned)
            case ast.If(test=test, body=yes, orelse=no):
                return self._if_statement(test, (yes, no), scope, following, returned)
            case ast.Expr(value=ast.Call() as call):
                return self._statement_call(call, scope, following)
            case ast.Assign(targets=targets, value=value):
                return self._assignment(targets, value, rest, scope, following)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                return self._assignment([target], value, rest, scope, following)
            case ast.AugAssign(target=target, op=op, value=value):
                load = ast.copy_location(ast.parse(ast.unparse(target), mode="eval").body, target)
                whole = ast.copy_location(ast.BinOp(load, op, value), first)
                return self._assignment([target], whole, rest, scope, following)
            case ast.For(target=ast.Name(id=name), iter=source, body=inside, orelse=[]):
                return self._loop(first, (name, source, inside), scope, following, returned)
        raise self.outside(first, f"`{ast.unparse(first).splitlines()[0]}` has no translation in an action")

    def _returned(
        self, value: ast.expr | None, scope: Scope, returned: Callable[[Scope, Term | None], list[Node]]
    ) -> list[Node]:
        if value is None:
            return returned(scope, None)
        if isinstance(value, ast.Call) and (found := self._procedure(value, scope)):
            return self._followed(value, found, scope, returned)
        return self._with_choices(scope, lambda: self.written(value, scope), returned)

    def _if_statement(
        self,
        test: ast.expr,
        branches: tuple[list[ast.stmt], list[ast.stmt]],
        scope: Scope,
        following: Callable[[Scope], list[Node]],
        returned: Callable[[Scope, Term | None], list[Node]],
    ) -> list[Node]:
        yes, no = branches

        def decided(after: Scope, condition: Term) -> list[Node]:
            if condition.is_known:
                return self.block(yes if condition.value else no, after, following, returned)
            one = conjunction(self.block(yes, after, following, returned))
            other = conjunction(self.block(no, after, following, returned))
            return [If(condition.text, one, other)]

        return self._with_choices(scope, lambda: self.truth(test, scope), decided)

    def _loop(
        self,
        node: ast.For,
        parts: tuple[str, ast.expr, list[ast.stmt]],
        scope: Scope,
        following: Callable[[Scope], list[Node]],
        returned: Callable[[Scope, Term | None], list[Node]],
    ) -> list[Node]:
        name, source, inside = parts
        if any(isinstance(each, ast.Break | ast.Continue) for each in ast.walk(node)):
            raise self.outside(node, "`break` and `continue` have no translation")
        values = self._loop_values(node, source, scope)

        def turn(number: int, scope: Scope) -> list[Node]:
            if number == len(values):
                return following(scope)
            inner = scope.with_name(name, values[number])
            return self.block(inside, inner, lambda after: turn(number + 1, after), returned)

        return turn(0, scope)

    def _loop_values(self, node: ast.For, source: ast.expr, scope: Scope) -> list[Term]:
        """What a loop goes through: values known beforehand, or the elements of a tuple of known length."""
        variable = self.context.variables.get(self.variable_of(source, scope) or "")
        if isinstance(variable, MapVariable) and not isinstance(variable, SetVariable):
            self.context.frozen.update([variable.keys.name] if isinstance(variable.keys, Constant) else [])
            return [known(each) for each in elements(variable.keys, self.context.spec)]
        try:
            return [known(each) for each in self.value(source, scope)]
        except (NotKnown, TypeError):
            whole = self.written(source, scope)
            if whole.shape.length is not None:
                inside = whole.shape.inside()
                return [Term(f"{whole.inner}[{place}]", inside) for place in range(1, whole.shape.length + 1)]
            raise self.outside(
                node,
                f"`for ... in {ast.unparse(source)}` goes through what depends on the state; choose one element "
                f"with `self.choose`, or build the new value with a comprehension",
            ) from None

    # Calls as statements

    def _statement_call(self, call: ast.Call, scope: Scope, following: Callable[[Scope], list[Node]]) -> list[Node]:
        if self.is_require(call, scope):
            return self._with_choices(
                scope,
                lambda: self.truth(call.args[0], scope),
                lambda after, condition: [*_conjuncts(condition), *following(after)],
            )
        if isinstance(call.func, ast.Attribute):
            owner = call.func.value
            if call.func.attr in _SET_CHANGES and self.variable_of(owner, scope):
                return following(self._set_changed(call, call.func, scope))
            if found := self._procedure(call, scope):
                return self._followed(call, found, scope, lambda after, _: following(after))
        raise self.outside(call, f"`{ast.unparse(call)}` has no translation as a statement")

    def variable_of(self, node: ast.expr, scope: Scope) -> str | None:
        """The variable that ``self.x`` names."""
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            owner = scope.names.get(node.value.id)
            if owner is not None and isinstance(owner.value, Myself) and node.attr in scope.state:
                return node.attr
        return None

    def _set_changed(self, call: ast.Call, func: ast.Attribute, scope: Scope) -> Scope:
        name = self.variable_of(func.value, scope)
        assert name is not None
        whole = scope.state[name]
        if whole.shape.kind != "set":
            raise self.outside(call, f"`{name}` is not a set variable")
        element = self.written(call.args[0], scope)
        text = f"{whole.inner} {_SET_CHANGES[func.attr]} {{{element.text}}}"
        return scope.with_state(name, Term(text, whole.shape, atomic=False))

    def _procedure(self, call: ast.Call, scope: Scope) -> Source | None:
        """The method with effects that a call runs; None if it is a function without effects or no method at all."""
        if not isinstance(call.func, ast.Attribute) or call.func.attr in {"choose", "enabled"}:
            return None
        if isinstance(call.func.value, ast.Call):
            found = self.inherited(call.func)
        else:
            owner = scope.names.get(call.func.value.id) if isinstance(call.func.value, ast.Name) else None
            if owner is None or not isinstance(owner.value, Myself) or owner.value.primed:
                return None
            found = self.context.method(call.func.attr)
        if found is None:
            return None
        source = Source(found)
        return source if _has_effects(source) else None

    def _followed(
        self,
        call: ast.Call,
        source: Source,
        scope: Scope,
        returned: Callable[[Scope, Term | None], list[Node]],
    ) -> list[Node]:
        """Go through a method's statements as if they stood here."""
        if call.keywords or any(isinstance(each, ast.Starred) for each in call.args):
            raise self.outside(call, f"call `{ast.unparse(call.func)}` with plain arguments")
        given = [self.written(each, scope) for each in call.args]
        myself, *parameters = source.parameters
        names = {myself: Term("", value=Myself())}
        names.update(zip(parameters, given, strict=False))
        if source.rest:
            more = given[len(parameters) :]
            text = "<<" + ", ".join(each.text for each in more) + ">>"
            shape = known(tuple(each.value for each in more)).shape if all(each.is_known for each in more) else None
            names[source.rest] = Term(text, shape or known(()).shape)
        elif len(given) != len(parameters):
            raise self.outside(call, f"`{ast.unparse(call)}` needs {len(parameters)} arguments")

        def back(after: Scope, value: Term | None) -> list[Node]:
            return returned(Scope(scope.names, after.state, after.bound), value)

        inner = Steps(self.context, source)
        return inner.block(source.body, Scope(names, scope.state, scope.bound), lambda after: back(after, None), back)

    # Assignments

    def _assignment(
        self,
        targets: list[ast.expr],
        value: ast.expr,
        rest: list[ast.stmt],
        scope: Scope,
        following: Callable[[Scope], list[Node]],
    ) -> list[Node]:
        target = targets[0]
        several = len(targets) == 1 and isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple)
        if several and isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            if len(target.elts) != len(value.elts):
                raise self.outside(target, "as many names as values are needed")
            return self._pairwise(list(zip(target.elts, value.elts, strict=True)), rest, scope, scope, following)
        if isinstance(value, ast.Call) and (found := self._procedure(value, scope)):

            def received(after: Scope, term: Term | None) -> list[Node]:
                if term is None:
                    raise self.outside(value, f"`{ast.unparse(value)}` returns nothing on some path")
                return self._stored(targets, term, rest, after, following)

            return self._followed(value, found, scope, received)
        if len(targets) == 1 and isinstance(target, ast.Tuple):
            for name, term in self.assigned(target, value, scope):
                scope = scope.with_name(name, term)
            return following(scope)
        self.choice_name = target.id if isinstance(target, ast.Name) else "choice"
        return self._with_choices(
            scope,
            lambda: self.term(value, scope),
            lambda after, term: self._stored(targets, term, rest, after, following),
        )

    def _pairwise(
        self,
        pairs: list[tuple[ast.expr, ast.expr]],
        rest: list[ast.stmt],
        before: Scope,
        scope: Scope,
        following: Callable[[Scope], list[Node]],
    ) -> list[Node]:
        """``a, b = x, y``: every value is taken before anything is assigned."""
        if not pairs:
            return following(scope)
        (target, value), *more = pairs
        if isinstance(value, ast.Call) and self._procedure(value, before):
            raise self.outside(value, "give a method with effects a statement of its own")
        return self._with_choices(
            scope,
            lambda: self.term(value, before),
            lambda after, term: self._stored(
                [target], term, rest, after, lambda later: self._pairwise(more, rest, before, later, following)
            ),
        )

    def _with_choices(
        self, scope: Scope, make: Callable[[], Term], go_on: Callable[[Scope, Term], list[Node]]
    ) -> list[Node]:
        """Translate an expression that may contain ``self.choose``: what follows is under its quantifier."""
        outer, self.choices = self.choices, []
        try:
            term = make()
            choices = self.choices
        finally:
            self.choices = outer
        for name, _ in choices:
            scope = scope.binding(name)
        items: list[Node] = go_on(scope, term)
        for name, options in reversed(choices):
            items = [Some(name, options, conjunction(items))]
        return items

    def _stored(
        self,
        targets: list[ast.expr],
        term: Term,
        rest: list[ast.stmt],
        scope: Scope,
        following: Callable[[Scope], list[Node]],
    ) -> list[Node]:
        named = [each.id for each in targets if isinstance(each, ast.Name)]
        uses = sum(1 for each in rest for node in ast.walk(each) if isinstance(node, ast.Name) and node.id in named)
        let: tuple[str, str] | None = None
        if named and uses > 1 and term.text and not _is_plain(term):
            name = self.context.fresh(named[0], scope.used)
            let = (name, term.text)
            term, scope = Term(name, term.shape), scope.binding(name)
        for target in targets:
            scope = self._written_to(target, term, scope)
        items = following(scope)
        return [Let(*let, conjunction(items))] if let else items

    def _written_to(self, target: ast.expr, term: Term, scope: Scope) -> Scope:
        if isinstance(target, ast.Name):
            return scope.with_name(target.id, term)
        if not term.text:
            raise self.outside(target, f"the value of `{ast.unparse(target)}` has no form in TLA+")
        if name := self.variable_of(target, scope):
            shape = self.context.shape_of(name)
            if shape.kind == "set":
                term = self.as_set(target, term)
            return scope.with_state(name, Term(term.text, shape, term.atomic, base=term.base, updates=term.updates))
        if isinstance(target, ast.Subscript) and (name := self.variable_of(target.value, scope)):
            whole = scope.state[name]
            key = self.written(target.slice, scope).text
            if term.base == f"{whole.text}[{key}]":
                return scope.with_state(name, changed(whole, tuple((f"[{key}]{p}", v) for p, v in term.updates)))
            return scope.with_state(name, changed(whole, ((f"[{key}]", term.text),)))
        raise self.outside(target, f"`{ast.unparse(target)} = ...` has no translation; assign variables and locals")


def _conjuncts(condition: Term) -> list[Node]:
    parts = condition.parts if condition.operator == "/\\" else (condition.text,)
    return [Text(each) for each in parts]


def _is_plain(term: Term) -> bool:
    """Whether a term is as short as a name for it would be."""
    return term.is_known or all(each.isalnum() or each in "_.'[]" for each in term.text)


def _has_effects(source: Source) -> bool:
    for statement in source.body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Store):
                return True
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
                return True
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(".choose"):
                return True
    return False
