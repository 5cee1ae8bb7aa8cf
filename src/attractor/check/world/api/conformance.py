"""Is a model of an outside system like the real one? Random sequences of calls to both tell.

    await conformance(make_real, IamModel, calls=[("create_role", ("a",)), ("delete_role", ("a",)), ("list_roles", ())])

Outcomes are compared: what is returned (by ``==``, after ``normal``), and the class of what is raised.
"""

from __future__ import annotations

import inspect
import random
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Call = tuple[str, tuple[Any, ...]]


class Differs(AssertionError):
    """A model and the real system answered the same calls differently; the text has the calls."""


async def conformance(
    make_real: Callable[[], Any],
    make_model: Callable[[], Any],
    calls: Sequence[Call],
    *,
    runs: int = 20,
    length: int = 12,
    seed: int = 0,
    normal: Callable[[Any], Any] = lambda value: value,
) -> int:
    """Compare an outside system with its model on random sequences of calls; returns how many calls were compared.

    Args:
        make_real: Makes a fresh real system, or a client of one; may be async.
        make_model: Makes a fresh model.
        calls: Method names and arguments to choose from.
        runs: How many sequences, each on a fresh pair.
        length: Calls in a sequence.
        seed: Which sequences.
        normal: Makes answers comparable, for example by dropping times.

    Raises:
        Differs: The two answered differently; the text has the calls that show it.
    """
    chosen = random.Random(seed)  # noqa: S311 - a test's choices, repeatable by its seed
    compared = 0
    for _ in range(runs):
        real, model = await _resolved(make_real()), await _resolved(make_model())
        done: list[Call] = []
        for _ in range(length):
            call = chosen.choice(calls)
            done.append(call)
            one, other = await _outcome(real, call, normal), await _outcome(model, call, normal)
            compared += 1
            if one != other:
                said = "; ".join(f"{name}{args}" for name, args in done)
                raise Differs(f"after {said}: the real system {_text(one)}, the model {_text(other)}")
    return compared


async def _outcome(system: Any, call: Call, normal: Callable[[Any], Any]) -> tuple[str, Any]:
    name, args = call
    try:
        return "returned", normal(await _resolved(getattr(system, name)(*args)))
    except Exception as error:  # whatever the system raises is what is compared
        return "raised", type(error)


async def _resolved(value: Any) -> Any:
    return await value if inspect.isawaitable(value) else value


def _text(outcome: tuple[str, Any]) -> str:
    how, what = outcome
    return f"{how} {what.__name__ if how == 'raised' else repr(what)}"
