"""Generated names: in production their endings are random, so each may sort before or after any other.

The first few of a world come in every order: each goes into some gap between those that are there. Later ones sort
behind them in the order of their making, and in the end they come again; both is said where it happens.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, NamedTuple

from attractor.check.world.api.bounds import Bounds

if TYPE_CHECKING:
    from collections.abc import Iterable


class NameBounds(NamedTuple):
    """Bounds on generated names: how many there are before they repeat, and how many come in any order."""

    most: int = Bounds.generated_names
    ordered: int = Bounds.ordered_names

    @classmethod
    def of(cls, bounds: Bounds) -> NameBounds:
        """Those of a world."""
        return cls(bounds.generated_names, min(bounds.ordered_names, bounds.generated_names))


NAME_BOUNDS = NameBounds()


class Generated(NamedTuple):
    """The endings that were generated: those that came in any order, sorted, and how many came after them."""

    ordered: tuple[int, ...] = ()
    others: int = 0

    def after(self, bounds: NameBounds) -> list[tuple[str, Generated]]:
        """Each ending that may come next, with what there is then."""
        most, ordered = bounds
        top = 1 << ordered
        if len(self.ordered) < ordered:
            ends = (0, *self.ordered, top)
            found = [(low + high) // 2 for low, high in itertools.pairwise(ends)]
            return [(ending(each), self._replace(ordered=tuple(sorted({*self.ordered, each})))) for each in found]
        number = self.others % max(most - ordered, 1)
        return [(ending(top + number), self._replace(others=number + 1))]


def ending(number: int) -> str:
    """An ending in the length that production has."""
    return f"{number:05d}"


class Endings:
    """Endings for a run that is directed: those that were written down, or the first that may come."""

    def __init__(self, bounds: NameBounds = NAME_BOUNDS) -> None:
        self._bounds = bounds
        self._made = Generated()
        self.next: list[str] = []

    def write_down(self, endings: Iterable[str]) -> None:
        """The next ones are these."""
        self.next = list(endings)

    def take(self) -> str:
        """The next one."""
        ways = dict(self._made.after(self._bounds))
        chosen = self.next.pop(0) if self.next else ""
        chosen = chosen if chosen in ways else next(iter(ways))
        self._made = ways[chosen]
        return chosen

    def possible(self) -> list[str]:
        """Those that may come next."""
        return [each for each, _ in self._made.after(self._bounds)]
