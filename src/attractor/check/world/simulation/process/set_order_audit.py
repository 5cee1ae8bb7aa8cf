"""Audit of set order: a reconcile is run again with its sets in another order, and must do the same.

A reconcile that has come to its end is run once more with the answers that it got and every set of its author's code
turned round (``sandbox.set_order``). It must ask for the same things and end alike. The first times, small sets are
taken in every order that they have.
"""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING, Any, NamedTuple

from attractor.check.sandbox.second_runs import audits
from attractor.check.sandbox.set_order import Turnable, other_orders, sites, turnable, turned_round
from attractor.check.world.simulation.process.suspended import Asked, CheckedCodeError, Run

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from attractor.check.engine.model import Model
    from attractor.check.world.simulation.process.suspended import Answer
    from attractor.objects.gvk import Key


THOROUGH = 20
"""So many ends of reconciles are looked at with small sets in every order; all where a record is kept."""


class OrderAudit:
    """Asks it of each end of a reconcile."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._asked = 0
        self._turnable: dict[int, tuple[Any, tuple[Turnable, ...]]] = {}
        """By the id of the function that was checked, which is kept so that the id stays its own."""

    def finished(self, run: Run, key: Key, make: Callable[[], Coroutine[Any, Any, Any]], function: Any) -> None:
        """A reconcile has ended; raises ``CheckedCodeError`` when it would go another way in another process."""
        if not audits():
            return
        self._asked += 1
        history = tuple(run.history)
        if id(function) not in self._turnable:
            self._turnable[id(function)] = function, turnable(function)
        plain: list[_Followed] = []
        for _ in other_orders(all_small=self._asked <= THOROUGH or self._model.record is not None):
            with turned_round(self._turnable[id(function)][1]):
                turned = _followed(make, history)
            where = tuple(sites)
            if not where:
                return
            plain = plain or _followed(make, history)
            for one, other in zip_longest(plain, turned, fillvalue=_NOTHING):
                if one.asked.content != other.asked.content:
                    raise _depends(key, one.asked, other, where)


class _Followed(NamedTuple):
    """One effect of an audited reconcile, and how many sets had been reordered by then."""

    asked: Asked
    turned: int


_NOTHING = _Followed(Asked(None, "", "nothing"), -1)


def _followed(make: Callable[[], Coroutine[Any, Any, Any]], history: tuple[Answer, ...]) -> list[_Followed]:
    """What a reconcile asks for with these answers, as far as it takes them."""
    run, turned = Run(make), []
    for answer in (*history, None):
        run.note()
        turned.append(len(sites))
        if run.is_done or answer is None:
            break
        run.go_on(answer)
    run.close()
    return [_Followed(*each) for each in zip(run.asked, turned, strict=True)]


def _depends(key: Key, one: Asked, other: _Followed, where: tuple[str, ...]) -> CheckedCodeError:
    there = f"`{other.asked.text}`" if one.text != other.asked.text else "the same with other content"
    return CheckedCodeError(
        f"{where[other.turned - 1]}: what the reconcile of {key} does depends on the order of a set, which is another "
        f"one in each process (here `{one.text}`, there {there}); take its elements in order, as in `sorted(...)`"
    )
