"""Values that are watched for change: it is seen by the identity of their parts, which is quicker than to freeze again.

    watch.add(value)            False if it holds something that cannot be watched
    watch.is_unchanged()        True only if ``freeze`` would still answer the same for all values that were added

Whoever changes a value exchanges a part of something that it holds: an element, an attribute, what a cell contains. So
a value is as it was if each object in it that can change has the very parts that it had. An equal part that is another
object is no proof; then only ``freeze`` can say. Of objects that are on no list (a lock, a client) attributes are
watched, as far as they have any.
"""

from __future__ import annotations

import datetime as dt
import enum
import functools
import logging
import re
import types
import uuid
from collections import OrderedDict, defaultdict, deque
from decimal import Decimal
from fractions import Fraction
from operator import attrgetter, is_
from pathlib import PosixPath, PurePosixPath, PureWindowsPath, WindowsPath
from typing import TYPE_CHECKING, Any, TypeAlias, cast
from zoneinfo import ZoneInfo

import msgspec

from attractor.check.sandbox.set_order import is_filled
from attractor.check.values.class_layouts import Attributes, attributes_of, hidden_base
from attractor.check.values.snapshot import PLAIN
from attractor.runtime.context import Context
from attractor.runtime.observability.field_logger import FieldLogger

if TYPE_CHECKING:
    from collections.abc import Callable

_Read: TypeAlias = "Callable[[Any], tuple[Any, ...]]"

MOST = 10_000
"""Not more objects than so many are watched."""
_FIXED = (
    *(float, complex, range, dt.timedelta, dt.date, dt.timezone, ZoneInfo, Decimal, Fraction, uuid.UUID, re.Pattern),
    *(bool, PurePosixPath, PureWindowsPath, PosixPath, WindowsPath),
    *(types.ModuleType, types.CodeType),
)
_THEMSELVES = (type, logging.Logger, FieldLogger, enum.Enum)
"""What derives from these is told apart by identity alone, as in ``snapshot``."""


class Watch:
    """Values, and everything in them that can change, with the parts that it had."""

    def __init__(self, polled: tuple[Any, ...] = ()) -> None:
        """Instances of ``polled`` types change unseen."""
        self._polled = polled
        self._held: list[tuple[_Read, Any, tuple[Any, ...]]] = []
        self._seen: dict[int, Any] = {}

    def add(self, value: Any) -> bool:
        """Watch a value, too; False if it holds what may change unseen, or too much."""
        waiting = [value]
        while waiting:
            part = waiting.pop()
            kind: Any = type(part)
            if kind in PLAIN or id(part) in self._seen:
                continue
            read = _reader(kind, self._polled)
            if read is None or len(self._held) > MOST:
                return False
            self._seen[id(part)] = part
            parts = read(part)
            waiting += parts
            if read is not _nothing and kind not in _WHOLE:
                self._held.append((read, part, parts))
        return True

    def is_unchanged(self) -> bool:
        """Whether nobody has changed anything in the values that were added."""
        for read, holder, before in self._held:
            now = read(holder)
            if len(now) != len(before) or not all(map(is_, now, before)):
                return False
        return True


@functools.cache
def _reader(kind: type, polled: tuple[Any, ...]) -> _Read | None:
    """How to read the parts of which a type's values consist; None if there may be others."""
    known = _READERS.get(kind)
    if known is not None:
        return known
    if kind in _FIXED or issubclass(kind, _THEMSELVES):
        return _nothing
    if issubclass(kind, msgspec.Struct):
        return None if kind.__struct_config__.dict else _of_struct(kind.__struct_fields__)
    if issubclass(kind, (*polled, *_UNSEEN)):
        return None
    base = hidden_base(kind, _BASES)
    return _attributes if base is None else _of_class(kind, _BASES[base])


def _nothing(_: Any) -> tuple[Any, ...]:
    return ()


def _entries(value: dict[Any, Any]) -> tuple[Any, ...]:
    return (*dict.keys(value), *dict.values(value))


def _cell(cell: types.CellType) -> tuple[Any, ...]:
    return (cell.cell_contents,) if is_filled(cell) else ()


def _function(value: types.FunctionType) -> tuple[Any, ...]:
    """All but its globals, which cannot be exchanged and are not its own."""
    return (
        *(value.__code__, value.__defaults__, value.__kwdefaults__, value.__dict__),
        *(value.__name__, value.__qualname__, value.__module__, *(value.__closure__ or ())),
    )


def _partial(value: functools.partial[Any]) -> tuple[Any, ...]:
    return (value.func, value.args, value.keywords, value.__dict__)


def _attributes(value: Any) -> tuple[Any, ...]:
    """The attributes of an object of which nothing else is known."""
    held = getattr(value, "__dict__", None)
    return _entries(held) if isinstance(held, dict) else ()


def _of_struct(names: tuple[str, ...]) -> _Read:
    return lambda value: tuple([getattr(value, name, None) for name in names])


def _of_class(kind: type, behind: _Read) -> _Read:
    """The parts of instances of a class written in Python: attributes, and what the builtin type behind it holds."""
    own = attributes_of(kind)
    if behind is _nothing and own.has_dict and not own.slots:
        return lambda value: _entries(object.__getattribute__(value, "__dict__"))

    def read(value: Any) -> tuple[Any, ...]:
        return (*behind(value), *[part for named in own.of(value) for part in named])

    if behind is _nothing and len(own.slots) > 1 and not own.has_dict and _are_plain(kind, own):
        return _at_once(attrgetter(*[name for name, _ in own.slots]), read)
    return read


def _are_plain(kind: Any, own: Attributes) -> bool:
    """Whether an attribute of each slot's name is what the slot holds, and no code of the class is run for it."""
    is_usual = kind.__getattribute__ is object.__getattribute__ and not hasattr(kind, "__getattr__")
    return is_usual and all(getattr(kind, name, None) is slot for name, slot in own.slots)


def _at_once(every: _Read, each: _Read) -> _Read:
    """Read slots all together where all are filled, else one by one."""

    def read(value: Any) -> tuple[Any, ...]:
        try:
            return every(value)
        except AttributeError:
            return each(value)

    return read


_BASES: dict[type, _Read] = {
    **dict.fromkeys((object, types.SimpleNamespace, dt.timedelta, str, bytes, int, float), cast("_Read", _nothing)),
    list: lambda value: tuple(list.__iter__(value)),
    tuple: lambda value: tuple(tuple.__iter__(value)),
    frozenset: lambda value: tuple(frozenset.__iter__(value)),
    dict: _entries,
    OrderedDict: lambda value: (*OrderedDict.keys(value), *OrderedDict.values(value)),
    defaultdict: lambda value: (value.default_factory, *_entries(value)),
    set: lambda value: tuple(set.__iter__(value)),
    deque: lambda value: tuple(deque.__iter__(value)),
}
_WHOLE = {tuple, frozenset, types.MethodType, types.BuiltinFunctionType, types.GenericAlias}
"""Types whose values keep their parts, which may change in themselves."""
_READERS: dict[Any, _Read] = {
    tuple: lambda value: value,
    frozenset: tuple,
    list: tuple,
    set: tuple,
    deque: tuple,
    dict: _entries,
    types.FunctionType: _function,
    types.CellType: _cell,
    types.MethodType: lambda value: (value.__func__, value.__self__),
    types.BuiltinFunctionType: lambda value: (value.__self__,),
    types.GenericAlias: lambda value: (value.__origin__, value.__args__),
    functools.partial: _partial,
}
_UNSEEN = (BaseException, bytearray, slice, Context, dt.datetime, dt.time)
"""Types of ``snapshot`` with parts that are not read here."""
