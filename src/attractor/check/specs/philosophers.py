"""Dining philosophers: a deadlock and its cure, and why it matters which fairness one asks for.

Philosophers sit around a table with one fork between any two. To eat, a philosopher takes one fork, then the other, and
puts both down after the meal. If all reach to the same side first (``polite=False``), each can hold one fork and wait
for the next one for ever: a deadlock. With ``polite`` the last one takes the other fork first, which breaks the circle.

Then none starves, but only because a fork that is free *again and again* is got at last (strong fairness). Under weak
fairness (``WeaklyServed``: only a fork that *stays* free is got at last) greedy neighbours starve a philosopher,
without any deadlock.
"""

from __future__ import annotations

from attractor.check import Map, Spec, action, always, constant, each, leads_to, require, sometimes

THINKING, HUNGRY, HOLDING, EATING = "thinking", "hungry", "holding", "eating"


class Philosophers(Spec):
    """Philosophers at a round table; fork ``i`` lies between philosopher ``i`` and the one before."""

    seats: int = constant(3)
    polite: bool = constant(True)

    at: Map[int, str] = each(seats, THINKING)
    holder: Map[int, int | None] = each(seats, None)

    def forks(self, p: int) -> tuple[int, int]:
        """The forks of ``p``, in the order in which they are taken."""
        mine, other = p, (p + 1) % self.seats
        return (other, mine) if self.polite and p == self.seats - 1 else (mine, other)

    @action(p=seats)
    def get_hungry(self, p: int) -> None:
        """Hunger comes, or not."""
        require(self.at[p] == THINKING)
        self.at[p] = HUNGRY

    @action(p=seats, fair="strong")
    def take_first(self, p: int) -> None:
        """Take the first fork."""
        first, _ = self.forks(p)
        require(self.at[p] == HUNGRY and self.holder[first] is None)
        self.holder[first] = p
        self.at[p] = HOLDING

    @action(p=seats, fair="strong")
    def take_second(self, p: int) -> None:
        """Take the second fork and eat."""
        _, second = self.forks(p)
        require(self.at[p] == HOLDING and self.holder[second] is None)
        self.holder[second] = p
        self.at[p] = EATING

    @action(p=seats, fair="weak")
    def put_down(self, p: int) -> None:
        """Put both forks down and think."""
        require(self.at[p] == EATING)
        for fork in self.forks(p):
            self.holder[fork] = None
        self.at[p] = THINKING

    @always(p=seats)
    def neighbours_do_not_eat_together(self, p: int) -> bool:
        """One fork is with one philosopher."""
        return not (self.at[p] == EATING and self.at[(p + 1) % self.seats] == EATING)

    @sometimes(p=seats)
    def eats(self, p: int) -> bool:
        """Somebody eats."""
        return self.at[p] == EATING

    @sometimes
    def all_are_hungry(self) -> bool:
        """The table can be as full as it gets."""
        return all(self.at[p] == HUNGRY for p in self.at)

    none_starves = leads_to(
        lambda self, p: self.at[p] == HUNGRY,
        lambda self, p: self.at[p] == EATING,
        p=seats,
    )


class WeaklyServed(Philosophers):
    """The same table, where a philosopher is only sure to get a fork that stays free."""

    @action(p=Philosophers.seats, fair="weak")
    def take_first(self, p: int) -> None:
        """As before, with less of a promise."""
        super().take_first(p)

    @action(p=Philosophers.seats, fair="weak")
    def take_second(self, p: int) -> None:
        """As before, with less of a promise."""
        super().take_second(p)
