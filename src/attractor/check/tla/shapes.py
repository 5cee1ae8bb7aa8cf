"""Shapes of expressions, as far as the translation must know them: ``x[0]`` is the head of a sequence in one
place and the value at key 0 of a map in another.

Shapes come from annotations first and from initial values second; where neither tells, the shape is ``ANY`` and
whatever depends on it is refused with the advice to annotate.
"""

from __future__ import annotations

import enum
import sys
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any

from attractor.check.spec.declarations import Map, Subset
from attractor.check.spec.values import FrozenMap, Record
from attractor.objects.type_hints import hints_of

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class Shape:
    """A kind (``int``, ``bool``, ``text``, ``null``, ``seq``, ``set``, ``fun``, ``record``, ``any``) and its parts.

    ``length`` is known for a tuple whose annotation counts its elements.
    """

    kind: str
    element: Shape | None = None
    key: Shape | None = None
    record: type | None = None
    optional: bool = False
    length: int | None = None

    def inside(self) -> Shape:
        """The shape of an element."""
        return self.element or ANY

    def field(self, name: str) -> Shape:
        """The shape of a record's field."""
        if self.record is None:
            return ANY
        return of_annotation(hints_of(self.record).get(name), names_of(self.record))


ANY, INT, BOOL, TEXT, NULL = Shape("any"), Shape("int"), Shape("bool"), Shape("text"), Shape("null", optional=True)
_PLAIN: dict[Any, Shape] = {int: INT, bool: BOOL, str: TEXT, type(None): NULL, None: NULL}


def names_of(owner: type) -> dict[str, Any]:
    """The names that the annotations of a class may use."""
    module = sys.modules.get(owner.__module__)
    return vars(module) if module else {}


def of_annotation(annotation: Any, names: Mapping[str, Any]) -> Shape:
    """The shape that an annotation promises; ``names`` resolves annotations that are text."""
    if isinstance(annotation, str):
        try:
            annotation = eval(annotation, dict(names))  # noqa: S307 - the author's own annotation
        except (NameError, TypeError, AttributeError, SyntaxError):
            return ANY
    if annotation in _PLAIN:
        return _PLAIN[annotation]
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in {typing.Union, types.UnionType}:
        return _union([of_annotation(each, names) for each in arguments])
    if origin is typing.Literal:
        return _union([of_value(each) for each in arguments])
    return _structured(origin or annotation, arguments, names)


def _structured(origin: Any, arguments: tuple[Any, ...], names: Mapping[str, Any]) -> Shape:
    if not isinstance(origin, type):
        return ANY
    parts = [of_annotation(each, names) for each in arguments if each is not ...]
    if issubclass(origin, tuple):
        length = None if ... in arguments or not arguments else len(arguments)
        return Shape("seq", _union(parts) if parts else ANY, length=length)
    if issubclass(origin, Map | FrozenMap):
        return Shape("fun", parts[1] if len(parts) > 1 else ANY, parts[0] if parts else ANY)
    if issubclass(origin, Subset | frozenset | set):
        return Shape("set", parts[0] if parts else ANY)
    if issubclass(origin, enum.Enum):
        return TEXT
    if issubclass(origin, Record) or is_dataclass(origin):
        return Shape("record", record=origin)
    return ANY


def _union(shapes: list[Shape]) -> Shape:
    solid = {replace(each, optional=False) for each in shapes if each.kind != "null"}
    optional = any(each.optional for each in shapes)
    if not solid:
        return NULL
    return replace(next(iter(solid)), optional=optional) if len(solid) == 1 else replace(ANY, optional=optional)


def of_value(value: Any) -> Shape:
    """The shape of a value."""
    if isinstance(value, enum.Enum):
        return TEXT
    if type(value) in _PLAIN:
        return _PLAIN[type(value)]
    if isinstance(value, tuple | list | range):
        return Shape("seq", _union([of_value(each) for each in value]) if value else ANY)
    if isinstance(value, set | frozenset):
        return Shape("set", _union([of_value(each) for each in value]) if value else ANY)
    if isinstance(value, Mapping):
        inside = [of_value(each) for each in value.values()]
        return Shape("fun", _union(inside) if inside else ANY, _union([of_value(each) for each in value] or [ANY]))
    if is_dataclass(value) and not isinstance(value, type):
        return Shape("record", record=type(value))
    return ANY


def of_parameter(function: Callable[..., Any], name: str) -> Shape:
    """The shape that a function's annotation promises for a parameter (or ``return``)."""
    return of_annotation(hints_of(function).get(name), getattr(function, "__globals__", {}))


def literal(value: Any) -> str | None:
    """A value as TLA+ writes it; None if TLA+ cannot."""
    match value:
        case None:
            return "NULL"
        case bool():
            return "TRUE" if value else "FALSE"
        case enum.Enum():
            return f'"{value.name}"'
        case int():
            return str(value) if value >= 0 else f"(-{-value})"
        case str():
            return None if any(each in value for each in '"\\\n\t') else f'"{value}"'
        case tuple() | list() | range():
            return _joined("<<", [literal(each) for each in value], ">>")
        case set() | frozenset():
            return _joined("{", [literal(each) for each in sorted(value, key=repr)], "}")
        case Mapping():
            pairs = [(literal(key), literal(each)) for key, each in value.items()]
            return (
                _joined("(", [f"{k} :> {v}" if k and v else None for k, v in pairs], ")", " @@ ") if pairs else "<<>>"
            )
    if is_dataclass(value) and not isinstance(value, type) and fields(value):
        parts = [(each.name, literal(getattr(value, each.name))) for each in fields(value)]
        return _joined("[", [f"{name} |-> {text}" if text else None for name, text in parts], "]")
    return None


def _joined(start: str, parts: list[str | None], end: str, separator: str = ", ") -> str | None:
    known = [each for each in parts if each is not None]
    return start + separator.join(known) + end if len(known) == len(parts) else None
