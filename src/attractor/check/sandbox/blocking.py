"""Code under check may not wait, nor reach outside the process: where it would, it is stopped, and its line named.

    with forbidden(): ...       raises ``SpecError`` if this thread sleeps, connects, asks, or starts a process there

A step is run again and again, in any order, and nothing of it happens: a pause in it only makes the check slow, and a
request would be sent thousands of times. CPython tells audit hooks before it does such a thing. Whatever asks an event
loop finds one that refuses (``no_event_loop``). What nobody tells of is a wait for a lock; without another thread it
never ends, and ``watchdog`` ends it.
"""

from __future__ import annotations

import sys
import threading
import time
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

from attractor.check.errors import Blocking, SpecError, authors_frame, is_authors, is_of_package
from attractor.check.sandbox.no_event_loop import without_loop

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

_WAIT = "no time passes under check; leave it out, or return `Result(requeue_after_s=...)` from the reconcile"
_ASK = "code under check may ask only its context; declare outside systems with `externals`, and give the world models"
_START = "the code under check runs alone; ask with `await ctx....`, and leave work that takes long to `ctx.start(...)`"
_STARTS_THREAD = ("_thread.start_new_thread", "_thread.start_joinable_thread")
_WAYS = {
    "time.sleep": ("sleeps", _WAIT),
    "builtins.input": ("waits for input", _ASK),
    **dict.fromkeys(
        ("socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr", "socket.connect", "socket.sendto"),
        ("uses the network", _ASK),
    ),
    **dict.fromkeys(
        ("subprocess.Popen", "os.system", "os.posix_spawn", "os.exec", "os.spawn", "os.fork", "os.forkpty"),
        ("starts a process", _ASK),
    ),
    **dict.fromkeys(_STARTS_THREAD, ("starts a thread", _START)),
}
_TELLS_OF_THREADS = sys.version_info >= (3, 12)
_TELLS_OF_SLEEP = sys.version_info >= (3, 13)
_start_thread: Any = getattr(threading, "_start_new_thread", None)
_sleep = time.sleep
_threads: set[int] = set()
"""Those in which it is forbidden now."""
_looked_at: set[int] = set()
"""Modules, by their ids, in which a sleep is told of."""


@contextmanager
def forbidden() -> Iterator[None]:
    """Run a block in which this thread may do none of it."""
    _listen()
    thread = threading.get_ident()
    outermost = thread not in _threads
    _threads.add(thread)
    try:
        with without_loop():
            yield
    except Blocking as stopped:
        raise SpecError(str(stopped)) from None
    finally:
        if outermost:
            _threads.discard(thread)


def _hook(event: str, _: tuple[Any, ...]) -> None:
    if event in _WAYS and threading.get_ident() in _threads:
        caller = sys._getframe(1)  # noqa: SLF001 - who does it is known from the frames only
        if _is_of_checked_code(event, caller):
            what, instead = _WAYS[event]
            at = authors_frame(caller)
            line = f"{at.f_code.co_filename}:{at.f_lineno}" if at else "the code under check"
            raise Blocking(f"{line} {what}; {instead}")


def _is_of_checked_code(event: str, caller: FrameType) -> bool:
    """Whether it is neither a debugger that asks nor the checker itself that starts a thread."""
    if event == "builtins.input":
        return is_authors(caller.f_code.co_filename)
    if event in _STARTS_THREAD:
        at = caller.f_back if caller.f_code is _told_start_thread.__code__ else caller
        while at is not None and not is_authors(at.f_code.co_filename):
            if is_of_package(at.f_code.co_filename):
                return False
            at = at.f_back
    return True


@cache
def _add_hook() -> None:
    """Once, for a hook cannot be taken away again."""
    sys.addaudithook(_hook)


def _listen() -> None:
    """Be told from now on."""
    _add_hook()
    if not _TELLS_OF_THREADS:
        threading._start_new_thread = _told_start_thread  # type: ignore[attr-defined]  # noqa: SLF001
    if not _TELLS_OF_SLEEP:
        time.sleep = _told_sleep
        for module in list(sys.modules.values()):
            _tell_of_sleep(module)


def _told_start_thread(*arguments: Any) -> Any:
    sys.audit("_thread.start_new_thread", *arguments)
    return _start_thread(*arguments)


def _told_sleep(seconds: Any, /) -> None:
    sys.audit("time.sleep", seconds)
    _sleep(seconds)


def _tell_of_sleep(module: Any) -> None:
    """Let a module of an author that has imported ``sleep`` by its name tell of it, too."""
    if id(module) in _looked_at:
        return
    _looked_at.add(id(module))
    if is_authors(getattr(module, "__file__", None) or "<unknown>"):
        for name in [name for name, value in vars(module).items() if value is _sleep]:
            setattr(module, name, _told_sleep)
