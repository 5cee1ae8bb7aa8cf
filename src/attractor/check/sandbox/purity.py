"""Purity guard: code under check must not change attributes of its controller, closure variables or globals.

Looked at in every function of the author's that the code names, and the functions that those name: what they close
over, containers and objects that they name in their modules, and whatever they assign there or to a class.
"""

from __future__ import annotations

import array
import contextvars
import decimal
import dis
import enum
import functools
import gc
import io
import itertools
import locale
import logging
import operator
import queue
import random
import re
import sys
import threading
import types
import warnings
from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from attractor.check.errors import is_authors
from attractor.check.sandbox.outside import refuse_named
from attractor.check.sandbox.second_runs import audits
from attractor.check.sandbox.set_order import is_filled
from attractor.check.values.snapshot import Same, Unfreezable, freeze
from attractor.runtime.controller import Controller
from attractor.webhooks import AdmissionWebhook, Conversion

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Mapping

_CONTAINERS = (list, dict, set, bytearray, deque)
_ASSIGNS = {"STORE_GLOBAL", "STORE_ATTR", "DELETE_GLOBAL", "DELETE_ATTR"}
_CACHE = functools._lru_cache_wrapper  # noqa: SLF001 - it has no other name
_DEEP = 3
_LOOKS: tuple[tuple[Any, Callable[[Any], Hashable]], ...] = (
    (random.Random, lambda value: value.getstate() if type(value) is not random.SystemRandom else None),
    (itertools.count | itertools.repeat, repr),
    (contextvars.ContextVar, lambda value: _content(_current(value), 1)),
    (threading.local, lambda value: tuple([(name, _content(each, 1)) for name, each in vars(value).items()])),
    (queue.SimpleQueue, lambda value: value.qsize()),
    (array.array, lambda value: value.tobytes()),
    (io.BytesIO | io.StringIO, lambda value: None if value.closed else (value.tell(), value.getvalue())),
    (Iterator, lambda value: _left(value)),  # noqa: PLW0108 - which is defined below
)
"""Types that cannot be part of a state, of which it can be seen all the same that something has changed them."""


def _current(variable: contextvars.ContextVar[Any]) -> Any:
    try:
        return variable.get()
    except LookupError:
        return None


def _left(iterator: Any) -> Hashable:
    """How much is left of an iterator; of one that does not tell, it is never the same."""
    return operator.length_hint(iterator, -1) if hasattr(iterator, "__length_hint__") else Same(object())


class Guard:
    """Everything that outlives a run of a function."""

    def __init__(self, function: Any, *, closures: bool = True) -> None:
        """Without ``closures`` what the function closes over may change, as where a test collects what it saw."""
        self._function, self._closures = function, closures
        reached = list(_reached(function)) if audits() else []
        refuse_named(each for each in reached if isinstance(each, types.FunctionType))
        self._caches = [each for each in reached if isinstance(each, _CACHE)]
        self._cached: dict[int, tuple[Any, Hashable]] = {}
        self._has_cached_change = False
        self._places = list(_places(function, reached))

    def state(self) -> Hashable:
        """Its content; of what cannot be compared, only which object it is."""
        return (
            *[_content(value, _DEEP) for value in (outliving(self._function) if self._closures else ())],
            *[_content(look(), _DEEP) for look in self._places],
            self._has_cached_change,
        )

    def look_at_cached(self) -> None:
        """See whether a value that a function keeps in its cache is another one than when it was first seen there."""
        for value in (value for cache in self._caches for value in _results(cache)):
            known = self._cached.setdefault(id(value), (value, _content(value, _DEEP)))
            self._has_cached_change = self._has_cached_change or known[1] != _content(value, _DEEP)

    def forget_cached(self) -> bool:
        """Empty the caches of functions, so that what they compute is computed anew; whether there was anything."""
        self.look_at_cached()
        is_any = any(cache.cache_info().currsize for cache in self._caches)
        for cache in self._caches if is_any else ():
            cache.cache_clear()
        return is_any


def _results(cache: Any) -> Iterator[Any]:
    """What a function has in its cache that can change."""
    held = [each for each in gc.get_referents(cache) if each is not cache.__dict__ and each is not cache.__wrapped__]
    if cache.cache_parameters()["maxsize"] is None:
        held = [value for each in held if isinstance(each, dict) for value in each.values()]
    else:
        held = [each for each in held if not (isinstance(each, dict) and _is_of_links(each))]
    return filter(_may_change, held)


def _is_of_links(held: dict[Any, Any]) -> bool:
    """Whether a dict is that of a cache with a limit, which has links to results."""
    return not held or type(next(iter(held.values()))).__name__ == "_lru_list_elem"


def _content(value: Any, depth: int) -> Hashable:
    try:
        return freeze(value)
    except Unfreezable:
        for kind, look in _LOOKS:
            if isinstance(value, kind):
                return (Same(value), look(value))
        if depth and isinstance(value, types.FunctionType):
            cells = [cell.cell_contents for cell in value.__closure__ or () if is_filled(cell)]
            parts = (value.__dict__, value.__defaults__, value.__kwdefaults__, *cells)
            return (Same(value), *[_content(each, depth - 1) for each in parts])
        held = getattr(value, "__dict__", None)
        if depth and isinstance(held, dict) and not isinstance(value, type | types.ModuleType | types.FunctionType):
            return (Same(value), *[(name, _content(each, depth - 1)) for name, each in held.items()])
        if depth and isinstance(value, dict):
            return tuple([(_content(key, 0), _content(each, depth - 1)) for key, each in value.items()])
        return Same(value)


def outliving(function: Any) -> Iterator[Any]:
    """What a function itself can keep from one run to the next: its owner's attributes, and what it closes over."""
    if isinstance(function, type):
        return
    owner = getattr(function, "__self__", None)
    if owner is not None and not isinstance(owner, type | types.ModuleType):
        yield vars(owner) if hasattr(owner, "__dict__") else owner
    plain = getattr(function, "__func__", function)
    yield from (cell.cell_contents for cell in getattr(plain, "__closure__", None) or () if is_filled(cell))
    yield getattr(plain, "__dict__", None)


def _places(function: Any, reached: Iterable[Any]) -> Iterator[Callable[[], Any]]:
    """How to look at whatever the author's functions that this one can call may keep: in modules, classes, settings."""
    found: dict[tuple[int, str], Mapping[str, Any]] = {}
    everywhere: set[str] = set()
    settings: dict[str, Callable[[], Any]] = {}
    for each in reached:
        if not isinstance(each, types.FunctionType):
            continue
        names, assigned = _names(each.__code__)
        if names & _BY_NAME:
            assigned = names
        everywhere |= assigned
        settings |= {name: look for name, look in _SETTINGS.items() if name in names}
        known = each.__globals__
        for name in names & known.keys():
            value = known[name]
            if isinstance(value, types.ModuleType) and not _is_of_author(value):
                found |= {(id(value), one): vars(value) for one in assigned & (vars(value).keys() | names)}
            elif isinstance(value, types.ModuleType) and _is_of_author(value):
                held = vars(value)
                inside = [one for one in names & held.keys() if one in assigned or isinstance(held[one], _CONTAINERS)]
                found |= {(id(value), one): held for one in inside}
            elif name in assigned or _may_change(value):
                found[id(known), name] = known
    owner = function if isinstance(function, type) else type(getattr(function, "__self__", None))
    classes = {id(each): each for each in (*owner.__mro__, *reached) if isinstance(each, type) and _is_of_author(each)}
    for base in classes.values():
        inside = [one for one, each in vars(base).items() if one in everywhere or isinstance(each, _CONTAINERS)]
        found |= {(id(base), one): vars(base) for one in inside}
        if issubclass(base, enum.Enum):
            found |= {(id(each), "__dict__"): {"__dict__": each.__dict__} for each in base}
    for (_, name), holder in found.items():
        yield functools.partial(holder.get, name)
    yield from settings.values()


_BY_NAME = {"globals", "setattr", "delattr", "vars", "exec", "eval", "__dict__", "__setattr__"}
"""With these code can assign whatever it names."""
_SETTINGS: dict[str, Callable[[], Any]] = {
    "setrecursionlimit": sys.getrecursionlimit,
    "setswitchinterval": sys.getswitchinterval,
    **dict.fromkeys(("simplefilter", "filterwarnings", "resetwarnings"), lambda: tuple(map(str, warnings.filters))),
    **dict.fromkeys(("getcontext", "setcontext"), lambda: repr(decimal.getcontext())),
    "setlocale": lambda: locale.setlocale(locale.LC_ALL),
    "seed": random.getstate,
}
"""Settings of the whole process, by the name of what changes them."""
_FIXED = (
    *(str, bytes, int, float, complex, type(None), type, types.ModuleType, types.BuiltinFunctionType, enum.Enum),
    *(re.Pattern, logging.Logger, Controller, AdmissionWebhook, Conversion),
)


def _may_change(value: Any) -> bool:
    if isinstance(value, types.FunctionType):
        return is_authors(value.__code__.co_filename) and bool(
            value.__closure__ or value.__defaults__ or value.__kwdefaults__ or value.__dict__
        )
    return not isinstance(value, _FIXED)


def _is_of_author(value: Any) -> bool:

    module = value if isinstance(value, types.ModuleType) else sys.modules.get(value.__module__)
    return is_authors(getattr(module, "__file__", None) or "<unknown>")


def _reached(function: Any) -> Iterator[Any]:
    """The author's functions that this one names, those that they name, and so on; classes; functions with a cache."""
    seen: set[int] = set()
    waiting: list[Any] = [function]
    while waiting:
        value = waiting.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, types.MethodType):
            waiting += [value.__func__, type(value.__self__)]
        elif isinstance(value, staticmethod | classmethod):
            waiting.append(value.__func__)
        elif isinstance(value, property):
            waiting += [value.fget, value.fset]
        elif isinstance(value, functools.partial | functools.cached_property):
            waiting.append(value.func)
        elif isinstance(value, _CACHE):
            yield value
            waiting.append(value.__wrapped__)
        elif isinstance(value, type):
            if _is_of_author(value):
                yield value
                waiting += [*vars(value).values(), *value.__bases__, type(value)]
        elif isinstance(value, types.FunctionType) and is_authors(value.__code__.co_filename):
            yield value
            names, _ = _names(value.__code__)
            waiting += [value.__globals__[name] for name in names if name in value.__globals__]
            waiting += [cell.cell_contents for cell in value.__closure__ or () if is_filled(cell)]
            waiting.append(vars(value).get("__wrapped__"))
        elif _is_of_author(type(value)):
            waiting.append(type(value))


def _names(code: types.CodeType) -> tuple[set[str], set[str]]:
    """The names that code, and the code inside it, looks up; and those that it assigns outside of itself."""
    named = set(code.co_names)
    assigned = {each.argval for each in dis.get_instructions(code) if each.opname in _ASSIGNS}
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            more, changed = _names(inner)
            named |= more
            assigned |= changed
    return named, assigned
