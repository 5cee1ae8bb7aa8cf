"""Carries unknown fields past msgspec, which would refuse or drop them.

``fold_in_place`` moves the unknown fields of every typed object of a JSON tree under one hidden name, where the
``Struct`` has a field for them, and drops ``null`` where a field has a default and cannot be null.
``unfold_in_place`` brings unknown fields back. Both follow the class and never guess from the data, so a free-form
map may use the hidden name itself. They run only for trees that are not exactly as declared.
"""

from __future__ import annotations

from functools import cache
from types import NoneType
from typing import TYPE_CHECKING, Any, TypeAlias, get_args, get_origin, get_type_hints

import msgspec

from attractor.objects.resource.struct import HIDDEN, Struct, Unknown

if TYPE_CHECKING:
    from collections.abc import Callable

    Walk: TypeAlias = Callable[[Any, bool], None]


def fold_in_place(cls: type[Struct], value: Any) -> None:
    """Hide the unknown fields of ``value``, which is to become a ``cls``."""
    _of_struct(cls)(value, True)


def unfold_in_place(cls: type[Struct], value: Any) -> None:
    """Bring back the unknown fields of ``value``, which was made from a ``cls``."""
    _of_struct(cls)(value, False)


@cache
def _of_struct(cls: type[Struct]) -> Walk:
    hints = get_type_hints(cls)
    fields = [field for field in msgspec.structs.fields(cls) if field.encode_name != HIDDEN]
    known = frozenset(field.encode_name for field in fields)
    null_is_absent = {
        field.encode_name
        for field in fields
        if not field.required and hints[field.name] is not Any and NoneType not in get_args(hints[field.name])
    }
    nested = [
        (field.encode_name, _LazyWalk(hints[field.name])) for field in fields if _may_hold_struct(hints[field.name])
    ]

    def walk(value: Any, folding: bool) -> None:
        if type(value) is not dict:
            return
        if not folding:
            if HIDDEN in value:
                value.update(value.pop(HIDDEN))
        else:
            if not value.keys() <= known:
                value[HIDDEN] = Unknown({name: value.pop(name) for name in list(value) if name not in known})
            if None in value.values():
                for name in [name for name, item in value.items() if item is None and name in null_is_absent]:
                    del value[name]
        for name, inner in nested:
            if name in value:
                inner(value[name], folding)

    return walk


class _LazyWalk:
    """The walk of a field's type, made when first needed, so that recursive types end."""

    __slots__ = ("hint", "walk")

    def __init__(self, hint: Any) -> None:
        self.hint = hint
        self.walk: Walk | None = None

    def __call__(self, value: Any, folding: bool) -> None:
        if self.walk is None:
            self.walk = _of_hint(self.hint)
            assert self.walk is not None, "a walk was planned for a type without typed objects"
        self.walk(value, folding)


def _may_hold_struct(hint: Any) -> bool:
    if isinstance(hint, type) and issubclass(hint, Struct):
        return True
    return any(_may_hold_struct(argument) for argument in get_args(hint))


def _of_hint(hint: Any) -> Walk | None:
    """How to walk values of a type; None when no typed object can be inside."""
    if isinstance(hint, type) and issubclass(hint, Struct):
        return _of_struct(hint)
    origin = get_origin(hint)
    inner = next((walk for argument in reversed(get_args(hint)) if (walk := _of_hint(argument))), None)
    if inner is None or origin not in {dict, list, tuple, set, frozenset}:
        return inner
    found = inner

    def walk_map(value: Any, folding: bool) -> None:
        if type(value) is dict:
            for item in value.values():
                found(item, folding)

    def walk_list(value: Any, folding: bool) -> None:
        if type(value) is list:
            for item in value:
                found(item, folding)

    return walk_map if origin is dict else walk_list
