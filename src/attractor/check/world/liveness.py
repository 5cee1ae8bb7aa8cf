"""Which local variables of a suspended frame can still be read: the others need not be told apart.

The usual backward analysis over bytecode: a variable is live where some path reads it before it is written again. Jumps
and exception handlers are followed; a function that calls ``locals``, ``eval`` or the like keeps all its variables.

Every version of CPython has its own instructions for variables, some of them two accesses in one. They are told by
their names, made of ``LOAD_FAST``, ``STORE_FAST`` and ``DELETE_FAST``; code with another instruction for variables
keeps all of them, for to take a read for none would merge states that differ.
"""

from __future__ import annotations

import dis
import re
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from types import CodeType

_ACCESS = re.compile(r"(LOAD|STORE|DELETE)_FAST(?:_BORROW|_CHECK|_AND_CLEAR|_MAYBE_NULL)?(?:_|$)")
_ELSEWHERE = frozenset({"LOAD_DEREF", "LOAD_CLOSURE"})
"""Some versions count these among the instructions for variables; cells are always live."""
_VARIABLE = frozenset(dis.haslocal)
_JUMP = frozenset({*dis.hasjrel, *dis.hasjabs, *getattr(dis, "hasjump", ())})
_ENDS = frozenset({"RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE"})
_ALWAYS_JUMPS = frozenset({"JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT"})
LOOKS_AT_FRAMES = frozenset({"locals", "eval", "exec", "vars", "dir", "_getframe", "currentframe"})


def live_names(code: CodeType, at: int) -> frozenset[str]:
    """The variables of a frame suspended at instruction offset ``at`` that its future can depend on."""
    return _analysis(code).get(at, frozenset(code.co_varnames) | {*code.co_cellvars, *code.co_freevars})


@cache
def _analysis(code: CodeType) -> Mapping[int, frozenset[str]]:
    """For each instruction offset, what is live after it; nothing where that cannot be told."""
    instructions = list(dis.get_instructions(code))
    if LOOKS_AT_FRAMES.intersection(code.co_names) or not all(map(_is_understood, _names(instructions))):
        return {}
    following = _successors(code, instructions)
    before: dict[int, frozenset[str]] = {each.offset: frozenset() for each in instructions}
    after = dict(before)
    changed = True
    while changed:
        changed = False
        for each in reversed(instructions):
            out = frozenset().union(*(before[to] for to in following[each.offset]))
            into = out
            for verb, name in reversed(accesses(each)):
                into = into - {name} if verb == "STORE" else into | {name}
            if into != before[each.offset] or out != after[each.offset]:
                before[each.offset], after[each.offset] = into, out
                changed = True
    for yielding, each in pairwise(instructions):
        if each.opname == "RESUME":  # a frame that has yielded stands here, from CPython 3.13 on
            after[each.offset] |= after[yielding.offset]
    shared = frozenset({*code.co_cellvars, *code.co_freevars})
    return {offset: names | shared for offset, names in after.items()}


def _names(instructions: Iterable[dis.Instruction]) -> Iterator[str]:
    return (each.opname for each in instructions if each.opcode in _VARIABLE)


def _is_understood(name: str) -> bool:
    """Whether an instruction that has to do with a variable does nothing to it but what its name says."""
    return name in _ELSEWHERE or not _ACCESS.sub("", name)


def accesses(instruction: dis.Instruction) -> list[tuple[str, str]]:
    """What an instruction does to variables, in order: whether it loads, stores or deletes, and the name."""
    if instruction.opcode not in _VARIABLE or instruction.opname in _ELSEWHERE:
        return []
    names = instruction.argval if isinstance(instruction.argval, tuple) else (instruction.argval,)
    return list(zip(_ACCESS.findall(instruction.opname), names, strict=True))


def handlers(code: CodeType) -> list[Any]:
    """Which instructions (``start`` up to ``end``) are covered by which handler (``target``); each by one at most."""
    return list(dis._parse_exception_table(code))  # type: ignore[attr-defined]  # noqa: SLF001 - there is no other way


def _successors(code: CodeType, instructions: list[dis.Instruction]) -> dict[int, list[int]]:
    """Where control can go from each instruction: the next one, jump targets, the handlers that cover it."""
    offsets = [each.offset for each in instructions]
    covering = handlers(code)
    following: dict[int, list[int]] = {}
    for place, each in enumerate(instructions):
        targets: list[int] = []
        if each.opname not in _ENDS and each.opname not in _ALWAYS_JUMPS and place + 1 < len(offsets):
            targets.append(offsets[place + 1])
        if each.opcode in _JUMP:
            targets.append(each.argval)
        targets += [entry.target for entry in covering if entry.start <= each.offset < entry.end]
        following[each.offset] = targets
    return following
