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
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from attractor.check.errors import is_authors
from attractor.check.sandbox.outside import refuse_named
from attractor.check.sandbox.second_runs import audits
from attractor.check.sandbox.set_order import is_filled
from attractor.check.values.class_layouts import attributes_of
from attractor.check.values.snapshot import Same, Unfreezable, freeze
from attractor.check.values.watched import Watch
from attractor.runtime.controller import Controller
from attractor.webhooks import AdmissionWebhook, Conversion

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable

_CONTAINERS = (list, dict, set, bytearray, deque)
_ASSIGNS = {"STORE_GLOBAL", "STORE_ATTR", "DELETE_GLOBAL", "DELETE_ATTR"}
_BOUND = (types.BuiltinMethodType, types.MethodWrapperType)
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


class _Known:
    """A value that must stay as it is: looked at part by part where its parts are all known, else frozen again."""

    __slots__ = ("_content", "_value", "_watch")

    def __init__(self, value: Any) -> None:
        self._value = value
        self._watch: Watch | None = Watch()
        try:
            self._content = freeze(value)
        except Unfreezable:
            self._content, self._watch = _content(value, _DEEP), None
        if self._watch is not None and not self._watch.add(value):
            self._watch = None

    def is_still(self, now: Any) -> bool:
        """Whether what stands in its place has the content that it had."""
        if now is self._value and self._watch is not None and self._watch.is_unchanged():
            return True
        return _content(now, _DEEP) == self._content


class Guard:
    """Everything that outlives a run of a function."""

    def __init__(self, function: Any) -> None:
        self._function = function
        reached = list(_reached(function)) if audits() else []
        refuse_named(each for each in reached if isinstance(each, types.FunctionType))
        self._caches = [each for each in reached if isinstance(each, _CACHE)]
        self._cached: dict[int, tuple[Any, Hashable]] = {}
        self._has_cached_change = False
        self._places = _places(function, reached)
        self.met: dict[int, types.CodeType] = {}
        """The code that was seen to run, by its id; it is kept, so that the id stays its own."""
        self._own = [_Known(value) for value in outliving(function)]
        """What the function itself keeps; of what cannot be compared, only which object it is."""
        self._contents = {place: _Known(place.look()) for place in self._places.values()}

    def changed(self) -> str | None:
        """What is not as it was when it was first seen: its name, or nothing if it has none."""
        for place, known in self._contents.items():
            if not known.is_still(place.look()):
                return place.name
        own = list(outliving(self._function))
        is_own = len(own) == len(self._own) and all(
            known.is_still(now) for known, now in zip(self._own, own, strict=True)
        )
        return None if is_own and not self._has_cached_change else ""

    def meet(self, frame: types.FrameType) -> None:
        """A function begins: from now on, what it may keep has to stay as it is, wherever it was fetched from."""
        code = frame.f_code
        if id(code) not in self.met:
            self.met[id(code)] = code
            if is_authors(code.co_filename):
                found = _places_named(*_names(code), frame.f_globals)
                found = {at: place for at, place in found.items() if at not in self._places}
                self._places |= found
                self._contents |= {place: _Known(place.look()) for place in found.values()}

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
        if depth and isinstance(value, dict):
            return tuple([(_content(key, 0), _content(each, depth - 1)) for key, each in value.items()])
        if depth and isinstance(value, list | tuple | set | frozenset | deque):
            return (Same(type(value)), *[_content(each, depth - 1) for each in value])
        return _hidden(value, depth)


def _hidden(value: Any, depth: int) -> Hashable:
    """What can be seen of a value that is neither on the list of known types nor a container."""
    if not depth or isinstance(value, type | types.ModuleType | types.FunctionType):
        return Same(value)
    if isinstance(value, _BOUND):
        return (Same(type(value)), value.__name__, _content(value.__self__, depth - 1))
    parts = [(name, _content(each, depth - 1)) for name, each in attributes_of(type(value)).of(value)]
    return (Same(value), *parts, _memory(value))


def _memory(value: Any) -> bytes:
    """The bytes that an object lets others look at."""
    try:
        return memoryview(value).tobytes()
    except (TypeError, ValueError, BufferError):
        return b""


def seen(value: Any) -> Hashable:
    """All that can be seen of an object now; of a class, a module, a function or a logger its attributes."""
    if isinstance(value, type | types.ModuleType | types.FunctionType | logging.Logger):
        return tuple([(name, Same(each)) for name, each in vars(value).items() if name != "_cache"])  # of a logger
    return _content(value, _DEEP)


def outliving(function: Any) -> Iterator[Any]:
    """What a function itself can keep from one run to the next: its owner's attributes, and what it closes over."""
    if isinstance(function, type):
        return
    owner = getattr(function, "__self__", None)
    if owner is not None and not isinstance(owner, type | types.ModuleType):
        yield vars(owner) if hasattr(owner, "__dict__") else owner
    plain = getattr(function, "__func__", function)
    if not isinstance(plain, types.FunctionType | functools.partial) and _is_of_author(type(plain)):
        yield plain
    yield from (cell.cell_contents for cell in getattr(plain, "__closure__", None) or () if is_filled(cell))
    yield getattr(plain, "__dict__", None)


class Place(NamedTuple):
    """Something that may outlive a run: its name, and how to look at it."""

    name: str
    look: Callable[[], Any]


_Places: TypeAlias = "dict[tuple[int, str], Place]"


def _places(function: Any, reached: Iterable[Any]) -> _Places:
    """Whatever the author's functions that this one can call may keep: in modules, classes, settings."""
    reached = list(reached)
    found: _Places = {}
    everywhere: set[str] = set()
    for each in reached:
        if isinstance(each, types.FunctionType):
            names, assigned = _names(each.__code__)
            everywhere |= names if names & _BY_NAME else assigned
            found |= _places_named(names, assigned, each.__globals__)
    owner = function if isinstance(function, type) else type(getattr(function, "__self__", None))
    classes = {id(each): each for each in (*owner.__mro__, *reached) if isinstance(each, type) and _is_of_author(each)}
    for base in classes.values():
        for name in [one for one, each in vars(base).items() if one in everywhere or _is_kept(each)]:
            found |= _attribute(base, name)
        if defaults := getattr(base, "__struct_defaults__", ()):
            made = [getattr(each, "factory", None) for each in defaults]
            found[id(base), "defaults"] = Place(f"a default of {base.__name__}", functools.partial(tuple, made))
        if issubclass(base, enum.Enum):
            found |= {(id(each), "__dict__"): _member(each) for each in base}
    return found


def _is_kept(value: Any) -> bool:
    """Whether an attribute of a class is a value that may change, and no method or property."""
    return _may_change(value) and not isinstance(value, _OF_CLASSES)


def _member(member: Any) -> Place:
    return Place(str(member), lambda: member.__dict__)


def _attribute(holder: Any, name: str) -> _Places:
    """An attribute that is kept in ``__dict__``."""
    told = f"{getattr(holder, '__name__', type(holder).__name__)}.{name}"
    return {(id(holder), name): Place(told, lambda: vars(holder).get(name))}


def _places_named(names: set[str], assigned: set[str], known: dict[str, Any]) -> _Places:
    """What code may keep in its module, and in those that it names; some names it assigns outside of itself."""
    found: _Places = {}
    if names & _BY_NAME:
        assigned = names
    if names & _BY_MODULE:
        for module in [each for each in sys.modules.values() if isinstance(each, types.ModuleType)]:
            for one in assigned & vars(module).keys():
                found |= _attribute(module, one)
    for name in sorted(names):
        if name in _SETTINGS:
            found[0, name] = Place(name, _SETTINGS[name])
        if name in known and (name in assigned or _may_change(known[name])):
            found[id(known), name] = Place(name, functools.partial(known.get, name))
        named = _module_named(name, known)
        if named is not None:
            found |= _places_in(named, names, assigned)
        elif name in known:
            found |= _assigned_to(known[name], assigned)
    return found


def _places_in(module: types.ModuleType, names: set[str], assigned: set[str]) -> _Places:
    """What code may keep in a module that it names."""
    held = vars(module)
    found: _Places = {}
    is_of_author = _is_of_author(module)
    for one in assigned if not is_of_author else ():
        found |= _attribute(module, one)
    for one in names & held.keys():
        if is_of_author and (one in assigned or _may_change(held[one])):
            found |= _attribute(module, one)
        found |= _assigned_to(held[one], assigned)
    return found


def _assigned_to(value: Any, assigned: set[str]) -> _Places:
    """Attributes that code may assign to something of another's: a class, a function or a logger of a library."""
    found: _Places = {}
    is_holder = isinstance(value, type | types.FunctionType | logging.Logger) and hasattr(value, "__dict__")
    for name in assigned - {"__dict__"} if is_holder else ():
        found |= _attribute(value, name)
    return found


def _module_named(name: str, known: dict[str, Any]) -> types.ModuleType | None:
    """The module that code means by a name: a variable of its own, or one that it imports where it is needed."""
    value = known.get(name)
    if value is None:
        package = known.get("__package__") or ""
        value = sys.modules.get(name) or (sys.modules.get(f"{package}.{name}") if package else None)
    return value if isinstance(value, types.ModuleType) else None


_BY_MODULE = {"modules", "import_module", "__import__"}
"""With these code can get hold of any module."""
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
_OF_CLASSES = (
    *(types.FunctionType, property, classmethod, staticmethod, types.MemberDescriptorType),
    *(types.GetSetDescriptorType, types.WrapperDescriptorType, types.MethodDescriptorType),
)
_FIXED = (
    *(str, bytes, int, float, complex, type(None), type, types.ModuleType, enum.Enum),
    *(re.Pattern, logging.Logger, Controller, AdmissionWebhook, Conversion),
)


def _may_change(value: Any) -> bool:
    if isinstance(value, types.FunctionType):
        return is_authors(value.__code__.co_filename) and bool(
            value.__closure__ or value.__defaults__ or value.__kwdefaults__ or value.__dict__
        )
    if isinstance(value, _BOUND):
        return not isinstance(value.__self__, type(None) | type | types.ModuleType)
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
    if named & _BY_NAME:
        named |= {each for each in code.co_consts if isinstance(each, str) and each.isidentifier()}
    assigned = {each.argval for each in dis.get_instructions(code) if each.opname in _ASSIGNS}
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            more, changed = _names(inner)
            named |= more
            assigned |= changed
    return named, assigned
