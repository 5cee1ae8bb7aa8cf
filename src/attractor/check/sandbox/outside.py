"""Nothing from outside: code under check that asks for the time, for luck, for its surroundings is stopped at its line.

    with barred(): ...      raises ``Blocking`` where an author's code asks for any of it

A step must come out the same whenever and wherever it is run; an answer of the clock that is the same in two runs is
luck. So while author's code runs a second time, Python tells of every call (``sys.setprofile``), and the calls that ask
the outside are known: by name where they are compiled, by their code where they are written in Python. Of calls that
compiled code makes of compiled code, as in ``map(id, values)``, ``partial(time.time)()`` or a struct whose
``default_factory`` is ``time.time``, Python does not tell; so the functions themselves ask (``interpose``, of the
native engine). Only calls by an author's own code count, also through the modules of the standard library that pass
them on (``pathlib``, ``random``); a log record that asks for the time is nobody's answer.

What is looked up without a call (``sys.argv``, ``"a".__hash__``) is found in the code itself (``named``).
"""

from __future__ import annotations

import builtins
import datetime as dt
import dis
import gc
import getpass
import inspect
import locale
import os
import platform
import random
import secrets
import socket
import sys
import threading
import time
import uuid
from contextlib import contextmanager, suppress
from functools import cache, wraps
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from attractor.check.errors import Blocking, SpecError, is_authors, is_standard
from attractor.check.sandbox.second_runs import audits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from types import FrameType

P = ParamSpec("P")
T = TypeVar("T")

_TIME = "asks for the time, which under check is the world's", "write `await ctx.now()`"
_LUCK = (
    "takes a random value, which is another one in each run",
    "derive it from the object (its uid, its name), or leave it to an outside system and give the world a model of it",
)
_PLACE = (
    "looks at its surroundings, which are no part of the state",
    "read them where the program starts and hand them to the controller, or keep them in an object",
)
_HASH = (
    "asks for a hash, which is another one in each process",
    "use hashlib, as in `hashlib.sha256(text.encode()).hexdigest()`",
)
_ID = ("asks for the id of an object, which is another one in each run", "compare names, keys or uids instead")
_FILES = "uses files, which are no part of the state", "declare them as an outside system with `externals`"
_ZONE = (
    "asks for the local time zone, which is another one on each machine",
    "name the zone, as in `datetime.fromtimestamp(seconds, UTC)`",
)

_CLOCKS = frozenset(
    {
        *("time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns", "process_time"),
        *(
            "process_time_ns",
            "thread_time",
            "thread_time_ns",
            "clock_gettime",
            "clock_gettime_ns",
            "localtime",
            "gmtime",
            "ctime",
            "asctime",
            "strftime",
        ),
    }
)
_OF_SYSTEM = {
    **dict.fromkeys(("urandom", "getrandom"), _LUCK),
    **dict.fromkeys(("getpid", "getppid", "getcwd", "uname", "getlogin", "getuid", "getloadavg", "cpu_count"), _PLACE),
    **dict.fromkeys(("stat", "lstat", "access", "listdir", "scandir", "open", "readlink", "mkdir", "remove"), _FILES),
    **dict.fromkeys(("rename", "unlink", "rmdir", "replace"), _FILES),
    **dict.fromkeys(("get_ident", "get_native_id", "gethostname", "getrefcount", "_getframe", "get_count"), _PLACE),
    **dict.fromkeys(("get_objects", "get_referrers", "get_stats"), _PLACE),
}
_MODULES = frozenset({"posix", "nt", "_thread", "_socket", "io", "_io", "sys", "gc"})
_NAMES = _CLOCKS | _OF_SYSTEM.keys() | {"now", "utcnow", "today", "hash", "id"}
_NAMES |= {"random", "getrandbits", "seed", "open", "mktime"}
_PASSING_ON = frozenset(
    {
        *(
            "os",
            "_collections_abc",
            "random",
            "uuid",
            "secrets",
            "pathlib",
            "_local",
            "_abc",
            "genericpath",
            "posixpath",
        ),
        *("ntpath", "glob", "shutil", "tempfile", "platform", "getpass", "threading"),
        *("functools", "heapq", "statistics", "contextlib", "operator", "bisect", "string", "graphlib"),
        *("utils", "sched", "timeit", "queue"),
    }
)
"""Modules of the standard library whose questions are those of their callers."""


def _asked_compiled(function: Any, owner: Any, frame: FrameType) -> tuple[str, str] | None:
    """What a compiled function, or method of an owner, asks the outside, if anything."""
    name = function.__name__
    if name in _CLOCKS and getattr(function, "__module__", None) == "time":
        return _TIME
    if name == "mktime":
        return _ZONE
    if isinstance(owner, type):
        return _TIME if name in {"now", "utcnow", "today"} and issubclass(owner, dt.date) else None
    if function is hash:
        return None if frame.f_code.co_name == "__hash__" else _HASH
    if function is id:
        return _ID
    if isinstance(owner, random.Random):
        return _LUCK if _is_shared(owner) else None
    if function is builtins.open:
        return _FILES
    return _OF_SYSTEM.get(name) if getattr(function, "__module__", None) in _MODULES else None


def _is_shared(source: random.Random) -> bool:
    """Whether a generator's numbers do not follow from a seed of the author's own."""
    return source is getattr(random, "_inst", None) or isinstance(source, random.SystemRandom)


def _lucky(frame: FrameType) -> tuple[str, str] | None:
    """A method of a generator."""
    source = frame.f_locals.get("self")
    if isinstance(source, random.Random) and _is_shared(source):
        return _LUCK
    is_unseeded = frame.f_code.co_name == "seed" and frame.f_locals.get("a") is None
    return _LUCK if is_unseeded else None


@cache
def _written() -> dict[int, Callable[[FrameType], tuple[str, str] | None]]:
    """What functions written in Python ask the outside, by the ids of their code, which lives as long as they do."""
    of_random = [*vars(random.Random).values(), *vars(random.SystemRandom).values()]
    luck = [uuid.uuid1, uuid.uuid4, uuid.getnode, *(getattr(secrets, name) for name in secrets.__all__)]
    place: list[Any] = [
        os.getenv,
        threading.current_thread,
        threading.get_ident,
        threading.active_count,
        threading.enumerate,
    ]
    place += [*vars(type(os.environ)).values()]
    place += [each for each in vars(platform).values() if isinstance(each, FunctionType)]
    place += [inspect.currentframe, inspect.stack, getpass.getuser, socket.getfqdn, locale.getlocale]
    found: dict[int, Callable[[FrameType], tuple[str, str] | None]] = {}
    for functions, judge in ((of_random, _lucky), (luck, lambda _: _LUCK), (place, lambda _: _PLACE)):
        for each in functions:
            code = each.__code__ if isinstance(each, FunctionType) else None
            if code is not None and code.co_name not in {
                "__init__",
                "__new__",
                "__repr__",
                "__reduce__",
                "__getstate__",
            }:
                found[id(code)] = judge
    return found


def _look(frame: FrameType, event: str, arg: Any) -> None:
    """Called for every call, so it is quick for those that ask nothing."""
    if event == "c_call":
        if getattr(arg, "__name__", "") in _NAMES:
            _refuse(frame, lambda: _asked_compiled(arg, getattr(arg, "__self__", None), frame))
    elif event == "call":
        judge = _CODES.get(id(frame.f_code))
        if judge is not None:
            _refuse(frame.f_back, lambda: judge(frame))
        elif _meeting.met is not None:
            _meeting.met(frame)


class _Meeting:
    """Who is told of each function that is called, before it begins."""

    met: Callable[[FrameType], None] | None = None


_meeting = _Meeting()


@contextmanager
def meeting(met: Callable[[FrameType], None]) -> Iterator[None]:
    """Run a block in which barred code tells of the functions that it calls."""
    before, _meeting.met = _meeting.met, met
    try:
        yield
    finally:
        _meeting.met = before


def _judge(function: Any, owner: Any) -> None:
    """Called by a compiled function that is about to answer, whoever calls it."""
    frame = sys._getframe(1)  # noqa: SLF001 - who asks is known from the frames only
    _refuse(frame, lambda: _asked_compiled(function, owner, frame))


def _refuse(caller: FrameType | None, asked: Callable[[], tuple[str, str] | None]) -> None:
    at = _author_of(caller)
    words = asked() if at is not None else None
    if at is not None and words is not None:
        raise Blocking(f"{at.f_code.co_filename}:{at.f_lineno} {words[0]}; {words[1]}")


def _author_of(frame: FrameType | None) -> FrameType | None:
    """The author's frame that asks, itself or through modules that pass questions on."""
    while frame is not None and not _is_authors(frame.f_code.co_filename):
        if not _passes_on(frame.f_code.co_filename):
            return None
        frame = frame.f_back
    return frame


_is_authors = cache(is_authors)


@cache
def _passes_on(filename: str) -> bool:
    if filename == "<string>" or filename.startswith("<attrs generated"):
        return True  # methods that a decorator wrote, such as ``__init__`` of a dataclass with a ``default_factory``
    name = filename.rpartition(os.sep)[2].removesuffix(".py")
    name = name.removeprefix("<frozen ").removesuffix(">")
    return name in _PASSING_ON and (filename.startswith("<frozen ") or is_standard(filename))


_CODES = _written()


def _compiled() -> Iterator[Any]:
    """The compiled functions that ask the outside."""
    for name in sorted(_CLOCKS - {"strftime"}):  # which formats a datetime that is given, too
        if hasattr(time, name):
            yield getattr(time, name)
    yield from (vars(kind)[name] for kind, name in ((dt.date, "today"), (dt.datetime, "now"), (dt.datetime, "utcnow")))
    yield from (hash, id, open, *(vars(random.Random.__base__)[name] for name in ("random", "getrandbits")))
    for name in sorted(_OF_SYSTEM):
        for module in (os, sys, gc, threading, socket):
            found = getattr(module, name, None)
            if isinstance(found, BuiltinFunctionType):
                yield found


def _ask_nobody(_: Callable[[Any, Any], None] | None) -> None:
    """Without the native engine no compiled function asks."""


_set_judge: Callable[[Any], Any] = _ask_nobody
with suppress(ImportError):
    from attractor.check.engine import _kernel

    _interposed = [_kernel.interpose(each) for each in _compiled()]
    if all(_interposed):
        _set_judge = _kernel.set_judge


@contextmanager
def barred() -> Iterator[None]:
    """Run a block in which author's code of this thread may ask nothing from outside."""
    if not audits():
        yield
        return
    judge, before = _set_judge(_judge), sys.getprofile()
    sys.setprofile(_look)
    try:
        yield
    finally:
        _profile_again(before)
        _set_judge(judge)


def _profile_again(before: Any) -> None:
    """Give profiling back to who had it; cProfile does not profile by a function."""
    if before is None or callable(before):
        sys.setprofile(before)
    else:
        sys.setprofile(None)
        before.enable()


def barring(function: Callable[P, T]) -> Callable[P, T]:
    """A function that asks nothing from outside: it is stopped where it does. One of ours is left as it is."""
    code = getattr(function, "__code__", None) if type(function) is FunctionType else None
    if code is not None and not getattr(function, "__closure__", None) and not is_authors(code.co_filename):
        return function

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        with barred():
            return function(*args, **kwargs)

    return call


def refuse_handed_over(function: Any, at: FrameType) -> None:
    """Raise ``Blocking`` for a compiled function that asks the outside and is given to somebody to call."""
    if isinstance(function, BuiltinFunctionType) and function.__name__ in _NAMES:
        words = _asked_compiled(function, function.__self__, at)
        if words is not None:
            raise Blocking(f"{at.f_code.co_filename}:{at.f_lineno} {words[0]}; {words[1]}")


OF_LOCAL_TIME = frozenset({"fromtimestamp", "astimezone", "timestamp"})
"""Methods of times that ask for the local time zone where nobody names one."""


def refuse_local_time(function: Any, args: tuple[Any, ...], named: Mapping[str, Any], at: FrameType) -> None:
    """Raise ``Blocking`` for a call of such a method that names no zone."""
    owner, name = getattr(function, "__self__", None), getattr(function, "__name__", "")
    if name == "fromtimestamp" and isinstance(owner, type) and issubclass(owner, dt.date):
        is_local = named.get("tz", args[1] if len(args) > 1 else None) is None
    elif isinstance(owner, dt.datetime):
        is_named = name == "timestamp" or named.get("tz", args[0] if args else None) is not None
        is_local = owner.tzinfo is None or not is_named
    else:
        return
    if is_local:
        raise Blocking(f"{at.f_code.co_filename}:{at.f_lineno} {_ZONE[0]}; {_ZONE[1]}")


_OF_MACHINE = frozenset({"path", "prefix", "base_prefix", "exec_prefix", "stdin"})
"""Attributes of ``sys`` that are others on another machine."""


def refuse_named(functions: Iterable[FunctionType]) -> None:
    """Raise ``SpecError`` for the first of an author's functions that names what cannot be asked for under check."""
    for function in functions:
        code, known = function.__code__, function.__globals__
        for line, words in _named(code, known):
            raise SpecError(f"{code.co_filename}:{line} {words[0]}; {words[1]}")


def _named(code: CodeType, known: Mapping[str, Any]) -> Iterator[tuple[int, tuple[str, str]]]:
    """Lines of code that look up, without a call, what is another thing in another process."""
    line, before = code.co_firstlineno, None
    for each in dis.get_instructions(code):
        line = each.positions.lineno if each.positions and each.positions.lineno else line
        is_global = each.opname in {"LOAD_GLOBAL", "LOAD_NAME"}
        name = each.argval if isinstance(each.argval, str) else ""
        value = known.get(name) if is_global else getattr(before, name, None) if before else None
        if any(value is one for one in (sys.argv, sys.orig_argv, sys.flags)) or (before is sys and name in _OF_MACHINE):
            yield line, _PLACE
        if before is time and name in {"tzname", "timezone", "altzone", "daylight"}:
            yield line, _ZONE
        if name == "__hash__" and code.co_name != "__hash__" and each.opname.startswith("LOAD_"):
            yield line, _HASH
        if each.opname != "PUSH_NULL":
            before = value if is_global and isinstance(value, ModuleType) else None
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _named(inner, known)
