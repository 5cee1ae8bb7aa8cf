"""Carries unknown fields past msgspec, which would refuse or drop them.

``fold`` moves the unknown fields of every typed object of a JSON tree under one hidden name, where the ``Struct`` has
a field for them, and drops ``null`` where a field has a default and cannot be null; ``unfold`` brings unknown fields
back. Both follow the class, never guess from the data, and copy what they change. They run only for trees that are
not exactly as declared.
"""

from __future__ import annotations

from functools import cache
from types import NoneType
from typing import TYPE_CHECKING, Any, TypeAlias, get_args, get_origin, get_type_hints

import msgspec

from attractor.objects.resource.struct import HIDDEN, Struct, Unknown

if TYPE_CHECKING:
    from collections.abc import Callable

    Walk: TypeAlias = Callable[[Any, bool], Any]


def fold(cls: type[Struct], value: Any) -> Any:
    """Hide the unknown fields of ``value``, which is to become a ``cls``."""
    return _of_struct(cls)(value, True)


def unfold(cls: type[Struct], value: Any) -> Any:
    """Bring back the unknown fields of ``value``, which was made from a ``cls``."""
    return _of_struct(cls)(value, False)


@cache
def _of_struct(cls: type[Struct]) -> Walk:
    fields: dict[str, Walk | None] = {}
    null_is_absent: set[str] = set()

    def walk(value: Any, folding: bool) -> Any:
        if not isinstance(value, dict):
            return value
        known, unknown = {}, {}
        for name, item in value.items():
            if name not in fields:
                unknown[name] = item
            elif item is None and name in null_is_absent:
                continue
            else:
                inner = fields[name]
                known[name] = item if inner is None else inner(item, folding)
        if unknown:
            known |= {HIDDEN: Unknown(unknown)} if folding else unknown[HIDDEN]
        return known

    hints = get_type_hints(cls)
    for attribute, wire_name in zip(cls.__struct_fields__, cls.__struct_encode_fields__, strict=True):
        if wire_name != HIDDEN:
            hint = hints[attribute]
            fields[wire_name] = _LazyWalk(hint) if _may_hold_struct(hint) else None
            if hint is not Any and NoneType not in get_args(hint):
                null_is_absent.add(wire_name)
    required = {field.encode_name for field in msgspec.structs.fields(cls) if field.required}
    null_is_absent -= required
    return walk


class _LazyWalk:
    """The walk of a field's type, made when first needed, so that recursive types end."""

    __slots__ = ("hint", "walk")

    def __init__(self, hint: Any) -> None:
        self.hint = hint
        self.walk: Walk | None = None

    def __call__(self, value: Any, folding: bool) -> Any:
        if self.walk is None:
            self.walk = _of_hint(self.hint)
            assert self.walk is not None, "a walk was planned for a type without typed objects"
        return self.walk(value, folding)


def _may_hold_struct(hint: Any) -> bool:
    if isinstance(hint, type) and issubclass(hint, Struct):
        return True
    return any(_may_hold_struct(argument) for argument in get_args(hint))


def _of_hint(hint: Any) -> Walk | None:
    """How to walk values of a type; None when no typed object can be inside."""
    if isinstance(hint, type) and issubclass(hint, Struct):
        return _of_struct(hint)
    origin, arguments = get_origin(hint), get_args(hint)
    inner = next((walk for argument in reversed(arguments) if (walk := _of_hint(argument))), None)
    if inner is None:
        return None
    found = inner
    if origin is dict:
        return lambda value, folding: (
            {name: found(item, folding) for name, item in value.items()} if isinstance(value, dict) else value
        )
    if origin in {list, tuple, set, frozenset}:
        return lambda value, folding: [found(item, folding) for item in value] if isinstance(value, list) else value
    return found
