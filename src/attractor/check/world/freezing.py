"""Values of any kind as hashable ones, by content: two frozen values are equal exactly when no program can tell the
originals apart by looking at them (or at what they share).

Mutable values that are reached twice are written down once and referred to afterwards, so that "two names of one list"
and "two equal lists" stay different: a later ``append`` would tell them apart. What cannot be frozen (sockets, tasks,
objects of extension types) raises ``Unfreezable``; whoever asked must then fall back on something coarser.
"""

from __future__ import annotations

import enum
import functools
import types
from collections import deque
from dataclasses import fields, is_dataclass
from datetime import date, datetime, time, timedelta, tzinfo
from decimal import Decimal
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, TypeAlias
from uuid import UUID

import msgspec

from attractor.check.setorder import is_filled
from attractor.runtime.context import Context

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable

_PLAIN = (str, bytes, int, type(None), types.EllipsisType)
_TAGGED = (bool, float, complex, enum.Enum, date, datetime, time, timedelta, tzinfo, Decimal, PurePath, UUID, range)
_BY_IDENTITY = (
    type,
    types.ModuleType,
    types.BuiltinFunctionType,
    types.CodeType,
    types.GenericAlias,
    property,
    msgspec.UnsetType,
)
_EMPTY: tuple[Any, ...] = ([], (), {}, {}.values(), {}.items(), "", b"", range(0), set(), frozenset())
_ITERATORS: tuple[type, ...] = (
    *(type(iter(each)) for each in _EMPTY),
    *(enumerate, zip, map, filter, reversed, type(reversed([])), slice),
)


class Unfreezable(TypeError):
    """A value has no content that could be compared."""


def freeze(value: Any, memo: dict[int, int] | None = None) -> Hashable:
    """The content of a value; ``memo`` knows the mutable values met before, in the order of their appearance."""
    kind = type(value)
    if kind in _PLAIN_TYPES:
        frozen: Hashable = value
        return frozen
    return (_WAYS.get(kind) or _way(kind))(value, {} if memo is None else memo)


_PLAIN_TYPES = frozenset(_PLAIN)
_Way: TypeAlias = "Callable[[Any, dict[int, int]], Hashable]"
_WAYS: dict[type, _Way] = {}
"""How values of a type are frozen, found out once for each type."""


def _way(kind: type) -> _Way:
    way = _WAYS[kind] = _immutable(kind) or _once(_content(kind))
    return way


def _immutable(kind: type) -> _Way | None:
    """How a value is frozen that is the same wherever it is met, as far as its parts are."""
    if issubclass(kind, _TAGGED):
        return lambda value, _: (kind, value)
    if issubclass(kind, Context):
        return lambda value, _: (Context, value.controller, value.key)
    if issubclass(kind, _BY_IDENTITY):
        return lambda value, _: ("same", id(value))
    if issubclass(kind, tuple):
        return lambda value, memo: (kind, *_all(value, memo))
    if issubclass(kind, frozenset):
        return lambda value, memo: (kind, frozenset(_all(value, memo)))
    return None


def _once(content: _Way) -> _Way:
    """A value that may change, or be compared by identity, is written down where it is met first."""

    def frozen(value: Any, memo: dict[int, int]) -> Hashable:
        known = memo.get(id(value))
        if known is not None:
            return ("again", known)
        memo[id(value)] = len(memo)
        return content(value, memo)

    return frozen


def _all(values: Iterable[Any], memo: dict[int, int]) -> list[Hashable]:
    return [each if type(each) in _PLAIN_TYPES else freeze(each, memo) for each in values]


def _content(kind: type) -> _Way:
    """How to write down what a value that may change is made of."""
    if issubclass(kind, list | deque):
        return lambda value, memo: (kind, *_all(value, memo))
    if issubclass(kind, dict):
        return lambda value, memo: (kind, *[(freeze(key, memo), freeze(each, memo)) for key, each in value.items()])
    if issubclass(kind, set):
        return lambda value, memo: (kind, frozenset(_all(value, memo)))
    if issubclass(kind, bytearray):
        return lambda value, _: (kind, bytes(value))
    if issubclass(kind, msgspec.Struct):
        return _attributes(kind, kind.__struct_fields__)
    if issubclass(kind, _ITERATORS):
        return lambda value, memo: (kind, freeze(value.__reduce__(), memo))
    if issubclass(kind, types.FunctionType):
        return _function
    if issubclass(kind, types.MethodType):
        return lambda value, memo: (kind, freeze(value.__func__, memo), freeze(value.__self__, memo))
    if issubclass(kind, functools.partial):
        return lambda value, memo: (kind, *_all((value.func, value.args, value.keywords), memo))
    if issubclass(kind, types.CellType):
        return lambda value, memo: (kind, freeze(value.cell_contents, memo) if is_filled(value) else "empty")
    if issubclass(kind, BaseException):
        return lambda value, memo: (kind, freeze(value.args, memo), freeze(value.__dict__, memo))
    return _object(kind)


def _attributes(kind: type, names: tuple[str, ...]) -> _Way:
    return lambda value, memo: (kind, *_all([getattr(value, name, None) for name in names], memo))


def _function(value: types.FunctionType, memo: dict[int, int]) -> Hashable:
    """A function made afresh by each call of another is known by its code and what it closes over."""
    if value.__closure__ is None and not value.__defaults__ and not value.__kwdefaults__:
        return (types.FunctionType, id(value.__code__), id(value.__globals__))
    inside = [freeze(cell, memo) for cell in value.__closure__ or ()]
    given = freeze(value.__defaults__, memo), freeze(value.__kwdefaults__, memo)
    return (types.FunctionType, id(value.__code__), id(value.__globals__), *inside, *given)


def _object(kind: type) -> _Way:
    """How an instance of a Python class is written down: by its attributes."""
    if is_dataclass(kind):
        return _attributes(kind, tuple(each.name for each in fields(kind)))
    if issubclass(kind, types.GeneratorType | types.CoroutineType):
        from attractor.check.world.frames import frame_of  # frames are made of values, and values may hold frames

        return frame_of
    if not _is_python_class(kind):
        return _refuse
    declared = tuple(_slots(kind))

    def named(value: Any, memo: dict[int, int]) -> Hashable:
        names = (*declared, *getattr(value, "__dict__", ()))
        return (kind, *[(name, freeze(getattr(value, name, None), memo)) for name in names])

    return named


def _refuse(value: Any, _: dict[int, int]) -> Hashable:
    kind = type(value)
    raise Unfreezable(f"a {kind.__module__}.{kind.__qualname__} has no content that could be compared")


def _slots(kind: type) -> Iterable[str]:
    for base in kind.__mro__:
        declared = base.__dict__.get("__slots__", ())
        for name in (declared,) if isinstance(declared, str) else declared:
            if name not in {"__dict__", "__weakref__"}:
                yield name


def _is_python_class(kind: type) -> bool:
    """Whether all that an instance holds is in its ``__dict__`` and declared slots."""
    return all(base is object or base.__flags__ & (1 << 9) for base in kind.__mro__)
