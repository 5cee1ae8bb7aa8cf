"""Mistakes in the textbook examples: mutual exclusion, commitment, shared forks."""

from __future__ import annotations

from attractor.check import action, require
from attractor.check.specs.peterson import BOTH, CRITICAL, IDLE, RAISED, WAITING, Peterson
from attractor.check.specs.philosophers import EATING, HOLDING, Philosophers
from attractor.check.specs.transaction_commit import CommitProtocol
from attractor.check.specs.twophase import ABORTED, PREPARED, WORKING


class GivesWayFirst(Peterson):
    """The turn is given away before the flag is raised."""

    def want(self, p: int) -> None:
        """Give way."""
        require(self.at[p] == IDLE)
        self.turn = 1 - p
        self.at[p] = RAISED

    def yield_turn(self, p: int) -> None:
        """Raise the flag."""
        require(self.at[p] == RAISED)
        self.flag[p] = True
        self.at[p] = WAITING


class TakesTheTurn(Peterson):
    """A process takes the turn instead of giving it away."""

    def yield_turn(self, p: int) -> None:
        """Me first."""
        require(self.at[p] == RAISED)
        self.turn = p
        self.at[p] = WAITING


class NoTurn(Peterson):
    """Flags alone: each process waits for the other one."""

    def enter(self, p: int) -> None:
        """Enter only if the other is not interested."""
        require(self.at[p] == WAITING and not self.flag[1 - p])
        self.at[p] = CRITICAL


class StaysInside(Peterson):
    """Nobody promised that a process leaves the room again."""

    @action(p=BOTH)
    def leave(self, p: int) -> None:
        """As before, without fairness."""
        super().leave(p)


class AbortsAfterPreparing(CommitProtocol):
    """A prepared manager gets tired of waiting and aborts by itself."""

    def rm_choose_to_abort(self, r: int) -> None:
        """Abort, prepared or not."""
        require(self.rm[r] in (WORKING, PREPARED))
        self.rm[r] = ABORTED


class CommitsWithoutAll(CommitProtocol):
    """The coordinator commits as soon as one manager is prepared."""

    def tm_commit(self) -> None:
        """Do not wait for all."""
        require(self.tm == "init")
        require(any(r in self.prepared for r in self.rm))
        self.tm = "done"
        self.decision_sent.add("commit")


class ChangesItsMind(CommitProtocol):
    """The coordinator may still abort after it has ordered to commit."""

    def tm_abort(self) -> None:
        """Abort at any time."""
        require("abort" not in self.decision_sent)
        self.tm = "done"
        self.decision_sent.add("abort")


class CommitsUnprepared(CommitProtocol):
    """A manager tells the coordinator that it is prepared before it is, and may still abort."""

    def rm_prepare(self, r: int) -> None:
        """Say so first; abort is still possible."""
        require(self.rm[r] == WORKING)
        self.prepare_sent.add(r)


class GrabsForks(Philosophers):
    """A hungry philosopher does not look whether the second fork is free."""

    def take_second(self, p: int) -> None:
        """Take it in any case."""
        require(self.at[p] == HOLDING)
        self.holder[self.forks(p)[1]] = p
        self.at[p] = EATING
