"""A check outside the main thread: it runs in a thread of its own, which is given up when it waits for ever.

    @apart
    def check(...): ...     in the main thread, and inside such a call: as it is

Nothing can be raised in a thread that waits for a lock, and only the main thread hears the signal that would wake it
(``watchdog``). So whoever asks from another thread waits for a thread that does the work, and is told when that is
stuck. The one that is stuck stays behind; should its wait ever end, it ends there.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from contextvars import copy_context
from functools import wraps
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from attractor.check.errors import SpecError
from attractor.check.sandbox import watchdog

if TYPE_CHECKING:
    from collections.abc import Callable

P = ParamSpec("P")
T = TypeVar("T")


def apart(function: Callable[P, T]) -> Callable[P, T]:
    """Let a function raise ``SpecError`` in every thread where code under check waits for another thread."""

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        if threading.current_thread() is threading.main_thread() or watchdog.can_be_given_up():
            return function(*args, **kwargs)
        return _beside(lambda: function(*args, **kwargs))

    return call


def _beside(work: Callable[[], T]) -> T:
    """Do work in a thread of its own; the variables of this context are there, too."""
    from concurrent.futures import Future, InvalidStateError  # most checks run in the main thread

    done: Future[T] = Future()
    context = copy_context()

    def give_up(line: str) -> None:
        done.set_exception(
            SpecError(
                f"{line}: the code under check waits here for another thread, and under check there is none; ask the "
                "context instead, and leave locks out: a key is never reconciled twice at once"
            )
        )

    def run() -> None:
        watchdog.give_up_with(give_up)
        with suppress(InvalidStateError):  # it was given up
            try:
                result = context.run(work)
            except BaseException as error:  # whoever asks is told of it
                done.set_exception(error)
            else:
                done.set_result(result)

    threading.Thread(target=run, name="attractor-check", daemon=True).start()
    return done.result()
