"""Which slots an action can ever read and write, found in its source: what partial-order reduction relies on.

The answer is an upper bound. ``self.x`` and ``self.m[p]`` (with a parameter ``p``) are taken apart; methods of the
specification are followed; whatever cannot be followed (``self`` handed to somebody else, ``enabled``, source not at
hand) touches everything. ``Execution`` holds each run to its footprint, so that a mistake here is an error, not a wrong
verdict.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from dataclasses import dataclass, field
from types import FunctionType
from typing import TYPE_CHECKING, Any

from attractor.check import declarations as words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from attractor.check.model import Model
    from attractor.check.spec import Spec

WRITING_METHODS = {"add", "discard"}
READING_METHODS = {"values", "items", "keys", "get"}
UNKNOWN = object()


class Untraceable(Exception):
    """The source says something that cannot be followed."""


@dataclass
class Footprint:
    """The slots that an action instance can read and write."""

    reads: set[int] = field(default_factory=set)
    writes: set[int] = field(default_factory=set)


def footprint(spec: Spec, model: Model, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Footprint | None:
    """The footprint of ``function`` as a method of ``spec`` with these arguments; None if it may touch anything."""
    found = Footprint()
    try:
        Follower(spec, model, found).follow(function, arguments)
    except Untraceable:
        return None
    return found


class Follower:
    """Follows one function and the methods that it calls."""

    def __init__(self, spec: Spec, model: Model, found: Footprint) -> None:
        self.spec = spec
        self.model = model
        self.found = found
        self.following: list[Any] = []

    def follow(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        """Add what ``function`` touches; ``arguments`` are values, or UNKNOWN."""
        if (function, arguments) in self.following:
            return
        self.following.append((function, arguments))
        definition = _definition(function)
        names = [each.arg for each in definition.args.args]
        if not names or (definition.args.vararg and len(arguments) >= len(names)):
            arguments = ()
        bound = dict(zip(names[1:], arguments, strict=False))
        for node in ast.walk(definition):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                bound.pop(node.id, None)
        parents = {child: node for node in ast.walk(definition) for child in ast.iter_child_nodes(node)}
        for node in ast.walk(definition):
            if isinstance(node, ast.Name) and node.id == names[0]:
                self._use(node, parents, bound)
            elif isinstance(node, ast.Name) and node.id == "super":
                self._use_super(function, node, parents, bound)

    def _use(self, node: ast.Name, parents: dict[ast.AST, ast.AST], bound: dict[str, Any]) -> None:
        attribute = parents[node]
        if not isinstance(attribute, ast.Attribute) or attribute.value is not node:
            raise Untraceable
        declared = self.spec.declared.get(attribute.attr)
        if isinstance(declared, words.MapVariable):
            self._use_map(attribute, parents, bound)
        elif isinstance(declared, words.Variable):
            self._touch(list(self._slots_of(attribute.attr)), attribute, parents[attribute])
        elif isinstance(declared, words.Constant) or attribute.attr == "choose":
            return
        else:
            self._use_method(attribute, parents[attribute], bound)

    def _use_super(
        self, function: Callable[..., Any], node: ast.Name, parents: dict[ast.AST, ast.AST], bound: dict[str, Any]
    ) -> None:
        call = parents[node]
        attribute = parents[call]
        if not isinstance(call, ast.Call) or call.args or not isinstance(attribute, ast.Attribute):
            raise Untraceable
        owner = inspect.getclosurevars(function).nonlocals.get("__class__")
        line = type(self.spec).__mro__
        if owner not in line:
            raise Untraceable
        above = (vars(each).get(attribute.attr) for each in line[line.index(owner) + 1 :])
        self._follow_member(next(filter(None, above), None), attribute, parents[attribute], bound)

    def _use_method(self, attribute: ast.Attribute, parent: ast.AST, bound: dict[str, Any]) -> None:
        member = inspect.getattr_static(type(self.spec), attribute.attr, None)
        self._follow_member(member, attribute, parent, bound)

    def _follow_member(self, member: Any, attribute: ast.Attribute, parent: ast.AST, bound: dict[str, Any]) -> None:
        if isinstance(member, words.Predicate | words.Action):
            member = member.function
        if isinstance(member, property) and member.fget is not None:
            self.follow(member.fget, ())
        elif isinstance(member, FunctionType) and isinstance(parent, ast.Call) and parent.func is attribute:
            if parent.keywords or any(isinstance(each, ast.Starred) for each in parent.args):
                raise Untraceable
            self.follow(member, tuple(_value(each, bound) for each in parent.args))
        else:
            raise Untraceable

    def _use_map(self, attribute: ast.Attribute, parents: dict[ast.AST, ast.AST], bound: dict[str, Any]) -> None:
        parent = parents[attribute]
        if isinstance(parent, ast.Subscript) and parent.value is attribute:
            self._touch(self._keyed(attribute.attr, parent.slice, bound), parent, parents[parent])
        elif isinstance(parent, ast.Compare) and attribute in parent.comparators and len(parent.comparators) == 1:
            inside = isinstance(parent.ops[0], ast.In | ast.NotIn)
            self.found.reads.update(
                self._keyed(attribute.attr, parent.left, bound) if inside else self._slots_of(attribute.attr)
            )
        elif isinstance(parent, ast.Attribute) and parent.attr in WRITING_METHODS:
            call = parents[parent]
            if not isinstance(call, ast.Call) or len(call.args) != 1:
                raise Untraceable
            self.found.writes.update(self._keyed(attribute.attr, call.args[0], bound))
        elif _reads_all(attribute, parent):
            self.found.reads.update(self._slots_of(attribute.attr))
        else:
            raise Untraceable

    def _keyed(self, name: str, key: ast.expr, bound: dict[str, Any]) -> list[int]:
        family, _ = self.spec.layout[name]
        refs = self.model.families[family].refs
        value = _value(key, bound)
        return [refs[value]] if value is not UNKNOWN and value in refs else list(refs.values())

    def _slots_of(self, name: str) -> Iterator[int]:
        place = self.spec.layout[name]
        if isinstance(place, int):
            yield place
        else:
            refs = place[1] if isinstance(place[1], dict) else self.model.families[place[0]].refs
            yield from refs.values()

    def _touch(self, slots: list[int], node: ast.expr, parent: ast.AST) -> None:
        stored = isinstance(getattr(node, "ctx", None), ast.Store | ast.Del)
        if not stored or isinstance(parent, ast.AugAssign):
            self.found.reads.update(slots)
        if stored:
            self.found.writes.update(slots)


def _reads_all(attribute: ast.Attribute, parent: ast.AST) -> bool:
    """Whether a map is only looked at here, in whole."""
    match parent:
        case ast.Attribute(attr=name):
            return name in READING_METHODS
        case ast.comprehension(iter=source) | ast.For(iter=source):
            return source is attribute
        case ast.Call(func=ast.Name(id="len" | "set" | "sorted" | "tuple" | "frozenset")):
            return True
        case _:
            return False


def _value(node: ast.expr, bound: dict[str, Any]) -> Any:
    if isinstance(node, ast.Name):
        return bound.get(node.id, UNKNOWN)
    return node.value if isinstance(node, ast.Constant) else UNKNOWN


def _definition(function: Callable[..., Any]) -> ast.FunctionDef:
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError):
        raise Untraceable from None
    found = tree.body[0]
    if not isinstance(found, ast.FunctionDef):
        raise Untraceable
    return found
