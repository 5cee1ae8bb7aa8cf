"""A declared reconcile in which each effect waits for its turn, and so does the end."""

from __future__ import annotations

import types
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from attractor.runtime.effects import Effect

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Generator

    from attractor.objects.gvk import Key
    from attractor.runtime import Context, Controller, Result

    Turn = Callable[[Effect[Any] | None], Awaitable[None]]
    Told = Callable[[Effect[Any], Any, BaseException | None], None]


def gated(declared: Controller, turn: Turn, told: Told) -> Controller:
    """The same declaration; ``turn`` is awaited before each effect, and with None before the reconcile ends.

    ``told`` hears each effect with its answer, or with the error that it was answered with.
    """

    async def reconcile(ctx: Context, key: Key) -> Result | None:
        return cast("Result | None", await stepwise(declared.reconcile(ctx, key), turn, told))

    return replace(declared, reconcile=reconcile)


def stepwise(coroutine: Coroutine[Any, Any, Any], turn: Turn, told: Told) -> Awaitable[Any]:
    """Run a coroutine whose effects, and whose end, each wait for their turn."""
    return cast("Awaitable[Any]", _stepwise(coroutine, turn, told))


@types.coroutine
def _stepwise(coroutine: Coroutine[Any, Any, Any], turn: Turn, told: Told) -> Generator[Any, Any, Any]:
    """Pass effects on, each in its turn. What the coroutine returns or raises comes out when its end has its turn."""
    answer: Any = None
    error: BaseException | None = None
    try:
        while True:
            try:
                yielded = coroutine.send(answer) if error is None else coroutine.throw(error)
            except StopIteration as stop:
                yield from turn(None).__await__()
                return stop.value
            except Exception:
                yield from turn(None).__await__()
                raise
            answer = error = None
            try:
                if isinstance(yielded, Effect):
                    yield from turn(yielded).__await__()
                answer = yield yielded
            except GeneratorExit:
                raise
            except BaseException as caught:
                error = caught
            if isinstance(yielded, Effect):
                told(yielded, answer, error)
    finally:
        error = None
        coroutine.close()
