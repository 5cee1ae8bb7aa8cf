"""Transaction commit: ``TransactionCommit`` specifies it without messages, ``CommitProtocol`` refines it.

In the abstract, resource managers prepare; then all commit, or some abort and none commits. That the protocol of
``twophase`` brings this about is one claim, a refinement: whatever happens to its messages, each of its steps moves the
managers as the abstract specification allows, or not at all.

With fair coordinator and managers the transaction is also decided at last. With ``coordinator_crashes`` it is not: that
prepared managers may wait for ever is the known weakness of two-phase commit, and no mistake of the model.
"""

from __future__ import annotations

from attractor.check import Map, Spec, action, constant, each, eventually, refines, require, sometimes, terminal, weak
from attractor.check.specs.twophase import ABORTED, COMMITTED, PREPARED, WORKING, TwoPhaseCommit


class TransactionCommit(Spec):
    """The specification of atomic commit for ``managers`` resource managers."""

    managers: int = constant(3)

    rm: Map[int, str] = each(managers, WORKING)

    @action(r=managers)
    def prepare(self, r: int) -> None:
        """A manager is ready to commit."""
        require(self.rm[r] == WORKING)
        self.rm[r] = PREPARED

    @action(r=managers)
    def commit(self, r: int) -> None:
        """A manager commits, once every one is prepared."""
        require(self.rm[r] == PREPARED)
        require(all(state in (PREPARED, COMMITTED) for state in self.rm.values()))
        self.rm[r] = COMMITTED

    @action(r=managers)
    def abort(self, r: int) -> None:
        """A manager aborts, as long as none has committed."""
        require(self.rm[r] in (WORKING, PREPARED))
        require(all(state != COMMITTED for state in self.rm.values()))
        self.rm[r] = ABORTED

    @terminal
    def decided(self) -> bool:
        """Every manager has committed or aborted."""
        return all(state in (COMMITTED, ABORTED) for state in self.rm.values())


class CommitProtocol(TwoPhaseCommit):
    """Two-phase commit as an implementation of it, with a coordinator that may stop before it has decided."""

    coordinator_crashes: bool = constant(False)

    @action(when=coordinator_crashes)
    def tm_crash(self) -> None:
        """The coordinator stops, and does not come back."""
        require(self.tm == "init")
        self.tm = "crashed"

    coordinator_decides = weak("tm_commit", "tm_abort")
    managers_prepare = weak("rm_prepare", "rm_choose_to_abort", per=("r",))
    messages_arrive = weak("rm_receive_commit", "rm_receive_abort", per=("r",))

    @sometimes
    def one_aborts_while_another_is_prepared(self) -> bool:
        """The case that makes two phases necessary."""
        states = list(self.rm.values())
        return ABORTED in states and PREPARED in states

    @refines(lambda self: TransactionCommit(managers=self.managers))
    def is_transaction_commit(self) -> dict[str, object]:
        """Only the managers count."""
        return {"rm": {r: self.rm[r] for r in self.rm}}

    everyone_decides = eventually(lambda self, r: self.rm[r] in (COMMITTED, ABORTED), r=TwoPhaseCommit.managers)
