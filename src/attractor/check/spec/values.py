"""Values that may be part of a state: immutable, hashable, printed as an author would write them.

``Record`` is a frozen record with ``but`` for "the same, except"; ``Bag`` is a multiset; ``FrozenMap`` is a map that
is one value (use ``each`` for a map whose keys are known: it is faster). Numbers, strings, ``None``, enums, tuples
and frozensets serve as they are. Two values are the same if Python's ``==`` says so; a variable that holds two that are
the same by ``==`` and not ``alike`` is refused.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import enum
import re
import types
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from math import copysign
from operator import is_
from typing import Any, Generic, NoReturn, Self, TypeVar, dataclass_transform

from attractor.check.errors import MutationError, author_line

K = TypeVar("K", bound=Hashable)
V = TypeVar("V", bound=Hashable)


@dataclass_transform(frozen_default=True, kw_only_default=True)
class Record:
    """A frozen record: fields with defaults, equality by content, ``but`` for a changed copy.

    >>> class Worker(Record):
    ...     idle: bool = True
    ...     req: str | None = None
    >>> Worker().but(req="irsa")
    Worker(idle=True, req='irsa')
    """

    def __init_subclass__(cls) -> None:
        """Make every subclass a frozen dataclass."""
        dataclasses.dataclass(frozen=True, kw_only=True)(cls)
        setattr(cls, "__setattr__", _refuse_setattr)  # noqa: B010 - plain assignment does not type-check on a class

    def but(self, **changes: Any) -> Self:
        """Return the same record except for ``changes``."""
        return dataclasses.replace(self, **changes)  # type: ignore[type-var]


def _refuse_setattr(record: Record, name: str, value: object) -> NoReturn:
    kind = type(record).__name__
    raise MutationError(
        f"{author_line()}: `.{name} = {value!r}` would change a {kind} in place; values are immutable, "
        f"so assign a changed copy to the variable: `... = record.but({name}={value!r})`"
    )


class Bag(Generic[K]):
    """A multiset: how many of each element, immutable; iteration repeats an element as often as it occurs."""

    __slots__ = ("_counts", "_hash")

    def __init__(self, elements: Iterable[K] = ()) -> None:
        self._counts: dict[K, int] = dict(Counter(elements))
        self._hash = hash(frozenset(self._counts.items()))

    def add(self, element: K) -> Bag[K]:
        """Return the bag with one more ``element``."""
        return Bag((*self, element))

    def remove(self, element: K) -> Bag[K]:
        """Return the bag with one ``element`` fewer; KeyError if there is none."""
        if element not in self._counts:
            raise KeyError(element)
        left = list(self)
        left.remove(element)
        return Bag(left)

    def count(self, element: K) -> int:
        """How often ``element`` occurs."""
        return self._counts.get(element, 0)

    def distinct(self) -> tuple[K, ...]:
        """The elements without repetition, in a fixed order."""
        return tuple(sorted(self._counts, key=repr))

    def __contains__(self, element: object) -> bool:
        return element in self._counts

    def __iter__(self) -> Iterator[K]:
        for element in self.distinct():
            for _ in range(self._counts[element]):
                yield element

    def __len__(self) -> int:
        return sum(self._counts.values())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Bag) and self._counts == other._counts

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return f"Bag({list(self)!r})"


class FrozenMap(Mapping[K, V]):
    """A map that is one value: ``with_`` and ``without`` return changed copies."""

    __slots__ = ("_hash", "_items")

    def __init__(self, items: Mapping[K, V] | Iterable[tuple[K, V]] = ()) -> None:
        self._items: dict[K, V] = dict(items)
        self._hash = hash(frozenset(self._items.items()))

    def with_(self, key: K, value: V) -> FrozenMap[K, V]:
        """Return the map with ``key`` bound to ``value``."""
        return FrozenMap({**self._items, key: value})

    def without(self, key: K) -> FrozenMap[K, V]:
        """Return the map without ``key``."""
        return FrozenMap({k: v for k, v in self._items.items() if k != key})

    def __getitem__(self, key: K) -> V:
        return self._items[key]

    def __setitem__(self, key: K, value: V) -> NoReturn:
        raise MutationError(f"{author_line()}: a FrozenMap is immutable; assign `map.with_({key!r}, {value!r})`")

    def __iter__(self) -> Iterator[K]:
        return iter(sorted(self._items, key=repr))

    def __len__(self) -> int:
        return len(self._items)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FrozenMap) and self._items == other._items

    def __repr__(self) -> str:
        return "{" + ", ".join(f"{k!r}: {self._items[k]!r}" for k in self) + "}"


def alike(one: Any, other: Any) -> bool:
    """Whether two values that are equal are also of the same types, at any depth, so that no program can tell."""
    kind = type(one)
    if one is other or kind is not type(other) or kind in _PLAIN:
        return kind is type(other)
    judge = _JUDGES.get(kind)
    if judge is None:
        judge = _JUDGES[kind] = _judge_of(kind)
    return judge(one, other)


def _judge_of(kind: type) -> Callable[[Any, Any], bool]:
    """What says of two equal values of this type whether they are alike; it is kept, for every write asks it.

    What ``==`` of a class says of its instances is its author's word, so all that they hold is compared. Of an
    extension type that is not known here nothing can be seen, so only one and the same object is alike.
    """
    if kind in _EXACT or issubclass(kind, enum.Enum):
        return lambda _one, _other: True
    for known, judge in _BY_CONTENT:
        if kind is known:
            return judge
    if issubclass(kind, tuple):
        return lambda one, other: _alike_parts(one, other) and _alike_held(one, other)
    if issubclass(kind, frozenset):
        return lambda one, other: _alike_sets(one, other) and _alike_held(one, other)
    if kind in (FrozenMap, Bag):
        return lambda one, other: _alike_keys(_keyed(one), _keyed(other))
    if all(base is object or base.__flags__ & _IN_PYTHON for base in kind.__mro__):
        return _alike_held
    return lambda _one, _other: False


def _alike_numbers(one: float, other: float) -> bool:
    return copysign(1, one) == copysign(1, other)


def _alike_times(one: dt.datetime | dt.time, other: dt.datetime | dt.time) -> bool:
    is_same = one.replace(tzinfo=None) == other.replace(tzinfo=None) and one.fold == other.fold
    return is_same and (one.tzinfo is other.tzinfo or (one.tzinfo == other.tzinfo and alike(one.tzinfo, other.tzinfo)))


def _alike_held(one: Any, other: Any) -> bool:
    """Whether two instances of a class written in Python hold what is equal and alike, under the same names."""
    mine, theirs = _held(one), _held(other)
    if mine.keys() != theirs.keys():
        return False
    return all(_same(each, theirs[name]) for name, each in mine.items())


def _held(value: Any) -> dict[str, Any]:
    """All that an instance of a class written in Python holds, declared or not."""
    kind = type(value)
    slots = _SLOTS.get(kind)
    if slots is None:
        slots = _SLOTS[kind] = tuple(_slots_of(kind))
    found: dict[str, Any] = object.__getattribute__(value, "__dict__") if kind.__dictoffset__ else {}
    if slots:
        found = dict(found)
        for name, slot in slots:
            with suppress(AttributeError):
                found[name] = slot.__get__(value)
    return found


def _slots_of(kind: type) -> Iterator[tuple[str, types.MemberDescriptorType]]:
    for base in kind.__mro__:
        for name, member in vars(base).items():
            if isinstance(member, types.MemberDescriptorType):
                yield f"{base.__name__}.{name}", member


_SLOTS: dict[type, tuple[tuple[str, types.MemberDescriptorType], ...]] = {}
_IN_PYTHON = 1 << 9
"""The flag of a type that was made by a class statement."""
_PLAIN = frozenset({str, bytes, int, bool, type(None)})
"""Types whose equal values cannot be told apart."""
_EXACT = frozenset({dt.date, dt.timedelta, Fraction, re.Pattern, types.FunctionType, types.BuiltinFunctionType, type})
"""The same of types that are rarer."""
_BY_CONTENT: tuple[tuple[type, Callable[[Any, Any], bool]], ...] = (
    (float, _alike_numbers),
    (complex, lambda one, other: _alike_numbers(one.real, other.real) and _alike_numbers(one.imag, other.imag)),
    (Decimal, lambda one, other: one.as_tuple() == other.as_tuple()),
    (range, lambda one, other: (one.start, one.stop, one.step) == (other.start, other.stop, other.step)),
    (dt.datetime, _alike_times),
    (dt.time, _alike_times),
    (dt.timezone, lambda one, other: one.tzname(None) == other.tzname(None)),
)
_JUDGES: dict[type, Callable[[Any, Any], bool]] = {}


_FIELDS: dict[type, tuple[str, ...]] = {}


def _fields(kind: type) -> tuple[str, ...]:
    """The fields of a dataclass; none of any other type."""
    if kind not in _FIELDS:
        is_record = dataclasses.is_dataclass(kind)
        _FIELDS[kind] = tuple(each.name for each in dataclasses.fields(kind)) if is_record else ()
    return _FIELDS[kind]


def _keyed(value: FrozenMap[Any, Any] | Bag[Any]) -> dict[Any, Any]:
    """By key, the key itself and what belongs to it."""
    return {key: (key, value[key] if isinstance(value, FrozenMap) else None) for key in value}


def _alike_parts(one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    """Whether the parts are, one by one; most are the very same."""
    return all(map(is_, one, other)) or all(map(_same, one, other))


def _same(one: Any, other: Any) -> bool:
    return one is other or (type(one) is type(other) and bool(one == other) and alike(one, other))


def _alike_sets(one: frozenset[Any], other: frozenset[Any]) -> bool:
    if all(map(is_, one, other)) or set(map(id, one)) == set(map(id, other)):
        return True
    return _alike_keys(dict(zip(one, one, strict=True)), dict(zip(other, other, strict=True)))


def _alike_keys(one: dict[Any, Any], other: dict[Any, Any]) -> bool:
    return all(alike(each, other[key]) for key, each in one.items())


def is_itself(value: Any) -> bool:
    """Whether a value is equal to itself, and so are its parts: not a number (NaN) is not."""
    if isinstance(value, tuple | frozenset | Bag):
        return all(map(is_itself, value))
    if isinstance(value, FrozenMap):
        return all(is_itself(key) and is_itself(value[key]) for key in value)
    if names := _fields(type(value)):
        return all(is_itself(getattr(value, name)) for name in names)
    return bool(value == value)  # noqa: PLR0124 - that is the question
