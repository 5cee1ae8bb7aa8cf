"""Handling of SIGTERM and SIGINT by commands that run until they are told to stop.

Before ``Stopping`` is entered nothing has been made, and the signal ends the process as any program (143 and 130
in a shell, and no traceback). From then on the first signal ends in good order: what was begun is undone, or, once
``orderly`` is set, that is called. A second signal is from somebody who will not wait: everything is cancelled, and the
exit code is that of a program that the signal ended.
"""

from __future__ import annotations

import asyncio
import signal
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

SIGNALS = (signal.SIGTERM, signal.SIGINT)


class Stopping:
    """Entered by the task that is to end; leaving it gives the signals back, and swallows its own cancellation."""

    def __init__(self) -> None:
        self.code = 0
        """The exit code, as far as signals have a say."""
        self.orderly: Callable[[], None] | None = None
        self._is_told = False

    def __enter__(self) -> Self:
        self._task = asyncio.current_task()
        self._before = {number: signal.getsignal(number) for number in SIGNALS}
        for number in SIGNALS:
            asyncio.get_running_loop().add_signal_handler(number, self._tell, number)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> bool:
        for number, handler in self._before.items():
            asyncio.get_running_loop().remove_signal_handler(number)
            signal.signal(number, handler)
        return self._is_told and kind is asyncio.CancelledError

    def _tell(self, number: signal.Signals) -> None:
        assert self._task is not None
        orderly, self.orderly = self.orderly, None
        if self._is_told:
            self.code = 128 + number
        self._is_told = True
        if orderly is None:
            self._task.cancel()
        else:
            orderly()
