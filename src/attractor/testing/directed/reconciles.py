"""A declared reconcile in which each effect waits for its turn, and so does the end."""

from __future__ import annotations

import math
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
    Swap = Callable[[Effect[Any]], Effect[Any]]


NEVER_S = 1e9
"""The time limit of a reconcile that is over when the director says so."""


def gated(declared: Controller, turn: Turn, told: Told) -> Controller:
    """The same declaration; ``turn`` is awaited before each effect, and with None before the reconcile ends.

    ``told`` hears each effect with its answer, or with the error that it was answered with.
    """

    async def reconcile(ctx: Context, key: Key) -> Result | None:
        return cast("Result | None", await stepwise(declared.reconcile(ctx, key), turn, told))

    limit_s = math.inf if declared.timeout_s == math.inf else NEVER_S
    return replace(declared, reconcile=reconcile, timeout_s=limit_s)


def stepwise(
    coroutine: Coroutine[Any, Any, Any], turn: Turn, told: Told, swap: Swap = lambda effect: effect
) -> Awaitable[Any]:
    """Run a coroutine whose effects, and whose end, each wait for their turn; ``swap`` may put others there."""
    return cast("Awaitable[Any]", _stepwise(coroutine, turn, told, swap))


@types.coroutine
def _stepwise(coroutine: Coroutine[Any, Any, Any], turn: Turn, told: Told, swap: Swap) -> Generator[Any, Any, Any]:
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
                answer = yield swap(yielded) if isinstance(yielded, Effect) else yielded
            except GeneratorExit:
                raise
            except BaseException as caught:
                error = caught
            if isinstance(yielded, Effect):
                told(yielded, answer, error)
    finally:
        error = None
        coroutine.close()
