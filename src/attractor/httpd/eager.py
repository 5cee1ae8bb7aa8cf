"""Answer without a task where no waiting is needed.

Most requests are answered from memory and never wait. Creating a task for each costs as much as answering it, so a
handler's coroutine is stepped once right away, and becomes a task only if that step did not finish it.

The first step runs outside any task. Code that needs the current task before its first wait (``asyncio.timeout``,
``TaskGroup``) must not be run this way; Python 3.12 has ``eager_task_factory`` for the same purpose.
"""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Coroutine, Generator

T = TypeVar("T")


def first_step(coroutine: Coroutine[Any, Any, T]) -> tuple[bool, Any]:
    """Run up to the first wait: ``(True, answer)`` when it ended, ``(False, what it waits for)`` when not."""
    try:
        return False, coroutine.send(None)
    except StopIteration as stop:
        return True, stop.value


async def rest_of(coroutine: Coroutine[Any, Any, T], waits_for: Any) -> T:
    """The remainder of a coroutine after its ``first_step``, to be made a task."""
    return await _stepped(coroutine, waits_for)


@types.coroutine
def _stepped(coroutine: Coroutine[Any, Any, T], waits_for: Any) -> Generator[Any, Any, T]:
    while True:
        failure: BaseException | None = None
        answer: Any = None
        try:
            answer = yield waits_for
        except GeneratorExit:
            coroutine.close()
            raise
        except BaseException as error:
            failure = error
        try:
            waits_for = coroutine.send(answer) if failure is None else coroutine.throw(failure)
        except StopIteration as stop:
            value: T = stop.value
            return value
