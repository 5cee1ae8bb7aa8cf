"""Peterson's algorithm: two processes share a room without any help but three shared variables.

A first specification to read. Each process goes round ``idle -> asked -> waiting -> critical -> idle``: it raises its
flag, lets the other one go first, waits until the other is not interested or gives way, enters, and lowers its flag.
Each line of the algorithm is one action, because the processes may be interrupted between any two of them.
"""

from __future__ import annotations

from attractor.check import Map, Spec, action, always, each, leads_to, predicate, require, sometimes, var

PROCESSES = (0, 1)


class Peterson(Spec):
    """Two processes, their flags, and whose turn it is."""

    at: Map[int, str] = each(PROCESSES, "idle")
    flag: Map[int, bool] = each(PROCESSES, False)
    turn: int = var(0)

    # A process need not ask: no fairness here. But whoever has asked keeps going: weak fairness on the rest.

    @action(p=PROCESSES)
    def ask(self, p: int) -> None:
        """Raise the flag."""
        require(self.at[p] == "idle")
        self.flag[p] = True
        self.at[p] = "asked"

    @action(p=PROCESSES, fair="weak")
    def give_way(self, p: int) -> None:
        """Let the other process go first."""
        require(self.at[p] == "asked")
        self.turn = 1 - p
        self.at[p] = "waiting"

    @action(p=PROCESSES, fair="weak")
    def enter(self, p: int) -> None:
        """Enter once the other is not interested, or it is our turn."""
        require(self.at[p] == "waiting")
        require(not self.flag[1 - p] or self.turn == p)
        self.at[p] = "critical"

    @action(p=PROCESSES, fair="weak")
    def leave(self, p: int) -> None:
        """Leave, and lower the flag."""
        require(self.at[p] == "critical")
        self.flag[p] = False
        self.at[p] = "idle"

    # What we expect

    @always
    def mutual_exclusion(self) -> bool:
        """Never are both inside."""
        return not all(self.at[p] == "critical" for p in PROCESSES)

    @always(p=PROCESSES)
    def flags_are_up_outside_idle(self, p: int) -> bool:
        """A flag is up exactly while its process is interested."""
        return self.flag[p] == (self.at[p] != "idle")

    @sometimes
    def both_wait(self) -> bool:
        """The interesting case is reached: both want in."""
        return all(self.at[p] == "waiting" for p in PROCESSES)

    @sometimes(p=PROCESSES)
    def somebody_enters(self, p: int) -> bool:
        """The room is not empty for ever."""
        return self.at[p] == "critical"

    @predicate(p=PROCESSES)
    def interested(self, p: int) -> bool:
        """The process has asked."""
        return self.at[p] in ("asked", "waiting")

    no_starvation = leads_to(interested, lambda self, p: self.at[p] == "critical", p=PROCESSES)
