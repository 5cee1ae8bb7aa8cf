"""Values that may be part of a state: a closed list of types whose whole content is known.

    freeze(value)       its content, hashable: equal exactly if no program can tell the originals apart by looking
    copied(value)       another value with that content, which shares nothing that can change; runs no author's code

On the list: numbers, texts, bytes, None, enums, times with their zones, Decimal, Fraction, UUID, paths, patterns; the
containers of ``builtins`` and ``collections``; structs of ``msgspec``; exceptions with their causes; functions with
what they close over, partial ones, methods; and instances of classes written in Python, which may derive from the
above, with every attribute that they have, declared or not (``class_layouts``). Classes, modules, loggers are
themselves.

Everything else is ``Unfreezable``: what an object of an extension type holds (a lock, a match, an iterator, a random
generator) cannot be seen, so it cannot be compared.

Values that can change and are reached twice are written down once and referred to afterwards, so that "two names of
one list" and "two equal lists" stay different: a later ``append`` would tell them apart. What is left out: which of two
equal values that cannot change is the same object (``is``), and in what order a set of texts is looped over
(``sandbox.set_order``).
"""

from __future__ import annotations

import datetime as dt
import enum
import functools
import logging
import re
import struct
import types
import uuid
from collections import OrderedDict, defaultdict, deque
from decimal import Decimal
from fractions import Fraction
from pathlib import PosixPath, PurePosixPath, PureWindowsPath, WindowsPath
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, cast
from zoneinfo import ZoneInfo

import msgspec

from attractor.check.sandbox.set_order import is_filled, plain_code
from attractor.check.values.class_layouts import Attributes, attributes_of, hidden_base
from attractor.objects.resource import Resource
from attractor.runtime.context import Context
from attractor.runtime.observability.field_logger import FieldLogger

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable

_NUMBERS = (int, float, complex, bool)


KNOWN = "dataclasses, numbers, texts, times and containers of these"
"""What to use instead, in words."""


class Unfreezable(TypeError):
    """A value has no content that could be compared; the text says which part of it, and of what type that is."""

    @property
    def told(self) -> str:
        """A sentence."""
        return f"it {self}" if str(self).startswith("is ") else str(self)


class Same:
    """Something that is equal to itself only; it stays alive, so nothing else can ever be taken for it."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return type(other) is Same and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)

    def __repr__(self) -> str:
        return f"Same({self.value!r})"


class Memo:
    """The values that can change and were met before; they stay alive, so no id is used twice."""

    __slots__ = ("known",)

    def __init__(self) -> None:
        self.known: dict[int, tuple[Any, Any]] = {}

    def note(self, value: Any, made: Any) -> None:
        """Remember what was made of a value."""
        self.known[id(value)] = made, value


_Freeze: TypeAlias = "Callable[[Any, Memo], Hashable]"
_Copy: TypeAlias = "Callable[[Any, Memo], Any]"


class _Form(NamedTuple):
    """Freezing and copying of one type's values; without ``copy`` they are immutable, with all that is in them."""

    freeze: _Freeze
    copy: _Copy | None = None


def freeze(value: Any, memo: Memo | None = None) -> Hashable:
    """The content of a value; raises ``Unfreezable``."""
    kind = type(value)
    if kind in PLAIN:
        frozen: Hashable = value
        return frozen
    return (_FORMS.get(kind) or _form(kind)).freeze(value, Memo() if memo is None else memo)


def copied(value: Any, memo: Memo | None = None) -> Any:
    """A value with the same content that shares nothing that can change; raises ``Unfreezable``."""
    kind = type(value)
    if kind in PLAIN:
        return value
    copy = (_FORMS.get(kind) or _form(kind)).copy
    return value if copy is None else copy(value, Memo() if memo is None else memo)


PLAIN = frozenset({str, bytes, int, type(None), types.EllipsisType, types.NotImplementedType, msgspec.UnsetType})
_FORMS: dict[type, _Form] = {}
"""By type, as far as they are known; others are found out once."""


def _form(kind: type) -> _Form:
    form = _FORMS[kind] = _derived(kind)
    return form


def _part(value: Any, memo: Memo, where: str) -> Hashable:
    """A named part of a value, frozen; where that cannot be, the name tells which part it was."""
    if type(value) in PLAIN:
        frozen: Hashable = value
        return frozen
    try:
        return freeze(value, memo)
    except Unfreezable as problem:
        raise Unfreezable(f"{where} {problem}") from None


def _all(values: Iterable[Any], memo: Memo) -> list[Hashable]:
    return [each if type(each) in PLAIN else freeze(each, memo) for each in values]


def _copies(values: Iterable[Any], memo: Memo) -> list[Any]:
    return [each if type(each) in PLAIN else copied(each, memo) for each in values]


def _once(content: _Freeze) -> _Freeze:
    """A value that can change is written down where it is met first."""

    def frozen(value: Any, memo: Memo) -> Hashable:
        known = memo.known.get(id(value))
        if known is not None:
            return ("again", known[0])
        memo.note(value, len(memo.known))
        return content(value, memo)

    return frozen


def _copied_once(make: _Copy, fill: Callable[[Any, Any, Memo], None] | None = None) -> _Copy:
    """A value that can change is copied where it is met first; what it holds may hold it."""

    def copy(value: Any, memo: Memo) -> Any:
        known = memo.known.get(id(value))
        if known is not None:
            return known[0]
        made = make(value, memo)
        memo.note(value, made)
        if fill is not None:
            fill(made, value, memo)
        return made

    return copy


def _changing(content: _Freeze, empty: Callable[[Any], Any], fill: Callable[[Any, Any, Memo], None]) -> _Form:
    """The form of values that can change: ``empty`` makes another one, ``fill`` gives it copies of all parts."""
    return _Form(_once(content), _copied_once(lambda value, _: empty(value), fill))


# Values that cannot change.


def _fixed(content: Callable[[Any], Any]) -> _Form:
    return _Form(lambda value, _: (type(value), content(value)))


def _is_itself(value: Any, _: Memo) -> Hashable:
    return Same(value)


def _float(value: float, memo: Memo) -> Hashable:
    if value != value:  # noqa: PLR0124 - two that are no numbers are equal exactly if they are one object
        return _once(lambda each, _: (float, struct.pack("<d", each)))(value, memo)
    return (float, struct.pack("<d", value))


def _zone(zone: Any, memo: Memo) -> Hashable:
    if type(zone) is ZoneInfo:
        made: Any = zone.__reduce__()[1]
        key, is_shared = made
        if not is_shared or key is None:
            raise Unfreezable("is a ZoneInfo that nothing else shares, of which copies are different zones")
        return (ZoneInfo, key)
    return freeze(zone, memo)


def _instant(kind: Any, value: dt.datetime) -> dt.datetime:
    """A time of another class with the same content; no code of a derived class is run."""
    day = (value.year, value.month, value.day, value.hour, value.minute, value.second, value.microsecond)
    made: dt.datetime = dt.datetime.__new__(kind, *day, value.tzinfo, fold=value.fold)
    return made


def _time(value: dt.datetime | dt.time, memo: Memo) -> Hashable:
    return (type(value), value.replace(tzinfo=None, fold=0), value.fold, _zone(value.tzinfo, memo))


def _tuple(value: tuple[Any, ...], memo: Memo) -> Hashable:
    return (tuple, *_all(value, memo))


def _set(value: Any, memo: Memo) -> Hashable:
    """Its elements; numbers in the order in which they are looped over, which depends on how the set was made."""
    if all(type(each) in _NUMBERS for each in value):
        return (type(value), *_all(value, memo))
    return (type(value), frozenset(_all(value, memo)))


# Functions.


def _function(value: types.FunctionType, memo: Memo) -> Hashable:
    """By its code, what it closes over, its defaults and its attributes: many are made afresh by each call."""
    cells = [_cell(cell, memo, name) for name, cell in _cells(value)]
    return (
        *(types.FunctionType, plain_code(value.__code__), Same(value.__globals__), *cells),
        *(_part(each, memo, f"default of {value.__name__}") for each in (value.__defaults__, value.__kwdefaults__)),
        _part(value.__dict__, memo, f"attribute of {value.__name__}"),
        *(value.__name__, value.__qualname__, value.__module__),
    )


def _cells(value: types.FunctionType) -> Iterable[tuple[str, types.CellType]]:
    return zip(value.__code__.co_freevars, value.__closure__ or (), strict=True)


def _cell(cell: types.CellType, memo: Memo, name: str) -> Hashable:
    return _once(lambda _, memo: (_part(cell.cell_contents, memo, f"`{name}`"),) if is_filled(cell) else ())(cell, memo)


def _empty_function(value: types.FunctionType) -> types.FunctionType:
    cells = tuple(types.CellType() for _ in value.__closure__ or ())
    return types.FunctionType(value.__code__, value.__globals__, value.__name__, None, cells or None)


def _fill_function(made: types.FunctionType, value: types.FunctionType, memo: Memo) -> None:
    made.__defaults__, made.__kwdefaults__ = copied(value.__defaults__, memo), copied(value.__kwdefaults__, memo)
    made.__dict__.update(copied(value.__dict__, memo))
    made.__qualname__, made.__module__ = value.__qualname__, value.__module__
    for own, cell in zip(made.__closure__ or (), value.__closure__ or (), strict=True):
        if is_filled(cell):
            own.cell_contents = copied(cell.cell_contents, memo)


def _copied_function(value: types.FunctionType, memo: Memo) -> Any:
    """A function that holds nothing of its own is itself."""
    if value.__closure__ is None and not value.__defaults__ and not value.__kwdefaults__ and not value.__dict__:
        return value
    return _CLOSURE.copy(value, memo) if _CLOSURE.copy else value


_CLOSURE = _changing(_function, _empty_function, _fill_function)


def _builtin(value: types.BuiltinFunctionType, _: Memo) -> Hashable:
    if value.__self__ is None or isinstance(value.__self__, types.ModuleType | type):
        return Same(value)
    raise Unfreezable(f"is a method of a {type(value.__self__).__name__}; hand over a function that calls it")


def _partial(value: functools.partial[Any], memo: Memo) -> Hashable:
    return (functools.partial, *_all((value.func, value.args, value.keywords, value.__dict__), memo))


def _copied_partial(value: functools.partial[Any], memo: Memo) -> functools.partial[Any]:
    function, args, keywords = _copies((value.func, value.args, value.keywords), memo)
    made = functools.partial(function, *args, **keywords)
    made.__dict__.update(copied(value.__dict__, memo))
    return made


def _method(value: types.MethodType, memo: Memo) -> Hashable:
    return (types.MethodType, freeze(value.__func__, memo), freeze(value.__self__, memo))


# Containers, and what derives from them.


def _items(value: dict[Any, Any], memo: Memo) -> Hashable:
    return tuple([(freeze(key, memo), _part(each, memo, f"[{key!r}]")) for key, each in dict.items(value)])


def _fill_dict(made: dict[Any, Any], value: dict[Any, Any], memo: Memo) -> None:
    for key, each in dict.items(value):
        dict.__setitem__(made, copied(key, memo), copied(each, memo))


def _fill_defaults(made: defaultdict[Any, Any], value: defaultdict[Any, Any], memo: Memo) -> None:
    made.default_factory = copied(value.default_factory, memo)
    _fill_dict(made, value, memo)


class _Base(NamedTuple):
    """A builtin type that classes written in Python derive from: its own content, and how a copy gets it."""

    content: _Freeze
    empty: Callable[[Any], Any]
    fill: Callable[[Any, Any, Memo], None]


def _nothing(_made: Any, _value: Any, _memo: Memo) -> None:
    return None


def _over(base: Any, plain: Callable[[Any], Any]) -> _Base:
    """A base whose values cannot change; ``plain`` is a value of the base itself, or what it is made from."""
    return _Base(
        lambda value, memo: freeze(plain(value), memo), lambda value: base.__new__(type(value), plain(value)), _nothing
    )


_BASES: dict[type, _Base] = {
    object: _Base(lambda _, __: None, lambda value: object.__new__(type(value)), _nothing),
    list: _Base(
        lambda value, memo: tuple(_all(list.__iter__(value), memo)),
        lambda value: list.__new__(type(value)),
        lambda made, value, memo: list.extend(made, _copies(list.__iter__(value), memo)),
    ),
    dict: _Base(_items, lambda value: dict.__new__(type(value)), _fill_dict),
    OrderedDict: _Base(
        lambda value, memo: _items(dict(OrderedDict.items(value)), memo),
        lambda value: OrderedDict.__new__(type(value)),
        lambda made, value, memo: OrderedDict.update(made, _copies(OrderedDict.items(value), memo)),
    ),
    defaultdict: _Base(
        lambda value, memo: (freeze(value.default_factory, memo), _items(value, memo)),
        lambda value: defaultdict.__new__(type(value)),
        _fill_defaults,
    ),
    set: _Base(
        lambda value, memo: _set(set(value), memo),
        lambda value: set.__new__(type(value)),
        lambda made, value, memo: set.update(made, _copies(set.__iter__(value), memo)),
    ),
    deque: _Base(
        lambda value, memo: (value.maxlen, *_all(deque.__iter__(value), memo)),
        lambda value: _deque(type(value), value.maxlen),
        lambda made, value, memo: deque.extend(made, _copies(deque.__iter__(value), memo)),
    ),
    bytearray: _Base(
        lambda value, _: bytes(value),
        lambda value: bytearray.__new__(type(value)),
        lambda made, value, _: bytearray.extend(made, value),
    ),
    types.SimpleNamespace: _Base(
        lambda _, __: None, lambda value: types.SimpleNamespace.__new__(type(value)), _nothing
    ),
    dt.datetime: _Base(
        lambda value, memo: _time(_instant(dt.datetime, value), memo),
        lambda value: _instant(type(value), value),
        _nothing,
    ),
    dt.timedelta: _Base(
        lambda value, _: (value.days, value.seconds, value.microseconds),
        lambda value: dt.timedelta.__new__(type(value), value.days, value.seconds, value.microseconds),
        _nothing,
    ),
    str: _over(str, str.__str__),
    bytes: _over(bytes, lambda value: bytes.__getitem__(value, slice(None))),
    int: _over(int, int.__int__),
    float: _over(float, float.__float__),
}


def _deque(kind: type[deque[Any]], maxlen: int | None) -> deque[Any]:
    made = deque.__new__(kind)
    deque.__init__(made, (), maxlen)
    return made


def _derived(kind: type) -> _Form:
    """The form of a type that is not on the list itself: by what it derives from."""
    if issubclass(kind, Context):
        return _Form(lambda value, _: (Context, value.controller, value.key))
    if issubclass(kind, type | logging.Logger | FieldLogger | enum.Enum):
        return _Form(_is_itself)
    if issubclass(kind, msgspec.Struct):
        return _struct(kind)
    if issubclass(kind, BaseException):
        from attractor.check.values.exceptions import form_of_failures

        return _changing(*form_of_failures(kind))
    if issubclass(kind, tuple | frozenset):
        return _collection(kind)
    base = hidden_base(kind, _BASES)
    if base is None:
        return _Form(_refuse, _refuse)
    own = attributes_of(kind)
    behind = _BASES[base]

    def content(value: Any, memo: Memo) -> Hashable:
        return (cast("Hashable", kind), behind.content(value, memo), *own_parts(kind, own, value, memo))

    def fill(made: Any, value: Any, memo: Memo) -> None:
        behind.fill(made, value, memo)
        fill_own(own, made, value, memo)

    return _changing(content, behind.empty, fill)


def own_parts(kind: type, own: Attributes, value: Any, memo: Memo) -> list[Hashable]:
    """The attributes of a value, declared or not, frozen."""
    return [(name, _part(each, memo, f"{kind.__name__}.{name}")) for name, each in own.of(value)]


def fill_own(own: Attributes, made: Any, value: Any, memo: Memo) -> None:
    """Give another value copies of all attributes."""
    own.give(made, [(name, copied(each, memo)) for name, each in own.of(value)])


def _struct(kind: type[msgspec.Struct]) -> _Form:
    names = kind.__struct_fields__
    if kind.__struct_config__.dict:
        return _Form(_refuse, _refuse)

    def content(value: Any, memo: Memo) -> Hashable:
        return (kind, *[_part(getattr(value, name, None), memo, f"{kind.__name__}.{name}") for name in names])

    def fill(made: Any, value: Any, memo: Memo) -> None:
        for name in names:
            part = getattr(value, name, None)
            if type(part) not in PLAIN:
                msgspec.structs.force_setattr(made, name, copied(part, memo))

    if issubclass(kind, Resource):
        return _Form(_once(content), _copied_once(lambda value, _: value.deep_copy()))
    return _changing(content, lambda value: value.__copy__(), fill)


def _collection(kind: type) -> _Form:
    """The form of what derives from a tuple or a frozenset: a copy has its parts from the start."""
    base: Any = tuple if issubclass(kind, tuple) else frozenset
    own = attributes_of(kind)
    if hidden_base(kind, {base: None}) is None:
        return _Form(_refuse, _refuse)

    def content(value: Any, memo: Memo) -> Hashable:
        parts = tuple(_all(base.__iter__(value), memo)) if base is tuple else _set(frozenset(value), memo)
        return (kind, parts, *own_parts(kind, own, value, memo))

    def copy(value: Any, memo: Memo) -> Any:
        made = base.__new__(kind, _copies(base.__iter__(value), memo))
        fill_own(own, made, value, memo)
        return made

    return _Form(content, copy)


def _refuse(value: Any, _: Memo) -> Hashable:
    kind = type(value)
    name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    raise Unfreezable(f"is a {name}, whose content cannot be compared")


_LISTED: dict[Any, _Form] = {
    types.ModuleType: _Form(_is_itself),
    types.CodeType: _Form(_is_itself),
    types.GenericAlias: _Form(
        lambda value, memo: (types.GenericAlias, Same(value.__origin__), *_all(value.__args__, memo))
    ),
    bool: _fixed(lambda value: value),
    float: _Form(_float),
    complex: _fixed(lambda value: struct.pack("<dd", value.real, value.imag)),
    range: _fixed(lambda value: (value.start, value.stop, value.step)),
    slice: _Form(lambda value, memo: (slice, *_all((value.start, value.stop, value.step), memo))),
    dt.timedelta: _fixed(lambda value: value),
    dt.date: _fixed(lambda value: value),
    dt.datetime: _Form(_time),
    dt.time: _Form(_time),
    dt.timezone: _fixed(lambda value: (value.utcoffset(None), value.tzname(None))),
    ZoneInfo: _Form(_zone),
    Decimal: _fixed(lambda value: value.as_tuple()),
    Fraction: _fixed(lambda value: (value.numerator, value.denominator)),
    uuid.UUID: _fixed(lambda value: (value.int, value.is_safe.name)),
    re.Pattern: _fixed(lambda value: (value.pattern, value.flags)),
    **{each: _fixed(str) for each in (PurePosixPath, PureWindowsPath, PosixPath, WindowsPath)},
    tuple: _Form(_tuple, lambda value, memo: tuple(_copies(value, memo))),
    frozenset: _Form(_set, lambda value, memo: frozenset(_copies(value, memo))),
    types.FunctionType: _Form(_once(_function), _copied_function),
    types.BuiltinFunctionType: _Form(_builtin),
    types.MethodType: _Form(
        _method, lambda value, memo: types.MethodType(*_copies((value.__func__, value.__self__), memo))
    ),
    functools.partial: _Form(_once(_partial), _copied_once(_copied_partial)),
}
_FORMS.update(_LISTED)
