"""Signature checks of a specification's functions: their parameters, and that they return something."""

from __future__ import annotations

import dis
import inspect
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from attractor.check.errors import SpecError, name_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


def require_parameters(name: str, function: Any, over: Iterable[str]) -> None:
    """Raise ``SpecError`` unless ``function`` takes ``self`` and then the parameters ``over``, in that order."""
    if not callable(function):
        raise SpecError(f"`{name}` is given {function!r}, which is no function of the state; write `lambda self: ...`")
    taken = _positional(function)
    if taken is None:
        return
    wanted, line = [*over], _line(function)
    if not taken:
        raise SpecError(f"{line}: `{name}` takes no `self`; write `def {name}(self, ...)`")
    given = [one.name for one in taken[1:]]
    needed = [one.name for one in taken[1:] if one.default is one.empty]
    if unknown := [one for one in wanted if one not in given]:
        raise SpecError(
            f"{line}: `{name}` is declared over {_named(unknown)}, which it does not take; it takes: "
            f"{', '.join(given) or 'nothing but self'}"
        )
    if missing := [one for one in needed if one not in wanted]:
        raise SpecError(
            f"{line}: `{name}` takes {_named(missing)}, and nothing says which values there are; declare them, "
            f"as in `{missing[0]}=(1, 2)` in its decorator"
        )
    if given[: len(wanted)] != wanted:
        raise SpecError(
            f"{line}: `{name}` takes {', '.join(given)}, and is declared over {', '.join(wanted)}; use one order"
        )


def require_answer(name: str, function: Any) -> None:
    """Raise ``SpecError`` for a function that answers nothing wherever it returns: nothing counts as false."""
    if answers_nothing(function):
        raise SpecError(
            f"{_line(function)}: `{name}` answers nothing; return what is to be true, as in `return 0 < number`"
        )


def answers_nothing(function: Any) -> bool:
    """Whether a function has no ``return`` but of None, as far as its code tells."""
    code = getattr(function, "__code__", None)
    if code is None:
        return False
    returns = [(before, one) for before, one in pairwise(dis.get_instructions(code)) if one.opname in _RETURNS]
    nothing = [one.argval is None if one.opname == "RETURN_CONST" else _is_none(before) for before, one in returns]
    return bool(nothing) and all(nothing)


_RETURNS = {"RETURN_VALUE", "RETURN_CONST"}


def _is_none(instruction: dis.Instruction) -> bool:
    return instruction.opname == "LOAD_CONST" and instruction.argval is None


def _positional(function: Callable[..., Any]) -> list[inspect.Parameter] | None:
    """The parameters that are given by place; None where any number is taken, or where nobody knows."""
    try:
        found = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return None
    if any(one.kind is one.VAR_POSITIONAL for one in found):
        return None
    return [one for one in found if one.kind in {one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD}]


def _line(function: Any) -> str:
    code = getattr(function, "__code__", None)
    return "unknown line" if code is None else f"{name_of(code.co_filename)}:{code.co_firstlineno}"


def _named(names: Iterable[str]) -> str:
    return ", ".join(f"`{one}`" for one in names)
