"""A suspended coroutine as a value: where it stands, and everything that its future can depend on.

For each frame along the await chain: the code, the instruction, the local variables that can still be read
(``liveness``), and the value stack. The stack holds what no variable names: the iterator of a running ``for``,
operands of a half-evaluated expression, the exception that a bare ``raise`` would raise. CPython shows it to the cycle
collector, after the local variables, in order; so that is where it is read. What it does not show are numbers that
are no objects (``stacknumbers``).

Two coroutines of one function with equal frames behave alike from here on, whatever happened to them before.
"""

from __future__ import annotations

import gc
import sys
from typing import TYPE_CHECKING, Any

from attractor.check.world.freezing import Unfreezable, freeze
from attractor.check.world.hiding import refuse_unreadable
from attractor.check.world.liveness import live_names
from attractor.check.world.stacknumbers import numbers_of

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping
    from types import FrameType


_LEAVES_NONE = sys.version_info < (3, 13)
"""Whether None takes the place of an exception once it has been handled; nobody can tell it from no exception."""


def frame_of(awaitable: Any, memo: dict[int, int]) -> Hashable:
    """One frame and those that it waits for, which stand on its stack; raises ``Unfreezable``.

    What is awaited last, the effect, is in no frame: whoever compares coroutines compares it too.
    """
    frame: FrameType | None = getattr(awaitable, "cr_frame", None) or getattr(awaitable, "gi_frame", None)
    if frame is None:
        if hasattr(awaitable, "cr_frame") or hasattr(awaitable, "gi_frame"):
            return ("ended",)
        raise Unfreezable(f"cannot look into a {type(awaitable).__name__}")
    refuse_unreadable(frame.f_code, frame.f_lasti)
    code, variables = frame.f_code, frame.f_locals
    live = live_names(code, frame.f_lasti)
    kept = tuple((name, freeze(value, memo)) for name, value in variables.items() if name in live)
    stack = tuple(freeze(each, memo) for each in stack_of(awaitable, frame, variables))
    return (id(code), frame.f_lasti, kept, stack, numbers_of(awaitable))


def stack_of(awaitable: Any, frame: FrameType, variables: Mapping[str, Any]) -> list[Any]:
    """What the frame holds besides its variables: the value stack, then the exception that is being handled."""
    code = frame.f_code
    referents = gc.get_referents(awaitable)
    header = max(at for at, each in enumerate(referents[:10]) if each is code) + 1
    cells = {*code.co_cellvars, *code.co_freevars}
    bound = sum(1 for name in code.co_varnames if name not in cells and name in variables)
    stack = referents[header + bound + len(cells) :]
    return stack[:-1] if _LEAVES_NONE and stack and stack[-1] is None else stack
