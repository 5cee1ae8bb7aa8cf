"""Dining philosophers: two forks each. With ``polite`` the last one takes the other fork first, and none starves."""

from __future__ import annotations

from attractor.check import Map, Spec, action, always, constant, each, leads_to, require, sometimes

THINKING, HUNGRY, HOLDING, EATING = "thinking", "hungry", "holding", "eating"


class Philosophers(Spec):
    """Philosophers at a round table; fork ``i`` lies between philosopher ``i`` and the next."""

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

    none_starves = leads_to(
        lambda self, p: self.at[p] == HUNGRY,
        lambda self, p: self.at[p] == EATING,
        p=seats,
    )
