"""Mistakes in the textbook examples: mutual exclusion, commitment, shared forks."""

from __future__ import annotations

from attractor.check import action, require
from attractor.check.specs.peterson import PROCESSES, Peterson
from attractor.check.specs.philosophers import EATING, ONE_FORK, Philosophers
from attractor.check.specs.two_phase_commit import ABORTED, COMMITTED, PREPARED, WORKING, TwoPhaseCommit


class GivesWayFirst(Peterson):
    """The turn is given away before the flag is raised."""

    def ask(self, p: int) -> None:
        """Give way."""
        require(self.at[p] == "idle")
        self.turn = 1 - p
        self.at[p] = "asked"

    def give_way(self, p: int) -> None:
        """Raise the flag."""
        require(self.at[p] == "asked")
        self.flag[p] = True
        self.at[p] = "waiting"


class TakesTheTurn(Peterson):
    """A process takes the turn instead of giving it away."""

    def give_way(self, p: int) -> None:
        """Me first."""
        require(self.at[p] == "asked")
        self.turn = p
        self.at[p] = "waiting"


class NoTurn(Peterson):
    """Flags alone: each process waits for the other one."""

    def enter(self, p: int) -> None:
        """Enter only if the other is not interested."""
        require(self.at[p] == "waiting" and not self.flag[1 - p])
        self.at[p] = "critical"


class StaysInside(Peterson):
    """Nobody promised that a process leaves the room again."""

    @action(p=PROCESSES)
    def leave(self, p: int) -> None:
        """As before, without fairness."""
        super().leave(p)


class AbortsAfterPreparing(TwoPhaseCommit):
    """A prepared manager gets tired of waiting and aborts by itself."""

    def rm_choose_to_abort(self, r: int) -> None:
        """Abort, prepared or not."""
        require(self.rm[r] in (WORKING, PREPARED))
        self.rm[r] = ABORTED


class CommitsWithoutAll(TwoPhaseCommit):
    """The coordinator commits as soon as one manager is prepared."""

    def tm_commit(self) -> None:
        """Do not wait for all."""
        require(self.tm == "init")
        require(any(r in self.tm_prepared for r in self.rm))
        self.tm = COMMITTED
        self.sent.add("commit")


class ChangesItsMind(TwoPhaseCommit):
    """The coordinator may still abort after it has ordered to commit."""

    def tm_abort(self) -> None:
        """Abort at any time."""
        require(self.tm != ABORTED)
        self.tm = ABORTED
        self.sent.add("abort")


class CommitsUnprepared(TwoPhaseCommit):
    """A manager tells the coordinator that it is prepared before it is, and may still abort."""

    def rm_prepare(self, r: int) -> None:
        """Say so first; abort is still possible."""
        require(self.rm[r] == WORKING)
        self.sent_prepared.add(r)


class GrabsForks(Philosophers):
    """A hungry philosopher does not look whether the second fork is free."""

    def take_second(self, p: int) -> None:
        """Take it in any case."""
        require(self.does[p] == ONE_FORK)
        self.holder[self.second(p)] = p
        self.does[p] = EATING
