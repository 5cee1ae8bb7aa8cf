"""Layouts of classes written in Python: every attribute of an instance, or the class is not known.

    hidden_base(kind, known)    the builtin type whose content its instances have besides attributes, if it is known
    attributes_of(kind)         how to read and write every attribute that an instance has: slots, then ``__dict__``

An extension type keeps what it holds in the memory of its instances. A class written in Python adds to what its base
needs one word for each slot, and where its base has none, places for ``__dict__`` and weak references. So one that
needs more than that holds something that cannot be seen. How much these places need is measured, for it differs between
versions of Python.
"""

from __future__ import annotations

import types
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping


class _Bare:
    __slots__ = ()


class _Slotted:
    __slots__ = ("one",)


class _WithDict:
    __slots__ = ("__dict__",)


class _WithReferences:
    __slots__ = ("__weakref__",)


_SLOT, _DICT, _REFERENCES = (
    each.__basicsize__ - _Bare.__basicsize__ for each in (_Slotted, _WithDict, _WithReferences)
)


def hidden_base(kind: type, known: Mapping[type, Any]) -> type | None:
    """The builtin type behind a class written in Python; None if it is not known, or something else holds content."""
    while kind not in known:
        base = kind.__base__
        if base is None or kind.__itemsize__ != base.__itemsize__ or _needed(kind, base) != kind.__basicsize__:
            return None
        kind = base
    return kind


def _needed(kind: type, base: type) -> int:
    size = base.__basicsize__ + _SLOT * len(_slots(kind))
    if kind.__dictoffset__ and not base.__dictoffset__:
        size += _DICT
    if kind.__weakrefoffset__ and not base.__weakrefoffset__:
        size += _REFERENCES
    return size


def _slots(kind: type) -> list[types.MemberDescriptorType]:
    """The slots that a class adds, under whatever names."""
    return [each for each in vars(kind).values() if isinstance(each, types.MemberDescriptorType)]


class Attributes(NamedTuple):
    """Every attribute that an instance has."""

    slots: tuple[tuple[str, types.MemberDescriptorType], ...]
    """By name; slots of one name are told apart by their class."""
    has_dict: bool

    def of(self, value: Any) -> Iterator[tuple[str, Any]]:
        """Those that are set: name and value, in an order that is the same for equal values."""
        for name, slot in self.slots:
            try:
                found = slot.__get__(value)
            except AttributeError:
                continue
            yield name, found
        if self.has_dict:
            yield from object.__getattribute__(value, "__dict__").items()

    def give(self, made: Any, found: Iterable[tuple[str, Any]]) -> None:
        """Set attributes of another instance, in the order of ``of``; no code of its class is run."""
        held = dict(found)
        for name, slot in self.slots:
            if name in held:
                slot.__set__(made, held.pop(name))
        if self.has_dict:
            object.__getattribute__(made, "__dict__").update(held)


def attributes_of(kind: type) -> Attributes:
    """The attributes of a class's instances, besides the content of the builtin type behind it."""
    written = [base for base in kind.__mro__ if base.__flags__ & _HEAP and base.__module__ != "builtins"]
    slots = [slot for base in reversed(written) for slot in _slots(base)]
    times = Counter(slot.__name__ for slot in slots)
    named = ((f"{slot.__objclass__.__name__}." if times[slot.__name__] > 1 else "") + slot.__name__ for slot in slots)
    return Attributes(tuple(zip(named, slots, strict=True)), bool(kind.__dictoffset__))


_HEAP = 1 << 9
