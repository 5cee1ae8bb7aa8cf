"""Values of any kind as hashable ones, by content: two frozen values are equal exactly when no program can tell the
originals apart by looking at them (or at what they share).

Mutable values that are reached twice are written down once and referred to afterwards, so that "two names of one list"
and "two equal lists" stay different: a later ``append`` would tell them apart. What cannot be frozen (sockets, tasks,
objects of extension types) raises ``Unfreezable``; whoever asked must then fall back on something coarser.
"""

from __future__ import annotations

import enum
import functools
import inspect
import types
from collections import deque
from dataclasses import fields, is_dataclass
from datetime import date, datetime, time, timedelta, tzinfo
from decimal import Decimal
from pathlib import PurePath
from typing import TYPE_CHECKING, Any
from uuid import UUID

import msgspec

from attractor.runtime.context import Context

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

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
    return _frozen(value, kind, {} if memo is None else memo)


_PLAIN_TYPES = frozenset(_PLAIN)


def _frozen(value: Any, kind: type, memo: dict[int, int]) -> Hashable:
    if isinstance(value, _TAGGED):
        return (kind, value)
    if isinstance(value, Context):
        return (Context, value.controller, value.key)
    if isinstance(value, _BY_IDENTITY):
        return ("same", id(value))
    if isinstance(value, tuple):
        return (kind, *(freeze(each, memo) for each in value))
    if isinstance(value, frozenset):
        return (kind, frozenset(freeze(each, memo) for each in value))
    known = memo.get(id(value))
    if known is not None:
        return ("again", known)
    memo[id(value)] = len(memo)
    return _content(value, kind, memo)


def _content(value: Any, kind: type, memo: dict[int, int]) -> Hashable:
    """What a value that may change, or be compared by identity, is made of."""
    if isinstance(value, list | deque):
        return (kind, *(freeze(each, memo) for each in value))
    if isinstance(value, dict):
        return (kind, *((freeze(key, memo), freeze(each, memo)) for key, each in value.items()))
    if isinstance(value, set | bytearray):
        return (kind, frozenset(freeze(each, memo) for each in value) if isinstance(value, set) else bytes(value))
    if isinstance(value, msgspec.Struct):
        return (kind, *(freeze(getattr(value, name, None), memo) for name in kind.__struct_fields__))  # type: ignore[attr-defined]
    if isinstance(value, _ITERATORS):
        return (kind, freeze(value.__reduce__(), memo))
    if isinstance(value, types.FunctionType):
        return _function(value, memo)
    if isinstance(value, types.MethodType):
        return (kind, freeze(value.__func__, memo), freeze(value.__self__, memo))
    if isinstance(value, functools.partial):
        return (kind, freeze(value.func, memo), freeze(value.args, memo), freeze(value.keywords, memo))
    if isinstance(value, types.CellType):
        return (kind, freeze(value.cell_contents, memo) if _is_filled(value) else "empty")
    if isinstance(value, BaseException):
        return (kind, freeze(value.args, memo), freeze(value.__dict__, memo))
    return _object(value, kind, memo)


def _is_filled(cell: types.CellType) -> bool:
    try:
        _ = cell.cell_contents
    except ValueError:
        return False
    return True


def _function(value: types.FunctionType, memo: dict[int, int]) -> Hashable:
    """A function made afresh by each call of another is known by its code and what it closes over."""
    if value.__closure__ is None and not value.__defaults__ and not value.__kwdefaults__:
        return (types.FunctionType, id(value.__code__), id(value.__globals__))
    inside = [freeze(cell, memo) for cell in value.__closure__ or ()]
    given = freeze(value.__defaults__, memo), freeze(value.__kwdefaults__, memo)
    return (types.FunctionType, id(value.__code__), id(value.__globals__), *inside, *given)


def _object(value: Any, kind: type, memo: dict[int, int]) -> Hashable:
    """An instance of a Python class, by its attributes."""
    if is_dataclass(value):
        return (kind, *(freeze(getattr(value, each.name, None), memo) for each in fields(value)))
    if inspect.isgenerator(value) or inspect.iscoroutine(value):
        from attractor.check.world.frames import frame_of  # frames are made of values, and values may hold frames

        return frame_of(value, memo)
    if not _is_python_class(kind):
        raise Unfreezable(f"a {kind.__module__}.{kind.__qualname__} has no content that could be compared")
    names = [*_slots(kind), *getattr(value, "__dict__", ())]
    return (kind, *((name, freeze(getattr(value, name, None), memo)) for name in names))


def _slots(kind: type) -> Iterable[str]:
    for base in kind.__mro__:
        declared = base.__dict__.get("__slots__", ())
        for name in (declared,) if isinstance(declared, str) else declared:
            if name not in {"__dict__", "__weakref__"}:
                yield name


def _is_python_class(kind: type) -> bool:
    """Whether all that an instance holds is in its ``__dict__`` and declared slots."""
    return all(base is object or base.__flags__ & (1 << 9) for base in kind.__mro__)
