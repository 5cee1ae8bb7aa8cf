"""Dining philosophers: a deadlock and its cure, and why it matters which fairness one asks for.

Philosophers sit around a table with one fork between any two. To eat, a philosopher takes the first fork, then the
second, and puts both down after the meal. If all are right-handed (``left_handed=0``), each can hold one fork and wait
for the next one for ever: a deadlock. One left-handed philosopher breaks the circle.

Nobody starves, but only because a fork that is free *again and again* is got at last (strong fairness). Under weak
fairness (``WeaklyServed``: only a fork that *stays* free is got at last) greedy neighbours can starve a philosopher,
without any deadlock.
"""

from __future__ import annotations

from attractor.check import (
    Map,
    Spec,
    action,
    always,
    constant,
    each,
    leads_to,
    predicate,
    require,
    sometimes,
    strong,
    weak,
)

THINKING, HUNGRY, ONE_FORK, EATING = "thinking", "hungry", "one fork", "eating"


class Philosophers(Spec):
    """``philosophers`` around a table, the first ``left_handed`` of which take their left fork first."""

    philosophers: int = constant(3)
    left_handed: int = constant(1)

    does: Map[int, str] = each(philosophers, THINKING)
    holder: Map[int, int | None] = each(philosophers, None)  # of the fork to the right of each philosopher

    def first(self, p: int) -> int:
        """The fork that ``p`` takes first."""
        return self.left(p) if p < self.left_handed else p

    def second(self, p: int) -> int:
        """The fork that ``p`` takes second."""
        return p if p < self.left_handed else self.left(p)

    def left(self, p: int) -> int:
        """The fork to the left of ``p``: the one to the right of the neighbour."""
        return (p + 1) % self.philosophers

    @action(p=philosophers)
    def get_hungry(self, p: int) -> None:
        """Stop thinking; nobody has to."""
        require(self.does[p] == THINKING)
        self.does[p] = HUNGRY

    @action(p=philosophers)
    def take_first(self, p: int) -> None:
        """Take the first fork, if it is free."""
        require(self.does[p] == HUNGRY and self.holder[self.first(p)] is None)
        self.holder[self.first(p)] = p
        self.does[p] = ONE_FORK

    @action(p=philosophers)
    def take_second(self, p: int) -> None:
        """Take the second fork, if it is free, and eat."""
        require(self.does[p] == ONE_FORK and self.holder[self.second(p)] is None)
        self.holder[self.second(p)] = p
        self.does[p] = EATING

    @action(p=philosophers, fair="weak")
    def put_down(self, p: int) -> None:
        """Put both forks down; every meal ends."""
        require(self.does[p] == EATING)
        self.holder[self.first(p)] = self.holder[self.second(p)] = None
        self.does[p] = THINKING

    service = strong(take_first, take_second, per=("p",))

    # What we expect

    @always(p=philosophers)
    def neighbours_do_not_eat_together(self, p: int) -> bool:
        """Two neighbours share a fork."""
        return not (self.does[p] == EATING and self.does[self.left(p)] == EATING)

    @sometimes
    def all_are_hungry(self) -> bool:
        """The table can be as full as it gets."""
        return all(self.does[p] == HUNGRY for p in self.does)

    @predicate(p=philosophers)
    def hungry(self, p: int) -> bool:
        """Wants to eat, and does not yet."""
        return self.does[p] in (HUNGRY, ONE_FORK)

    nobody_starves = leads_to(hungry, lambda self, p: self.does[p] == EATING, p=philosophers)


class WeaklyServed(Philosophers):
    """The same table, where a philosopher is only sure to get a fork that stays free."""

    service = weak("take_first", "take_second", per=("p",))
