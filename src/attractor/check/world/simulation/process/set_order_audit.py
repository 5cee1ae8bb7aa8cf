"""Audit of set order: a reconcile is run again with its sets in another order, and must do the same.

A reconcile that has come to its end is run once more with the answers that it got and every set of its author's code
turned round (``sandbox.set_order``). It must ask for the same things and end alike. The first times, small sets are
taken in every order that they have.
"""

from __future__ import annotations

import sys
from collections import Counter
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, NamedTuple

from attractor.check.sandbox.purity import seen
from attractor.check.sandbox.second_runs import audits
from attractor.check.sandbox.set_order import Turnable, other_orders, sites, turnable, turned_round
from attractor.check.sandbox.touches import watched
from attractor.check.world.simulation.process.suspended import Asked, CheckedCodeError, Run

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping
    from types import CodeType

    from attractor.check.engine.model import Model
    from attractor.check.sandbox.touches import Run as Touches
    from attractor.check.world.simulation.process.suspended import Answer
    from attractor.objects.gvk import Key


OFTEN = 3
"""So often it is asked whether what a line touches outlives a run; always where a record is kept."""
THOROUGH = 20
"""So many ends of reconciles are looked at with small sets in every order; all where a record is kept."""


class OrderAudit:
    """Asks it of each end of a reconcile."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._asked = 0
        self._turnable: dict[tuple[int, int], tuple[Any, tuple[Turnable, ...]]] = {}
        """By the id of the function that was checked, which is kept, and how much code had been seen to run."""
        self._touched: Counter[str] = Counter()
        """How often it was asked whether what a line touches outlives a run."""

    def finished(self, run: Run, begun: Begun) -> None:
        """A reconcile has ended; raises ``CheckedCodeError`` when it would go another way in another process."""
        if not audits():
            return
        self._asked += 1
        history, make = tuple(run.history), begun.make
        functions = self._functions(begun)
        plain: list[_Followed] = []
        for number in other_orders(all_small=self._asked <= THOROUGH or self._model.record is not None):
            with turned_round(functions), watched(seen) as touched:
                turned = _followed(make, history)
            where = tuple(sites)
            if number == sys.maxsize and self._is_new(touched):
                _refuse_outliving(touched, functions, begun, history)
            if not where:
                return
            plain = plain or _followed(make, history)
            for one, other in zip_longest(plain, turned, fillvalue=_NOTHING):
                if one.asked.content != other.asked.content:
                    raise _depends(begun.key, one.asked, other, where)

    def _functions(self, begun: Begun) -> tuple[Turnable, ...]:
        """The author's functions that a coroutine may call."""
        number = id(begun.function), len(begun.met)
        if number not in self._turnable:
            self._turnable[number] = begun.function, turnable(begun.function, met=[*begun.met.values()])
        return self._turnable[number][1]

    def _is_new(self, touched: Touches) -> bool:
        """Whether a line has touched something that was not asked about often enough."""
        lines = touched.lines
        self._touched.update(lines)
        return self._model.record is not None or any(self._touched[line] <= OFTEN for line in lines)


class Begun(NamedTuple):
    """The beginning of a coroutine that has begun: its key, its maker, its function, and the code that it ran."""

    key: Key
    make: Callable[[], Coroutine[Any, Any, Any]]
    function: Any
    met: Mapping[int, CodeType]


def _refuse_outliving(
    first: Touches, functions: tuple[Turnable, ...], begun: Begun, history: tuple[Answer, ...]
) -> None:
    """Run it once more: what both runs touched is not of one run, and must stay as it is."""
    with turned_round(functions), watched(seen, first) as second:
        _followed(begun.make, history)
    changed = second.changed()
    if changed is not None:
        raise CheckedCodeError(
            f"{changed.line}: the reconcile of {begun.key} changes a {type(changed.value).__name__} that outlives it, "
            "so that the next one would find it changed; memory goes through `ctx.remember` (it is lost at a crash) or "
            "into the object's status"
        )


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
