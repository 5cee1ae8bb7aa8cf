"""Which local variables of a suspended frame can still be read: the others need not be told apart.

The usual backward analysis over bytecode: a variable is live where some path reads it before it is written again. Jumps
and exception handlers are followed; a function that calls ``locals``, ``eval`` or the like keeps all its variables.
"""

from __future__ import annotations

import dis
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import CodeType

_READS = frozenset({"LOAD_FAST", "DELETE_FAST"})
_ENDS = frozenset({"RETURN_VALUE", "RAISE_VARARGS", "RERAISE"})
_ALWAYS_JUMPS = frozenset({"JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT"})
_LOOKS_AT_FRAMES = frozenset({"locals", "eval", "exec", "vars", "dir", "_getframe", "currentframe"})


def live_names(code: CodeType, at: int) -> frozenset[str]:
    """The variables of a frame suspended at instruction offset ``at`` that its future can depend on."""
    return _analysis(code).get(at, frozenset(code.co_varnames) | {*code.co_cellvars, *code.co_freevars})


@cache
def _analysis(code: CodeType) -> Mapping[int, frozenset[str]]:
    """For each instruction offset, what is live after it."""
    shared = frozenset({*code.co_cellvars, *code.co_freevars})
    if _LOOKS_AT_FRAMES.intersection(code.co_names):
        return {}
    instructions = list(dis.get_instructions(code))
    following = _successors(code, instructions)
    before: dict[int, frozenset[str]] = {each.offset: frozenset() for each in instructions}
    after = dict(before)
    changed = True
    while changed:
        changed = False
        for each in reversed(instructions):
            out = frozenset().union(*(before[to] for to in following[each.offset]))
            into = out
            if each.opname == "STORE_FAST":
                into = out - {each.argval}
            elif each.opname in _READS:
                into = out | {each.argval}
            if into != before[each.offset] or out != after[each.offset]:
                before[each.offset], after[each.offset] = into, out
                changed = True
    return {offset: names | shared for offset, names in after.items()}


def _successors(code: CodeType, instructions: list[dis.Instruction]) -> dict[int, list[int]]:
    """Where control can go from each instruction: the next one, jump targets, the handlers that cover it."""
    offsets = [each.offset for each in instructions]
    handlers = dis._parse_exception_table(code)  # type: ignore[attr-defined]  # noqa: SLF001 - there is no other way
    following: dict[int, list[int]] = {}
    for place, each in enumerate(instructions):
        targets: list[int] = []
        if each.opname not in _ENDS and each.opname not in _ALWAYS_JUMPS and place + 1 < len(offsets):
            targets.append(offsets[place + 1])
        if each.opcode in dis.hasjrel or each.opcode in dis.hasjabs:
            targets.append(each.argval)
        targets += [entry.target for entry in handlers if entry.start <= each.offset < entry.end]
        following[each.offset] = targets
    return following
