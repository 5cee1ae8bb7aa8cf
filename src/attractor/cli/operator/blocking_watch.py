"""Watch for code that blocks the event loop: it stops leases, health checks and every other object.

A thread asks the loop for a sign of life now and then. Where none comes in time, it looks at what the loop's thread is
doing, and tells the line of the person's own code that it is in. Where no such line is found nothing is told: then
the machine is busy, or we are.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
import traceback
from itertools import dropwhile
from pathlib import Path
from typing import TYPE_CHECKING, Self

from attractor.runtime.observability.own_lines import PACKAGE, last_own

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

LIMIT_S = 2.0
"""How long the loop may take to give a sign of life, and how long it is left alone then."""
log = logging.getLogger("attractor.runtime.blocking")


def warn(line: str) -> None:
    """Say that a line blocks the event loop, and what to do."""
    log.warning(
        "the event loop is blocked, and everything waits; await an async call there, or use asyncio.to_thread in an "
        "outside system",
        extra={"line": line, "longer_than_s": LIMIT_S},
    )


class BlockingWatch:
    """Watches over the running event loop while it is entered; ``tell`` is called in a thread, once for each block."""

    def __init__(self, tell: Callable[[str], None] = warn, limit_s: float = LIMIT_S) -> None:
        self._tell = tell
        self._limit_s = limit_s
        self._stopped = threading.Event()
        self._watched = threading.get_ident()
        self._loop = asyncio.get_running_loop()
        self._thread = threading.Thread(target=self._watch, name="blocking-watch", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopped.set()

    def _watch(self) -> None:
        while not self._stopped.wait(self._limit_s):
            alive = threading.Event()
            try:
                self._loop.call_soon_threadsafe(alive.set)
            except RuntimeError:  # the loop is closed
                return
            if alive.wait(self._limit_s):
                continue
            if line := self._line():
                self._tell(line)
            while not alive.wait(self._limit_s) and not self._stopped.is_set():
                pass

    def _line(self) -> str:
        """The person's line that the loop's thread is in, called by us; empty where it is in none."""
        frame = sys._current_frames().get(self._watched)  # noqa: SLF001 - there is no other way to another thread
        stack = traceback.extract_stack(frame) if frame is not None else []
        return last_own(dropwhile(lambda one: PACKAGE not in Path(one.filename).parents, stack))
