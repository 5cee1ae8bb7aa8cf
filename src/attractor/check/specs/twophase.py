"""Two-phase commit, after Gray and Lamport: resource managers, one transaction manager, messages that are never lost.

288, 8,832, 296,448 and 1,745,408 states for 3, 5, 7 and 8 resource managers.
"""

from __future__ import annotations

from attractor.check import Map, Spec, Subset, action, always, constant, each, require, sometimes, subset, terminal, var

WORKING, PREPARED, COMMITTED, ABORTED = "working", "prepared", "committed", "aborted"


class TwoPhaseCommit(Spec):
    """Either every resource manager commits or none does."""

    managers: int = constant(3)

    rm: Map[int, str] = each(managers, WORKING)
    tm: str = var("init")
    prepared: Subset[int] = subset(managers)
    prepare_sent: Subset[int] = subset(managers)
    decision_sent: Subset[str] = subset(("commit", "abort"))

    @action(r=managers)
    def tm_receive_prepared(self, r: int) -> None:
        """The transaction manager hears that ``r`` is prepared."""
        require(self.tm == "init" and r in self.prepare_sent)
        self.prepared.add(r)

    @action
    def tm_commit(self) -> None:
        """All are prepared: commit."""
        require(self.tm == "init" and all(r in self.prepared for r in range(self.managers)))
        self.tm = "done"
        self.decision_sent.add("commit")

    @action
    def tm_abort(self) -> None:
        """The transaction manager aborts at will."""
        require(self.tm == "init")
        self.tm = "done"
        self.decision_sent.add("abort")

    @action(r=managers)
    def rm_prepare(self, r: int) -> None:
        """A working manager prepares and says so."""
        require(self.rm[r] == WORKING)
        self.rm[r] = PREPARED
        self.prepare_sent.add(r)

    @action(r=managers)
    def rm_choose_to_abort(self, r: int) -> None:
        """A working manager gives up on its own."""
        require(self.rm[r] == WORKING)
        self.rm[r] = ABORTED

    @action(r=managers)
    def rm_receive_commit(self, r: int) -> None:
        """A manager learns that the transaction is committed."""
        require("commit" in self.decision_sent)
        self.rm[r] = COMMITTED

    @action(r=managers)
    def rm_receive_abort(self, r: int) -> None:
        """A manager learns that the transaction is aborted."""
        require("abort" in self.decision_sent)
        self.rm[r] = ABORTED

    @always(a=managers, b=managers)
    def consistent(self, a: int, b: int) -> bool:
        """No manager commits what another has aborted."""
        return not (self.rm[a] == COMMITTED and self.rm[b] == ABORTED)

    @sometimes
    def commits(self) -> bool:
        """The transaction can succeed everywhere."""
        return all(state == COMMITTED for state in self.rm.values())

    @terminal
    def decided(self) -> bool:
        """Every manager has an answer."""
        return all(state in (COMMITTED, ABORTED) for state in self.rm.values())
