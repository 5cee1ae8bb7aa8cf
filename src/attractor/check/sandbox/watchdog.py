"""Code under check that computes or waits for ever without awaiting anything: it is stopped, and its line named.

    with_watch(move)        runs ``move``; raises ``Endless`` when it uses more than ``LIMIT_S`` of processor time,
                            ``Stuck`` when it uses none for a while and waits for a lock

A thread looks once in a while whether the same call is still running, by a counter, and by the processor time of the
calling thread, so that a busy machine is no reason. It then raises ``Endless`` there, which comes out at the line that
loops. The thread ends by itself when nothing has run for a while.

Nothing can be raised in a thread that waits for a lock; a signal wakes it, which only the main thread hears
(``SIGURG``: nobody minds it, and where somebody handles it, it is left to them). Any other is given up (``thread``).

Not stopped: a loop inside one call of compiled code, such as ``sum(itertools.count())``, a wait in the main thread
where somebody else handles the signal, and code that swallows every ``BaseException``.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from typing import TYPE_CHECKING, TypeVar

from attractor.check.errors import authors_frame, is_authors, is_standard

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

T = TypeVar("T")
LIMIT_S = 10.0
"""So much processor time between two effects is taken for a loop that does not end."""
LOOKS = 8
"""How often the thread looks within the limit."""
IDLE = 3 * LOOKS
"""After so many looks at nothing it ends."""
STILL = 4
"""After so many looks at a call that waits for a lock it is taken for one that does not end."""
_WAITING = {threading.__file__, threading.__file__.replace("threading", "queue")}


class Endless(BaseException):
    """A call was stopped; no ``except Exception`` of the code under check keeps it."""


class Stuck(BaseException):
    """A call was stopped that waited for a lock."""


class _Watch:
    """The calls of one thread, one after the other."""

    def __init__(self, give_up: Callable[[str], None] | None) -> None:
        self._give_up = give_up
        self._caller = threading.get_ident()
        self._lock = threading.Lock()
        """Held to begin, to end and to look, so that nobody is stopped who has just ended."""
        self._number = 0
        self._depth = 0
        """How many calls are running, one within the other."""
        self._is_stopped = False
        self._is_looked_after = False
        self._is_stuck = False
        """Whether the next signal says that the call is to be stopped."""
        self._hears = False
        self._is_given_up = False
        """Whether nobody waits for the call any more. Nothing is raised in a thread that waits: until it wakes, CPython
        3.11 would compute for ever in every other thread that a tracer looks at."""

    def run(self, move: Callable[[], T]) -> T:
        around = self._depth
        try:
            self._begin(around + 1)
            try:
                return move()
            finally:
                self._end(around)
        except Endless:
            self._end(around)
            raise

    def _begin(self, depth: int) -> None:
        with self._lock:
            self._number += 1
            self._depth = depth
            if not self._is_looked_after:
                self._is_looked_after = True
                self._hears = self._listen()
                threading.Thread(target=self._look_after, name="attractor-endless", daemon=True).start()

    def _end(self, depth: int) -> None:
        with self._lock:
            self._number += 1
            self._depth = depth
            self._is_stuck = False
            stopped, self._is_stopped = self._is_stopped, False
        if stopped:
            _take_back(self._caller)
        if self._is_given_up:
            raise Stuck

    def _listen(self) -> bool:
        """Be ready to be woken from a wait; False where that cannot be."""
        if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "SIGURG"):
            return False
        if signal.getsignal(signal.SIGURG) not in {signal.SIG_DFL, signal.SIG_IGN, self._woken}:
            return False
        signal.signal(signal.SIGURG, self._woken)
        return True

    def _woken(self, _number: int, _frame: FrameType | None) -> None:
        if self._is_stuck:
            self._is_stuck = False
            raise Stuck

    def _look_after(self) -> None:
        number, since, before, still, idle = 0, 0.0, 0.0, 0, 0
        pause = threading.Event()
        while self._is_looked_after:
            pause.wait(LIMIT_S / LOOKS)
            with self._lock:
                if not self._depth:
                    idle = idle + 1 if number == self._number else 0
                    number = self._number
                    self._is_looked_after = idle < IDLE
                    continue
                used = _used_s(self._caller)
                if number != self._number:
                    number, since, still = self._number, used, 0
                elif used - since >= LIMIT_S:
                    since, self._is_stopped = used, True
                    _raise_there(self._caller)
                still = still + 1 if used == before and _waits_for_a_lock(self._caller) else 0
                before = used
                if still >= STILL and self._hears:
                    still, self._is_stuck = 0, True
                    signal.pthread_kill(self._caller, signal.SIGURG)
                elif still >= STILL and self._give_up is not None:
                    self._is_given_up = True
                    self._give_up(_line_of(self._caller))
                    return


def _waits_for_a_lock(thread: int) -> bool:
    """Whether a thread that does nothing waits in an author's line, or for that in ``threading``.

    A debugger waits, too, but in its own code.
    """
    frame = _frame_of(thread)
    if frame is not None and frame.f_code.co_filename in _WAITING:
        while frame is not None and is_standard(frame.f_code.co_filename):
            frame = frame.f_back
    return frame is not None and is_authors(frame.f_code.co_filename)


def _line_of(thread: int) -> str:
    """File and line of the author's code that a thread is in."""
    at = authors_frame(_frame_of(thread))
    return "" if at is None else f"{at.f_code.co_filename}:{at.f_lineno}"


def _frame_of(thread: int) -> FrameType | None:
    return sys._current_frames().get(thread)  # noqa: SLF001 - the only way to another thread's line


def _used_s(thread: int) -> float:
    """The processor time of a thread, or of the process where the system does not tell."""
    clock = getattr(time, "pthread_getcpuclockid", None)
    return time.process_time() if clock is None else time.clock_gettime(clock(thread))


def _raise_there(thread: int) -> None:
    import ctypes  # a check that needs it is rare, and waits anyway

    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(Endless))


def _take_back(thread: int) -> None:
    """Nothing is raised any more in this thread, which calls, that was not raised yet.

    It is raised here and caught. To withdraw it would leave the interpreter's flag set that something is pending;
    CPython 3.11 then computes slowly, and for ever wherever a tracer (coverage, a debugger) looks on.
    """
    try:
        _raise_there(thread)
        while True:
            pass
    except Endless:
        return


_watches = threading.local()
os.register_at_fork(after_in_child=_watches.__dict__.clear)


def with_watch(move: Callable[[], T]) -> T:
    """Run something; raises ``Endless`` or ``Stuck`` when it does not come to an end. What runs inside has its own."""
    watch: _Watch | None = getattr(_watches, "one", None)
    if watch is None:
        watch = _watches.one = _Watch(getattr(_watches, "give_up", None))
    return watch.run(move)


def give_up_with(told: Callable[[str], None]) -> None:
    """From now on, tell of a wait for a lock in this thread, with its line, where nothing can end it."""
    _watches.give_up = told


def can_be_given_up() -> bool:
    """Whether somebody is told of such a wait in this thread."""
    return hasattr(_watches, "give_up")
