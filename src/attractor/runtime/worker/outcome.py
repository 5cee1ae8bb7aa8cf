"""Outcome of a reconcile: a pure decision, from what it returned or raised to what the queue is told."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Literal, NamedTuple

from attractor.runtime.result import Result, TerminalError

if TYPE_CHECKING:
    from typing import Any


class Next(NamedTuple):
    """``done``: nothing until something changes. ``later``: after a delay. ``backoff``: as after a failure."""

    what: Literal["done", "later", "backoff"]
    delay_s: float = 0.0

    @property
    def resets_backoff(self) -> bool:
        """Return whether the next failure counts as the first."""
        return self.what != "backoff"


DONE = Next("done")


def after_result(result: Result | None) -> Next:
    """Return the outcome of a reconcile that returned."""
    if result is None:
        return DONE
    if result.requeue_after_s > 0:
        return Next("later", result.requeue_after_s)
    return Next("backoff") if result.requeue else DONE


def wrong_result(result: Any) -> TypeError | None:
    """Return the error for a wrong result of a reconcile; it counts as if the reconcile had raised it."""
    if result is None or isinstance(result, Result):
        return None
    return TypeError(f"the reconcile returned {result!r}; return None, or a Result")


def after_error(error: BaseException) -> Next:
    """Return the outcome of a reconcile that raised; only a ``TerminalError`` is not retried."""
    return Next("done" if isinstance(error, TerminalError) else "backoff")


def ended_itself(end: BaseException, what: str = "the reconcile") -> RuntimeError:
    """Return the failure of work that raised what ends a task or a process: it ends neither."""
    if isinstance(end, SystemExit):
        return RuntimeError(f"{what} called sys.exit({end.code!r}); it cannot end the process: raise an error")
    return RuntimeError(f"{what} cancelled itself")


def is_cancelled_from_outside(end: BaseException) -> bool:
    """Return whether somebody wants the current task to end, and not only what runs in it has raised so."""
    task = asyncio.current_task()
    return isinstance(end, asyncio.CancelledError) and (task is None or task.cancelling() > 0)


MISTAKES = (
    AssertionError,
    ArithmeticError,
    AttributeError,
    ImportError,
    IndexError,
    KeyError,
    NameError,
    NotImplementedError,
    RecursionError,
    TypeError,
)
"""What Python raises where Go would panic: the program is wrong, whatever the world does."""


def is_panic(error: BaseException) -> bool:
    """Return whether a reconcile failed by a mistake in its program; in a group, whether one of the errors is such."""
    if isinstance(error, BaseExceptionGroup):
        return any(map(is_panic, error.exceptions))
    return isinstance(error, MISTAKES) and not isinstance(error, TerminalError)
