"""What code under check may not change: attributes of its controller, variables that it closes over, globals."""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Any

from attractor.check.world.freezing import Unfreezable, freeze

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

    from attractor.runtime.controller import Controller

_CONTAINERS = (list, dict, set, bytearray)


def guarded_state(declared: Controller) -> Hashable:
    """The content of everything that outlives a reconcile; what cannot be compared is left out."""
    return tuple(_content(value) for value in _outliving(declared.reconcile))


def _content(value: Any) -> Hashable:
    try:
        return freeze(value)
    except Unfreezable:
        return None


def _outliving(function: Any) -> Iterator[Any]:
    owner = getattr(function, "__self__", None)
    if owner is not None and not isinstance(owner, type | types.ModuleType):
        yield vars(owner) if hasattr(owner, "__dict__") else owner
    plain = getattr(function, "__func__", function)
    yield from getattr(plain, "__closure__", None) or ()
    yield getattr(plain, "__dict__", None)
    names = getattr(plain, "__globals__", {})
    for name in plain.__code__.co_names if hasattr(plain, "__code__") else ():
        if isinstance(names.get(name), _CONTAINERS):
            yield names[name]
