"""Python expressions as TLA+: one method for each kind of node, and a refusal with line and reason for the rest."""

from __future__ import annotations

import ast
import types
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any

from attractor.check.spec.declarations import Action, Constant, Predicate
from attractor.check.tla.calls import Calls
from attractor.check.tla.context import boolean
from attractor.check.tla.shapes import ANY, BOOL, INT, Shape, of_value
from attractor.check.tla.source import NotKnown, OutsideSubset, Source, known_value
from attractor.check.tla.terms import Myself, Scope, Term, ThisStep, changed, joined, known, negated, operation

if TYPE_CHECKING:
    from attractor.check.tla.context import Context

_COMPARE: dict[type[ast.cmpop], str] = {
    ast.Eq: "=",
    ast.NotEq: "#",
    ast.Is: "=",
    ast.IsNot: "#",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.In: "\\in",
    ast.NotIn: "\\notin",
}
_NUMBERS: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Mod: "%",
    ast.FloorDiv: "\\div",
}
_UNIONS: dict[type[ast.operator], str] = {ast.BitOr: "\\cup", ast.BitAnd: "\\cap", ast.Sub: "\\"}


class Expressions(Calls):
    """Translates the expressions of one function."""

    def __init__(self, context: Context, source: Source) -> None:
        super().__init__(context, source)
        self._ways = {
            ast.Constant: self._constant,
            ast.Name: self._name,
            ast.Attribute: self._attribute,
            ast.Subscript: self._subscript,
            ast.BoolOp: self._bool_op,
            ast.UnaryOp: self._unary,
            ast.BinOp: self._binary,
            ast.Compare: self._compare,
            ast.IfExp: self._if,
            ast.Tuple: self._tuple,
            ast.Set: self._set,
            ast.SetComp: self.set_of,
            ast.DictComp: self._dict_comp,
            ast.Call: self.call,
        }

    def term(self, node: ast.expr, scope: Scope) -> Term:
        """The translation of ``node``; where there is none, its value if that is known already."""
        way: Any = self._ways.get(type(node))
        try:
            if way is None:
                raise self.outside(node, f"`{ast.unparse(node)}` has no translation")
            found: Term = way(node, scope)
        except OutsideSubset:
            try:
                return known(self.value(node, scope))
            except NotKnown:
                pass
            raise
        return found

    def value(self, node: ast.expr, scope: Scope) -> Any:
        """The Python value of ``node``, if it is known before exploring."""
        values: dict[str, Any] = {}
        unknown: set[str] = set()
        for name, term in scope.names.items():
            if isinstance(term.value, Myself) and not term.value.primed:
                values[name] = self.context.freezing()
            elif term.is_known and not isinstance(term.value, Myself | ThisStep):
                values[name] = term.value
            else:
                unknown.add(name)
        return known_value(node, self.source, values, unknown)

    def settled(self, node: ast.expr, scope: Scope) -> Any:
        """The Python value of ``node``, which must be known before exploring."""
        try:
            return self.value(node, scope)
        except NotKnown:
            raise self.outside(node, f"`{ast.unparse(node)}` must be known without looking at the state") from None

    def truth(self, node: ast.expr, scope: Scope) -> Term:
        """The truth of ``node``, as Python sees it."""
        return boolean(self.written(node, scope), lambda reason: self.outside(node, reason))

    def written(self, node: ast.expr, scope: Scope) -> Term:
        """The term of ``node``, which must have a text."""
        term = self.term(node, scope)
        if not term.text:
            raise self.outside(node, f"`{ast.unparse(node)}` is a value that TLA+ cannot write")
        return term

    # Leaves

    def _constant(self, node: ast.Constant, _: Scope) -> Term:
        return known(node.value)

    def _name(self, node: ast.Name, scope: Scope) -> Term:
        if node.id in scope.names:
            return scope.names[node.id]
        try:
            return known(known_value(node, self.source, {}, set()))
        except NotKnown:
            raise self.outside(node, f"`{node.id}` is not known here") from None

    def _attribute(self, node: ast.Attribute, scope: Scope) -> Term:
        owner = self.term(node.value, scope)
        if isinstance(owner.value, Myself):
            return self._own(node, scope, owner.value)
        if isinstance(owner.value, ThisStep):
            if node.attr == "after":
                return Term("", value=Myself(primed=True))
            if node.attr == "before":
                return Term("", value=Myself())
            raise self.outside(
                node, f"`step.{node.attr}` has no translation; name the actions in `always_step(actions=)`"
            )
        if owner.is_known and not owner.shape.record:
            return known(self.settled(node, scope))
        if owner.shape.record is None:
            raise self.outside(node, f"the type of `{ast.unparse(node.value)}` is not known; annotate it")
        return self._field(node, owner, scope)

    def _field(self, node: ast.Attribute, owner: Term, scope: Scope) -> Term:
        record = owner.shape.record
        if record is not None and is_dataclass(record) and node.attr in {each.name for each in fields(record)}:
            if owner.base and owner.updates and all(place.startswith(".") for place, _ in owner.updates):
                for place, value in reversed(owner.updates):
                    if place == f".{node.attr}":
                        return Term(f"({value})", owner.shape.field(node.attr))
            return Term(f"{owner.inner}.{node.attr}", owner.shape.field(node.attr))
        found = getattr(record, node.attr, None)
        if isinstance(found, property) and found.fget:
            return self.inline(node, found.fget, [owner], scope)
        raise self.outside(node, f"{getattr(record, '__name__', record)} has no field `{node.attr}`")

    def _own(self, node: ast.Attribute, scope: Scope, myself: Myself) -> Term:
        spec = self.context.spec
        declared = spec.declared.get(node.attr)
        if isinstance(declared, Constant):
            return self.context.constant(node.attr)
        if node.attr in scope.state:
            if myself.primed:
                return Term(f"{node.attr}'", self.context.shape_of(node.attr))
            return scope.state[node.attr]
        if isinstance(declared, Predicate | Action) or isinstance(
            getattr(type(spec), node.attr, None), types.FunctionType
        ):
            raise self.outside(node, f"`{ast.unparse(node)}` can only be called")
        if node.attr == "action_names":
            return known(spec.action_names)
        raise self.outside(node, f"`{ast.unparse(node)}` is not a variable or constant of {spec.name}")

    # Operators

    def _bool_op(self, node: ast.BoolOp, scope: Scope) -> Term:
        with self.lazily():
            parts = [self.truth(each, scope) for each in node.values]
        return joined("/\\" if isinstance(node.op, ast.And) else "\\/", parts)

    def _unary(self, node: ast.UnaryOp, scope: Scope) -> Term:
        if isinstance(node.op, ast.Not):
            return negated(self.truth(node.operand, scope))
        if isinstance(node.op, ast.USub):
            return Term(f"-{self.written(node.operand, scope).inner}", INT, atomic=False)
        raise self.outside(node, f"`{ast.unparse(node)}` has no translation")

    def _binary(self, node: ast.BinOp, scope: Scope) -> Term:
        left, right = self.written(node.left, scope), self.written(node.right, scope)
        kinds = {left.shape.kind, right.shape.kind}
        numbers, unions = _NUMBERS.get(type(node.op)), _UNIONS.get(type(node.op))
        if kinds == {"int"} and numbers:
            return operation(numbers, (left, right), INT)
        if "set" in kinds and unions:
            shape = left.shape if left.shape.kind == "set" and left.shape.element != ANY else right.shape
            return operation(unions, (self.as_set(node, left), self.as_set(node, right)), shape)
        if kinds == {"seq"} and isinstance(node.op, ast.Add):
            return operation("\\o", (left, right), left.shape if left.shape.element != ANY else right.shape)
        raise self.outside(
            node, f"`{ast.unparse(node)}` is translated for whole numbers, sets and tuples; annotate what it works on"
        )

    def _compare(self, node: ast.Compare, scope: Scope) -> Term:
        parts = []
        left_node = node.left
        for op, right_node in zip(node.ops, node.comparators, strict=True):
            parts.append(self._comparison(node, left_node, op, right_node, scope))
            left_node = right_node
        return joined("/\\", parts)

    def _comparison(self, node: ast.Compare, one: ast.expr, op: ast.cmpop, other: ast.expr, scope: Scope) -> Term:
        left = self.written(one, scope)
        symbol = _COMPARE[type(op)]
        if isinstance(op, ast.In | ast.NotIn):
            return operation(symbol, (left, self.members(other, scope)), BOOL)
        right = self.written(other, scope)
        if symbol in {"<", "<=", ">", ">="}:
            kinds = {left.shape.kind, right.shape.kind}
            if kinds == {"set"} and symbol in {"<=", ">="}:
                return operation("\\subseteq", (left, right) if symbol == "<=" else (right, left), BOOL)
            if kinds != {"int"}:
                raise self.outside(node, f"`{ast.unparse(node)}` compares what is not known to be whole numbers")
        return operation(symbol, (left, right), BOOL)

    def _if(self, node: ast.IfExp, scope: Scope) -> Term:
        condition = self.truth(node.test, scope)
        with self.lazily():
            then, otherwise = self.written(node.body, scope), self.written(node.orelse, scope)
        shape = then.shape if then.shape.kind not in {"any", "null"} else otherwise.shape
        return Term(f"IF {condition.text} THEN {then.text} ELSE {otherwise.text}", shape, atomic=False)

    # Collections

    def _tuple(self, node: ast.Tuple, scope: Scope) -> Term:
        pieces: list[Term] = []
        single: list[Term] = []
        for each in node.elts:
            if isinstance(each, ast.Starred):
                if single:
                    pieces.append(_sequence(single))
                    single = []
                star = self.written(each.value, scope)
                if star.shape.kind != "seq":
                    raise self.outside(each, f"`*{ast.unparse(each.value)}` is not known to be a tuple; annotate it")
                pieces.append(star)
            else:
                single.append(self.written(each, scope))
        if len(pieces) == 1 and len(single) == 1:
            whole = pieces[0]
            shape = whole.shape if whole.shape.element not in {None, ANY} else Shape("seq", single[0].shape)
            return Term(f"Append({whole.text}, {single[0].text})", shape)
        if single or not pieces:
            pieces.append(_sequence(single))
        if len(pieces) == 1:
            return pieces[0]
        return operation("\\o", tuple(pieces), pieces[0].shape)

    def _set(self, node: ast.Set, scope: Scope) -> Term:
        parts = [self.written(each, scope) for each in node.elts]
        return Term("{" + ", ".join(each.text for each in parts) + "}", Shape("set", parts[0].shape))

    def _dict_comp(self, node: ast.DictComp, scope: Scope) -> Term:
        if (
            len(node.generators) != 1
            or node.generators[0].ifs
            or ast.unparse(node.key) != ast.unparse(node.generators[0].target)
        ):
            raise self.outside(node, "a dict is translated as `{key: ... for key in ...}` only")
        bound = self.bind(node.generators[0], scope)
        value = self.written(node.value, bound.scope)
        return Term(f"[{bound.name} \\in {bound.options} |-> {value.text}]", Shape("fun", value.shape, bound.shape))

    def _subscript(self, node: ast.Subscript, scope: Scope) -> Term:
        owner = self.written(node.value, scope)
        if owner.shape.kind == "fun":
            key = self.written(node.slice, scope)
            return Term(f"{owner.inner}[{key.text}]", owner.shape.inside())
        if owner.shape.kind != "seq":
            raise self.outside(node, f"the type of `{ast.unparse(node.value)}` is not known; annotate it")
        if isinstance(node.slice, ast.Slice):
            return self._slice(node, node.slice, owner, scope)
        try:
            index = self.value(node.slice, scope)
        except NotKnown:
            index = None
        inside = owner.shape.inside()
        if index == 0:
            return Term(f"Head({owner.text})", inside)
        if isinstance(index, int):
            place = str(index + 1) if index > 0 else f"Len({owner.text})" + (f" - {-index - 1}" if index < -1 else "")
            return Term(f"{owner.inner}[{place}]", inside)
        return Term(f"{owner.inner}[{self.written(node.slice, scope).inner} + 1]", inside)

    def _slice(self, node: ast.Subscript, cut: ast.Slice, owner: Term, scope: Scope) -> Term:
        if cut.step is not None:
            raise self.outside(node, "a slice with a step has no translation")
        lower = 0 if cut.lower is None else self.settled(cut.lower, scope)
        upper = None if cut.upper is None else self.settled(cut.upper, scope)
        if lower == 1 and upper is None:
            return Term(f"Tail({owner.text})", owner.shape)
        if lower < 0 or (upper is not None and upper >= 0):
            raise self.outside(node, "slices are translated as `[n:]`, `[:-n]` and `[n:-m]`")
        end = f"Len({owner.text})" + (f" - {-upper}" if upper else "")
        return Term(f"SubSeq({owner.text}, {lower + 1}, {end})", owner.shape)

    def record(self, node: ast.Call, kind: type, scope: Scope) -> Term:
        """``Worker(idle=False)``: every field, defaults included."""
        if node.args or any(each.arg is None for each in node.keywords):
            raise self.outside(node, f"write the fields of {kind.__name__} by name")
        given = {each.arg: self.written(each.value, scope).text for each in node.keywords}
        parts = []
        for each in fields(kind):
            text = given.pop(each.name, None) or known(each.default).text
            if not text:
                raise self.outside(node, f"the field `{each.name}` of {kind.__name__} has no form in TLA+")
            parts.append(f"{each.name} |-> {text}")
        if given:
            raise self.outside(node, f"{kind.__name__} has no field {', '.join(map(str, given))}")
        return Term(f"[{', '.join(parts)}]", Shape("record", record=kind))

    def but(self, node: ast.Call, owner: Term, scope: Scope) -> Term:
        """``record.but(field=value)``."""
        updates = tuple((f".{each.arg}", self.written(each.value, scope).text) for each in node.keywords)
        return changed(owner, updates)


def _sequence(parts: list[Term]) -> Term:
    shapes = {each.shape for each in parts}
    text = "<<" + ", ".join(each.text for each in parts) + ">>"
    values = [each.value for each in parts]
    if parts and all(each.is_known for each in parts):
        return Term(text, of_value(tuple(values)), value=tuple(values))
    return Term(text, Shape("seq", next(iter(shapes)) if len(shapes) == 1 else ANY))
