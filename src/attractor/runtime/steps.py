"""A coroutine stepped by hand: one effect out, one answer in, no event loop.

    steps = Steps(reconcile(Context("pairs", key), key))
    assert steps.effect == Get(ConfigPair, key, is_optional=True)
    steps.answer(pair)
    ...
    assert steps.is_done and steps.result is None

The checker drives reconciles this way. Anything awaited that is no effect is refused, with file and line.
"""

from __future__ import annotations

import contextlib
import sysconfig
import weakref
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from attractor.runtime.effects import Effect

if TYPE_CHECKING:
    from collections.abc import Coroutine

T = TypeVar("T")
MAX_CLOSES = 100
"""How often a coroutine is closed whose clean-up goes on to await things."""
_LIBRARY = sysconfig.get_path("stdlib")


class ForeignAwait(TypeError):
    """A coroutine awaited something that is no effect; the text names the line and the way out."""


class Steps(Generic[T]):
    """A suspended coroutine: either ``effect`` waits for its one answer, or the coroutine ``is_done``.

    What the coroutine raises comes out of the call that made it go on.
    """

    def __init__(self, coroutine: Coroutine[Any, Any, T]) -> None:
        self.coroutine = coroutine
        self._finalizer = weakref.finalize(self, _close_unheard, coroutine)
        self._effect: Effect[Any] | None = None
        self._result: T | None = None
        self.is_done = False
        self._go_on(None, None)

    @property
    def effect(self) -> Effect[Any]:
        """Return the effect that the coroutine waits for."""
        if self._effect is None:
            raise RuntimeError("the coroutine has ended and asks for nothing more; look at `result`")
        return self._effect

    @property
    def result(self) -> T | None:
        """Return the result of the coroutine."""
        if not self.is_done:
            raise RuntimeError(f"the coroutine has not ended: it waits for an answer to {self._effect!r}")
        return self._result

    def answer(self, value: Any = None) -> None:
        """Give the effect its answer, and go on to the next one or to the end."""
        self._check_waiting()
        self._go_on(value, None)

    def fail(self, error: BaseException) -> None:
        """Raise an error where the effect is awaited, and go on to the next effect or to the end."""
        self._check_waiting()
        self._go_on(None, error)

    def close(self) -> None:
        """Give the coroutine up; only its synchronous clean-up runs, and what it then awaits is given up too."""
        self._effect = None
        self.is_done = True
        self._finalizer.detach()
        _close(self.coroutine)

    def _check_waiting(self) -> None:
        if self.is_done:
            raise RuntimeError("the coroutine has ended; there is nothing to answer")

    def _go_on(self, value: Any, error: BaseException | None) -> None:
        self._effect = None
        try:
            yielded = self.coroutine.send(value) if error is None else self.coroutine.throw(error)
        except StopIteration as stop:
            self.is_done = True
            self._result = stop.value
            return
        except BaseException:
            self.is_done = True
            raise
        if not isinstance(yielded, Effect):
            where = awaiting_line(self.coroutine)
            self.close()
            what = "gives way to other tasks" if yielded is None else f"awaits {type(yielded).__name__}"
            raise ForeignAwait(
                f"{where} {what}, which is no effect; ask the context instead, "
                "and declare outside systems with `externals` so that `ctx.external(...)` reaches them"
            )
        self._effect = yielded


def _close(coroutine: Coroutine[Any, Any, Any]) -> None:
    """Close a coroutine; what its clean-up awaits is given up too."""
    for _ in range(MAX_CLOSES):
        try:
            coroutine.close()
        except RuntimeError:  # it awaits something
            continue
        return


def _close_unheard(coroutine: Coroutine[Any, Any, Any]) -> None:
    with contextlib.suppress(BaseException):  # an author's clean-up may raise anything, and nobody could hear it
        _close(coroutine)


def awaiting_line(coroutine: Any) -> str:
    """File and line at which a suspended coroutine waits: its innermost frame outside the standard library."""
    frame = None
    while coroutine is not None:
        inner = getattr(coroutine, "cr_frame", None) or getattr(coroutine, "gi_frame", None)
        if inner is None:
            break
        if frame is None or not _is_library(inner.f_code.co_filename):
            frame = inner
        coroutine = getattr(coroutine, "cr_await", None) or getattr(coroutine, "gi_yieldfrom", None)
    return "a finished coroutine" if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"


def _is_library(filename: str) -> bool:
    return filename.startswith("<") or (filename.startswith(_LIBRARY) and "site-packages" not in filename)
