"""Variables that comprehensions hide while they run, and the frames that cannot be read because of them.

From CPython 3.12 on a comprehension runs in the frame of the function around it. A variable of the function that has
the name of one of the comprehension's waits on the value stack, and comes back at the end of it, or in a handler that
does nothing else. Meanwhile two things cannot be told from outside: whether there is a cell where the function has
one, and which of several hidden variables was unbound. (CPython 3.13.0 crashes where somebody looks for such a cell.)
"""

from __future__ import annotations

import dis
from functools import cache
from itertools import takewhile
from typing import TYPE_CHECKING

from attractor.check.world.freezing import Unfreezable
from attractor.check.world.liveness import LOOKS_AT_FRAMES, accesses, handlers

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import CodeType

_MAY_FIND_NONE = frozenset({"LOAD_FAST_CHECK", "DELETE_FAST"})


def refuse_unreadable(code: CodeType, at: int) -> None:
    """Raise ``Unfreezable`` where a frame at an offset may hold what nobody can read."""
    if (problem := _problem(code, at)) is not None:
        raise Unfreezable(problem)


@cache
def _problem(code: CodeType, at: int) -> str | None:
    hidden = hidden_names(code, at)
    if cells := hidden & {*code.co_cellvars, *code.co_freevars}:
        return f"a comprehension hides {min(cells)!r}, which a function inside refers to"
    if len(hidden) > 1 and (maybe := hidden & _maybe_unbound(code)):
        return f"a comprehension hides {min(maybe)!r}, which may be unbound, and other variables"
    return None


def hidden_names(code: CodeType, at: int) -> frozenset[str]:
    """The variables that comprehensions around an offset hide: those that the handlers around it bring back."""
    return frozenset(name for handler in _around(code, at) for name in _brought_back(code, handler))


def _around(code: CodeType, at: int) -> Iterator[int]:
    """Where the handlers of an offset begin, from the inside out."""
    table = handlers(code)
    while entry := next((each for each in table if each.start <= at < each.end), None):
        at = entry.target
        yield at


def _brought_back(code: CodeType, handler: int) -> list[str]:
    """What a handler stores that does nothing but bring variables back; others begin with other instructions."""
    instructions = [each for each in dis.get_instructions(code) if each.offset >= handler]
    if instructions[0].opname != "SWAP":
        return []
    block = takewhile(lambda each: each.opname != "RERAISE", instructions)
    return [name for each in block for verb, name in accesses(each) if verb == "STORE"]


def _maybe_unbound(code: CodeType) -> frozenset[str]:
    """The variables whose absence somebody could notice."""
    if LOOKS_AT_FRAMES.intersection(code.co_names):
        return frozenset(code.co_varnames)
    return frozenset(each.argval for each in dis.get_instructions(code) if each.opname in _MAY_FIND_NONE)
