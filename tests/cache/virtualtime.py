"""An event loop whose clock jumps to the next timer when nothing else is left to do."""

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class _JumpingSelector(selectors.DefaultSelector):
    loop: "VirtualLoop"

    def select(self, timeout: float | None = None) -> Any:
        ready = super().select(0)
        if not ready and timeout:
            self.loop.now += timeout
        elif not ready and timeout is None:
            raise RuntimeError("nothing will ever happen again: every task waits for something that nobody does")
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    """For tests without sockets to others: there is no waiting for the outside."""

    def __init__(self) -> None:
        self.now = 1000.0
        selector = _JumpingSelector()
        selector.loop = self
        super().__init__(selector)

    def time(self) -> float:
        return self.now


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run to the end on virtual time; what takes longer than a virtual hour fails."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(asyncio.wait_for(main, 3600))
