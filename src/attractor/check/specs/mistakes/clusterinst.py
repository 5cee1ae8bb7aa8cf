"""Mistakes between two actors and their coordinator."""

from __future__ import annotations

from attractor.check import action, constant, require
from attractor.check.specs.clusterinst import (
    CREATE_ERROR,
    CREATE_REQUESTED,
    CREATING,
    CRM,
    ERRORS,
    JOBS,
    READY,
    TRANSITIONS,
    Agent,
    ClusterInst,
    Job,
    instances,
)


class ReportsAreNotNumbered(ClusterInst):
    """A late Ready of an earlier operation is taken for the answer to the current one."""

    disconnects: int = constant(1)

    def controller_hears(self, i: str, op: int, state: str) -> None:
        """Look at the state only."""
        require(self.connected and (i, op, state) in self.report)
        self.report.discard((i, op, state))
        known = self.tracked[i]
        if state in TRANSITIONS.get((known.state, CRM), ()):
            self.tracked[i] = known.but(state=state)


class ObeysOldRequests(ClusterInst):
    """The CRM does not notice that a request is older than what it has done since."""

    disconnects: int = constant(1)

    def crm_hears(self, i: str, op: int, state: str) -> None:
        """Begin whatever is asked for."""
        require(self.connected and (i, op, state) in self.request)
        self.request.discard((i, op, state))
        if op != self.agent[i].op and self.agent[i].job is None:
            self.agent[i] = self.answer(i, op, JOBS[state], state)
        self.tell(i)


class UserDeletesWhileCreating(ClusterInst):
    """The user may delete a cluster that the CRM is still creating: two owners of one state."""

    def user_deletes(self, i: str) -> None:
        """Allow it from Creating too."""
        require(self.tracked[i].state in (READY, CREATING))
        self.wish()
        self.begin(i, "DeletePrepare")


class ControllerTimesOut(ClusterInst):
    """The controller waits for a while and then declares an error in a state that the CRM owns; the CRM works on."""

    @action(i=instances)
    def time_out(self, i: str) -> None:
        """Give up waiting."""
        require(self.tracked[i].state in (CREATE_REQUESTED, CREATING))
        self.tracked[i] = self.tracked[i].but(state=CREATE_ERROR)


class RestartedCrmClaimsSuccess(ClusterInst):
    """A restarted CRM sees that the cluster is there and reports Ready, without a look at the version."""

    crm_crashes: int = constant(1)

    def answer(self, i: str, op: int, job: Job, state: str) -> Agent:
        """What is there is good enough."""
        if state == job.running and job.done == READY and self.platform[i]:
            return Agent(op=op, info=READY)
        return super().answer(i, op, job, state)


class UndoKeepsTheNewVersion(ClusterInst):
    """After a failed update the state is Ready again, but the new version stays committed."""

    def undo(self, i: str) -> None:
        """Only the state goes back."""
        known = self.tracked[i]
        require(known.state in ERRORS)
        self.tracked[i] = known.but(state="NotPresent" if known.state == CREATE_ERROR else READY)


class FailedCreateIsReady(ClusterInst):
    """Every error is undone to Ready, also that of a creation."""

    def undo(self, i: str) -> None:
        """Go to Ready."""
        known = self.tracked[i]
        require(known.state in ERRORS)
        self.tracked[i] = known.but(state=READY, wanted=known.kept)


class UndoDiesWithItsRequest(ClusterInst):
    """The thread that waits for the CRM also does the undo; a disconnect ends the thread, and nobody else looks."""

    disconnects: int = constant(1)

    def undo(self, i: str) -> None:
        """Only as long as nothing has gone wrong."""
        require(not self.faults["disconnects"])
        super().undo(i)


class NothingIsSaidAgain(ClusterInst):
    """After a reconnect both sides wait for news."""

    disconnects: int = constant(1)

    def reconnect(self) -> None:
        """Just connect."""
        require(not self.connected)
        self.connected = True


class CreatingMustNotBeMissed(ClusterInst):
    """Ready is refused in CreateRequested, because Creating has not come yet; it comes later, and is the last one."""

    def controller_hears(self, i: str, op: int, state: str) -> None:
        """Insist on the order."""
        if self.tracked[i].state == CREATE_REQUESTED and state == READY:
            require(self.connected and (i, op, state) in self.report)
            self.report.discard((i, op, state))
        else:
            super().controller_hears(i, op, state)


class ReportsBeforeTheWork(ClusterInst):
    """The CRM reports success when the platform has accepted the job, not when it is done."""

    def crm_works(self, i: str) -> None:
        """Report, and let the platform go on."""
        agent, job = self.at_work(i, worked=False)
        self.agent[i] = agent.but(info=job.done)
        self.tell(i)
        self.agent[i] = agent.but(worked=True)

    def crm_reports(self, i: str) -> None:
        """The platform finishes."""
        agent, job = self.at_work(i, worked=True)
        self.platform[i] = 0 if job.done != READY else agent.op
        self.agent[i] = Agent(op=agent.op, info=job.done)


class TwoJobsAtOnce(UserDeletesWhileCreating):
    """The CRM begins what it is asked for while it still works on something else; it takes a controller that does not
    wait to make it happen."""

    def crm_hears(self, i: str, op: int, state: str) -> None:
        """Begin at once."""
        require(self.connected and (i, op, state) in self.request)
        self.request.discard((i, op, state))
        if op > self.agent[i].op:
            self.agent[i] = self.answer(i, op, JOBS[state], state)
            self.tell(i)
