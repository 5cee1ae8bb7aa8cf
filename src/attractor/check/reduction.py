"""Partial-order reduction for safety: where steps commute, one order stands for all.

In a state a *stubborn set* is grown from one enabled action: for an enabled member every action that depends on it, for
a disabled member every action that writes what it read (only such a step can enable it). Its enabled members are all
that needs to be taken, provided that none of them can be seen by a property, and that one of them leads to a state that
is still to be expanded (so that nothing is put off for ever). Deadlocks and invariants are then decided as without the
reduction; counts, levels and traces are not those of the full search.

Two actions depend on each other if one writes what the other reads or writes. Footprints come from ``footprints``; an
action without one depends on all.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from attractor.check.footprints import Footprint
    from attractor.check.model import Model


class Reduction:
    """The dependencies of a model's actions, as bit sets over action numbers."""

    def __init__(self, model: Model, seen: Iterable[int | None]) -> None:
        """``seen`` are the slots that properties read; None among them stands for everything."""
        prints = [action.footprint for action in model.actions]
        everything = (1 << len(prints)) - 1
        self.dependent = [everything if one is None else _bits(prints, partial(_depend, one)) for one in prints]
        self._prints = prints
        self._writers: dict[int, int] = {}
        watched = set(seen)
        hidden = None not in watched
        self.visible = _bits(prints, lambda one: not hidden or bool(one.writes & watched))

    def stubborn(self, enabled: int, reads: Callable[[int], Iterable[int]]) -> list[int]:
        """Sets of enabled actions each of which may stand for all, smallest first; empty if there is none.

        ``reads`` gives the slots that a disabled action read before it turned out to be disabled: while none of them
        changes, it stays so.
        """
        found = {self._closure(start, enabled, reads) & enabled for start in _members(enabled)}
        return sorted((each for each in found if each != enabled and not each & self.visible), key=int.bit_count)

    def _closure(self, start: int, enabled: int, reads: Callable[[int], Iterable[int]]) -> int:
        closed, todo = 0, 1 << start
        while todo:
            lowest = todo & -todo
            number = lowest.bit_length() - 1
            closed |= lowest
            if enabled & lowest:
                todo |= self.dependent[number]
            else:
                for slot in reads(number):
                    todo |= self._writers_of(slot)
            todo &= ~closed
        return closed

    def _writers_of(self, slot: int) -> int:
        """The actions that may write a slot; slots may have been added since the search began."""
        known = self._writers.get(slot)
        if known is None:
            known = self._writers[slot] = _bits(self._prints, partial(_writes, slot))
        return known


def _writes(slot: int, one: Footprint) -> bool:
    return slot in one.writes


def _depend(one: Footprint, other: Footprint) -> bool:
    return bool(one.writes & (other.reads | other.writes) or other.writes & one.reads)


def _bits(prints: list[Footprint | None], chosen: Callable[[Footprint], bool]) -> int:
    return sum(1 << number for number, each in enumerate(prints) if each is None or chosen(each))


def _members(bits: int) -> list[int]:
    return [number for number in range(bits.bit_length()) if bits >> number & 1]
