"""Whether a reconcile depends on the order of a set: what it did, done again with its sets in another order.

A reconcile that has come to its end is run once more with the answers that it got and every set of its author's code
turned round (``setorder``). It must ask for the same things and end alike.
"""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING, Any, NamedTuple

from attractor.check.setorder import Turnable, sites, turnable, turned_round
from attractor.check.world.freezing import Unfreezable, freeze
from attractor.check.world.suspension import CheckedCodeError, Run
from attractor.check.world.telling import described
from attractor.runtime import effects

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Hashable

    from attractor.check.world.suspension import Answer, Suspended
    from attractor.objects.gvk import Key


class OrderAudit:
    """Asks it of each place from which a reconcile went to its end, once."""

    def __init__(self) -> None:
        self._asked: set[Suspended | None] = set()
        self._turnable: dict[int, tuple[Any, tuple[Turnable, ...]]] = {}
        """By the id of the function that was checked, which is kept so that the id stays its own."""

    def finished(self, run: Run, key: Key, make: Callable[[], Coroutine[Any, Any, Any]], function: Any) -> None:
        """A reconcile has ended; raises ``CheckedCodeError`` when it would go another way in another process."""
        if run.origin in self._asked:
            return
        self._asked.add(run.origin)
        history = tuple(run.history)
        if id(function) not in self._turnable:
            self._turnable[id(function)] = function, turnable(function)
        with turned_round(self._turnable[id(function)][1]):
            turned = _told(make, history)
        if not sites:
            return
        for one, other in zip_longest(_told(make, history), turned, fillvalue=_NOTHING):
            if one[:2] != other[:2]:
                raise _depends(key, one, other)


class Said(NamedTuple):
    """What a reconcile asked for, or how it ended: in words, by content; and how many sets had been turned round."""

    text: str
    content: Hashable
    turned: int


_NOTHING = Said("nothing", None, -1)


def _told(make: Callable[[], Coroutine[Any, Any, Any]], history: tuple[Answer, ...]) -> list[Said]:
    run, told = Run(make), []
    for answer in history:
        if run.is_done:
            break
        told.append(Said(described(run.effect), _content(run.effect), len(sites)))
        run.go_on(answer)
    if run.error is not None:
        told.append(Said(f"raise {type(run.error).__name__}", None, len(sites)))
    elif run.is_done:
        told.append(Said("end", _content(run.result), len(sites)))
    else:
        told.append(Said(described(run.effect), _content(run.effect), len(sites)))
        run.close()
    return told


def _content(value: Any) -> Hashable:
    """A value to compare by; functions are told by name, since those of the two runs have different code."""
    if isinstance(value, effects.Start):
        return value.work.__qualname__, value.key, _content(value.args)
    try:
        return freeze(value)
    except Unfreezable:
        return None


def _depends(key: Key, one: Said, other: Said) -> CheckedCodeError:
    there = f"`{other.text}`" if one.text != other.text else "the same with other content"
    return CheckedCodeError(
        f"{sites[other.turned - 1]}: what the reconcile of {key} does depends on the order of a set, which is another "
        f"one in each process (here `{one.text}`, there {there}); take its elements in order, as in `sorted(...)`"
    )
