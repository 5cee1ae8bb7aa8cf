"""Code under check may not wait, nor reach outside the process: where it would, it is stopped, and its line named.

    with forbidden(): ...       raises ``SpecError`` if this thread sleeps, connects, asks, or starts a process there

A step is run again and again, in any order, and nothing of it happens: a pause in it only makes the check slow, and a
request would be sent thousands of times. CPython tells audit hooks before it does such a thing. What it does not tell
of is a wait for a lock, which can only be for another thread.
"""

from __future__ import annotations

import sys
import threading
import time
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

from attractor.check.errors import SpecError, authors_frame, is_authors

if TYPE_CHECKING:
    from collections.abc import Iterator

_WAIT = "no time passes under check; leave it out, or return `Result(requeue_after_s=...)` from the reconcile"
_ASK = "code under check may ask only its context; declare outside systems with `externals`, and give the world models"
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
}
_TELLS_OF_SLEEP = sys.version_info >= (3, 13)
_sleep = time.sleep
_threads: set[int] = set()
"""Those in which it is forbidden now."""
_looked_at: set[int] = set()
"""Modules, by their ids, in which a sleep is told of."""


class Blocking(BaseException):
    """A call was stopped; the text has the line and the way out. No ``except Exception`` of the author's keeps it."""


@contextmanager
def forbidden() -> Iterator[None]:
    """Run a block in which this thread may do none of it."""
    _listen()
    thread = threading.get_ident()
    outermost = thread not in _threads
    _threads.add(thread)
    try:
        yield
    except Blocking as stopped:
        raise SpecError(str(stopped)) from None
    finally:
        if outermost:
            _threads.discard(thread)


def _hook(event: str, _: tuple[Any, ...]) -> None:
    if event in _WAYS and threading.get_ident() in _threads:
        caller = sys._getframe(1)  # noqa: SLF001 - who does it is known from the frames only
        if event != "builtins.input" or is_authors(caller.f_code.co_filename):  # a debugger may ask
            what, instead = _WAYS[event]
            at = authors_frame(caller)
            line = f"{at.f_code.co_filename}:{at.f_lineno}" if at else "the code under check"
            raise Blocking(f"{line} {what}; {instead}")


@cache
def _add_hook() -> None:
    """Once, for a hook cannot be taken away again."""
    sys.addaudithook(_hook)


def _listen() -> None:
    """Be told from now on."""
    _add_hook()
    if not _TELLS_OF_SLEEP:
        time.sleep = _told_sleep
        for module in list(sys.modules.values()):
            _tell_of_sleep(module)


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
