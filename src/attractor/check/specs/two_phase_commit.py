"""Two-phase commit: resource managers agree to commit or to abort a transaction, with a coordinator in the middle.

It is Lamport's well-known TLA+ model (``TwoPhase``), with the same states: messages are a set that only grows, so a
message may be received late, twice or never. The number of states is published, which makes it a good yardstick:
288 for 3 resource managers, 8,832 for 5, 296,448 for 7, 1,745,408 for 8.

``TransactionCommit`` says what is wanted, without messages or a coordinator. That the protocol does it is one line:
``is_transaction_commit = refines(...)``.
"""

from __future__ import annotations

from attractor.check import (
    Map,
    Spec,
    Subset,
    action,
    always,
    constant,
    each,
    eventually,
    interchangeable,
    refines,
    require,
    sometimes,
    subset,
    var,
    weak,
)

WORKING, PREPARED, COMMITTED, ABORTED = "working", "prepared", "committed", "aborted"


class TransactionCommit(Spec):
    """What is wanted: managers prepare, then all commit, or some abort and none commits."""

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
        require(all(self.rm[other] in (PREPARED, COMMITTED) for other in self.rm))
        self.rm[r] = COMMITTED

    @action(r=managers)
    def abort(self, r: int) -> None:
        """A manager aborts, as long as none has committed."""
        require(self.rm[r] in (WORKING, PREPARED))
        require(all(self.rm[other] != COMMITTED for other in self.rm))
        self.rm[r] = ABORTED

    @always(r=managers, s=managers)
    def consistent(self, r: int, s: int) -> bool:
        """Never has one manager committed and another one aborted."""
        return not (self.rm[r] == COMMITTED and self.rm[s] == ABORTED)


class TwoPhaseCommit(Spec):
    """The protocol. With ``coordinator_crashes`` the coordinator may stop for ever before it has decided."""

    managers: int = constant(3)
    coordinator_crashes: bool = constant(False)

    rm: Map[int, str] = each(managers, WORKING)
    tm: str = var("init")
    tm_prepared: Subset[int] = subset(managers)

    # The messages that were sent: "prepared" from each manager, and the coordinator's two orders.
    sent_prepared: Subset[int] = subset(managers)
    sent: Subset[str] = subset(("commit", "abort"))

    same_managers = interchangeable(managers)

    # The coordinator

    @action(r=managers, fair="weak")
    def tm_rcv_prepared(self, r: int) -> None:
        """The coordinator learns that a manager is prepared."""
        require(self.tm == "init" and r in self.sent_prepared)
        self.tm_prepared.add(r)

    @action
    def tm_commit(self) -> None:
        """All are prepared: the coordinator orders to commit."""
        require(self.tm == "init")
        require(all(r in self.tm_prepared for r in self.rm))
        self.tm = COMMITTED
        self.sent.add("commit")

    @action
    def tm_abort(self) -> None:
        """The coordinator gives up waiting, and orders to abort."""
        require(self.tm == "init")
        self.tm = ABORTED
        self.sent.add("abort")

    @action(when=coordinator_crashes)
    def tm_crash(self) -> None:
        """The coordinator stops before it has decided, and does not come back."""
        require(self.tm == "init")
        self.tm = "crashed"

    tm_decides = weak(tm_commit, tm_abort)

    # The resource managers

    @action(r=managers, fair="weak")
    def rm_prepare(self, r: int) -> None:
        """A manager is ready, and says so; from now on it may not decide on its own."""
        require(self.rm[r] == WORKING)
        self.rm[r] = PREPARED
        self.sent_prepared.add(r)

    @action(r=managers)
    def rm_choose_to_abort(self, r: int) -> None:
        """A manager that has not yet prepared may abort by itself."""
        require(self.rm[r] == WORKING)
        self.rm[r] = ABORTED

    @action(r=managers, fair="weak")
    def rm_rcv_commit(self, r: int) -> None:
        """A manager is told to commit."""
        require("commit" in self.sent)
        self.rm[r] = COMMITTED

    @action(r=managers, fair="weak")
    def rm_rcv_abort(self, r: int) -> None:
        """A manager is told to abort."""
        require("abort" in self.sent)
        self.rm[r] = ABORTED

    # What we expect

    @always(r=managers, s=managers)
    def consistent(self, r: int, s: int) -> bool:
        """Never has one manager committed and another one aborted."""
        return not (self.rm[r] == COMMITTED and self.rm[s] == ABORTED)

    @sometimes
    def all_commit(self) -> bool:
        """A transaction can succeed."""
        return all(self.rm[r] == COMMITTED for r in self.rm)

    @sometimes
    def one_aborts_while_another_is_prepared(self) -> bool:
        """The case that makes two phases necessary."""
        return any(self.rm[r] == ABORTED for r in self.rm) and any(self.rm[r] == PREPARED for r in self.rm)

    is_transaction_commit = refines(
        lambda self: TransactionCommit(managers=self.managers), lambda self: {"rm": {r: self.rm[r] for r in self.rm}}
    )
    decided = eventually(lambda self, r: self.rm[r] in (COMMITTED, ABORTED), r=managers)
