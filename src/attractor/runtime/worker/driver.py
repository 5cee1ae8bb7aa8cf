"""The asyncio driver: performs each effect of a coroutine, one after the other, inside the current task.

What the coroutine awaits besides effects (a timer, a lock, another library) goes straight to the event loop. That
works in production; the checker refuses it, so a reconcile that is to be checked keeps to its context.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, cast

from attractor.runtime.effects import Effect

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Generator

T = TypeVar("T")


class Answered:
    """An answer that need not be waited for."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __await__(self) -> Generator[Any, Any, Any]:
        yield from ()
        return self.value


def drive(coroutine: Coroutine[Any, Any, T], perform: Callable[[Effect[Any]], Awaitable[Any]]) -> Awaitable[T]:
    """Run a coroutine to its end; ``perform`` answers its effects. Cancellation reaches whatever it waits for."""
    return cast("Awaitable[T]", _Driven(coroutine, perform))


class _Driven:
    """A coroutine whose effects are performed while somebody awaits this."""

    __slots__ = ("_coroutine", "_perform")

    def __init__(self, coroutine: Coroutine[Any, Any, Any], perform: Callable[[Effect[Any]], Awaitable[Any]]) -> None:
        self._coroutine = coroutine
        self._perform = perform

    def __await__(self) -> Generator[Any, Any, Any]:
        coroutine, perform = self._coroutine, self._perform
        answer: Any = None
        error: BaseException | None = None
        try:
            while True:
                try:
                    yielded = coroutine.send(answer) if error is None else coroutine.throw(error)
                except StopIteration as stop:
                    return stop.value
                answer = error = None
                try:
                    if isinstance(yielded, Effect):
                        performed = perform(yielded)
                        answer = performed.value if type(performed) is Answered else (yield from performed.__await__())
                    else:
                        answer = yield yielded
                except GeneratorExit:
                    raise
                except BaseException as caught:
                    error = caught
        finally:
            error = None
            coroutine.close()
