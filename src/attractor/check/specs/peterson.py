"""Peterson's algorithm: two processes, one critical section, no locks.

A first specification to read. Each process goes round ``idle -> raised -> waiting -> critical -> idle``: it raises its
flag, lets the other one go first, waits until the other does not want to or gives way, goes in, and lowers its flag.
Each line of the algorithm is one action, because a process may be interrupted between any two of them.
"""

from __future__ import annotations

from attractor.check import Map, Spec, action, always, each, leads_to, require, sometimes, var

IDLE, RAISED, WAITING, CRITICAL = "idle", "raised", "waiting", "critical"
BOTH = (0, 1)


class Peterson(Spec):
    """Mutual exclusion by two flags and a turn."""

    at: Map[int, str] = each(BOTH, IDLE)
    flag: Map[int, bool] = each(BOTH, False)
    turn: int = var(0)

    # An action says when it can happen (``require``) and what it changes. Nobody has to want, so ``want`` is not fair;
    # but whoever wants goes on: ``fair="weak"`` means that an action which stays possible happens at last.

    @action(p=BOTH)
    def want(self, p: int) -> None:
        """Raise the flag."""
        require(self.at[p] == IDLE)
        self.flag[p] = True
        self.at[p] = RAISED

    @action(p=BOTH, fair="weak")
    def yield_turn(self, p: int) -> None:
        """Let the other go first."""
        require(self.at[p] == RAISED)
        self.turn = 1 - p
        self.at[p] = WAITING

    @action(p=BOTH, fair="weak")
    def enter(self, p: int) -> None:
        """Go in when the other does not want to, or it is my turn."""
        require(self.at[p] == WAITING and (not self.flag[1 - p] or self.turn == p))
        self.at[p] = CRITICAL

    @action(p=BOTH, fair="weak")
    def leave(self, p: int) -> None:
        """Lower the flag."""
        require(self.at[p] == CRITICAL)
        self.flag[p] = False
        self.at[p] = IDLE

    # What we expect: in every state (``always``), in some state (``sometimes``), in every run (``leads_to``)

    @always
    def mutual_exclusion(self) -> bool:
        """Never both at once."""
        return not (self.at[0] == CRITICAL and self.at[1] == CRITICAL)

    @sometimes
    def both_wait(self) -> bool:
        """The interesting case is reached."""
        return self.at[0] == WAITING and self.at[1] == WAITING

    @sometimes(p=BOTH)
    def enters(self, p: int) -> bool:
        """The critical section is used."""
        return self.at[p] == CRITICAL

    no_starvation = leads_to(
        lambda self, p: self.at[p] == RAISED,
        lambda self, p: self.at[p] == CRITICAL,
        p=BOTH,
    )
