"""Under check there is no event loop: what would ask one is refused, with its line and what to write instead.

    with without_loop(): ...        what ``asyncio`` finds as the running loop there raises ``Blocking`` when it is used

The engine alone decides what happens next, so a task, a timer or a future of ``asyncio`` would never come to its turn;
and where ``check`` is called inside a running loop, it would come to its turn there, outside of the world. What needs
no loop works: a lock that is free, a queue that is not empty, an event that is set.
"""

from __future__ import annotations

import logging
import os
import sys
import sysconfig
from contextlib import contextmanager
from types import CoroutineType
from typing import TYPE_CHECKING, Any, Never

from attractor.check.errors import Blocking, is_authors

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

_ASYNCIO = os.sep.join((sysconfig.get_path("stdlib"), "asyncio"))
_ALONE = (
    "under check a reconcile runs alone, so nobody ends the wait, and what a process shares is no part of the state; "
    "leave it out (a key is never reconciled twice at once, and a write to an object that was changed meanwhile fails "
    "with `Conflict`), or keep it in an object"
)
_TOGETHER = (
    "under check there are no tasks; to ask several things at once write `await ctx.gather(ctx.get(...), ...)`, "
    "for work that goes on after the reconcile `await ctx.start(...)`"
)
_TIME = "no time passes under check; leave it out, or return `Result(requeue_after_s=...)` from the reconcile"
_NOW = "under check the time is the world's; write `await ctx.now()`"
_OUTSIDE = (
    "code under check may ask only its context; declare outside systems with `externals`, and give the world models"
)
_INSTEAD = {
    **dict.fromkeys(("Lock", "Event", "Condition", "Semaphore", "BoundedSemaphore", "Barrier"), _ALONE),
    **dict.fromkeys(("Queue", "LifoQueue", "PriorityQueue"), _ALONE),
    **dict.fromkeys(
        ("gather", "wait", "as_completed", "create_task", "ensure_future", "TaskGroup", "shield"), _TOGETHER
    ),
    **dict.fromkeys(("sleep", "timeout", "wait_for"), _TIME),
    **dict.fromkeys(("loop.call_later", "loop.call_at"), _TIME),
    **dict.fromkeys(("loop.create_task", "loop.call_soon", "current_task"), _TOGETHER),
    **dict.fromkeys(("loop.create_future", "Future"), _ALONE),
    "loop.time": _NOW,
}
_COMPILED = {"current_task": "asyncio.current_task", "get_debug": "asyncio.Future"}
"""What asks a loop for this from compiled code."""
_CLASSES = {"Timeout": "timeout"}
"""What authors write for what ``asyncio`` calls otherwise."""


class NoLoop:
    """Stand-in for the running event loop: every use of it is refused."""

    def __getattr__(self, name: str) -> Never:
        refuse(sys._getframe(1), name)  # noqa: SLF001 - who asks is known from the frames only

    def __hash__(self) -> int:
        """Asked for to find the current task; there is none, and a log record does without its name."""
        asking = sys._getframe(1)  # noqa: SLF001
        if asking.f_code.co_filename != logging.__file__:
            refuse(asking, "current_task")
        return 0


@contextmanager
def without_loop() -> Iterator[None]:
    """Run a block without the event loop that may be running; where nobody uses ``asyncio`` it is not loaded either."""
    asyncio: Any = sys.modules.get("asyncio")
    if asyncio is None:
        yield
        return
    running = asyncio._get_running_loop()  # noqa: SLF001 - the pair that other loops use, too
    asyncio._set_running_loop(NoLoop())  # noqa: SLF001
    try:
        yield
    finally:
        asyncio._set_running_loop(running)  # noqa: SLF001


def needs_a_loop(error: RuntimeError) -> bool:
    """Whether this is how ``asyncio`` says that there is no loop, or no task of one."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    code = None if trace is None else trace.tb_frame.f_code
    is_entered = code is not None and code.co_filename.startswith(_ASYNCIO) and code.co_name == "__aenter__"
    return is_entered or "no running event loop" in str(error)


def refuse(frame: FrameType | None, asked: str) -> Never:
    """Raise ``Blocking`` for what the author's code called to get to this frame, which asks a loop for something."""
    within: list[FrameType] = []
    while frame is not None and frame.f_back is not None and not is_authors(frame.f_code.co_filename):
        within.append(frame)
        frame = frame.f_back
    line = "the code under check" if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"
    raise Blocking(f"{line} {_words(within, asked)}")


def _words(within: list[FrameType], asked: str) -> str:
    for each in within:
        _undo(each.f_locals)
    name = _called(within[-1]) if within else _COMPILED.get(asked, f"loop.{asked}")
    return f"uses `{name}`; {_INSTEAD.get(name.removeprefix('asyncio.'), _OUTSIDE)}"


def _called(frame: FrameType) -> str:
    """What the author called, as it is written: a function, or the class of an object."""
    owner = frame.f_locals.get("self")
    package = str(frame.f_globals.get("__name__")).partition(".")[0]
    if owner is None or type(owner).__module__.partition(".")[0] != package:
        return f"{package}.{frame.f_code.co_name}"
    return f"{package}.{_CLASSES.get(type(owner).__name__, type(owner).__name__)}"


def _undo(variables: dict[str, Any]) -> None:
    """Leave an object of ``asyncio`` free for a loop to come, and drop coroutines that nobody will await."""
    owner = variables.get("self")
    if isinstance(getattr(owner, "_loop", None), NoLoop):
        owner._loop = None  # type: ignore[union-attr]  # noqa: SLF001
    for value in variables.values():
        for each in value if isinstance(value, tuple | list | set | frozenset) else (value,):
            if isinstance(each, CoroutineType) and each.cr_frame is not None and not each.cr_running:
                each.close()
