"""Two actors and a coordinator: the states of a ClusterInst, each of which belongs to exactly one actor.

A user asks the controller to create, update or delete a cluster; the CRM, far away on the cloudlet, does the work and
reports; the controller keeps the state that both believe in. Messages between controller and CRM may overtake each
other. ``TRANSITIONS`` is the table of the state machine: who may move a state, and where to.

When the connection breaks (``disconnects``; a crash of the controller looks the same, since what it has committed
survives), all messages on their way are lost; the CRM reconnects, both sides say what they have, and work goes on. When
the CRM crashes (``crm_crashes``), it forgets what it was doing, and reads from the platform what is there. A report
that work goes on may get lost by itself (``lost_progress``).

What makes it work, and what each of the mistakes in ``mistakes.clusterinst`` leaves out: a state has one owner; a
message carries the number of its operation, so that a late one is not taken for an answer to a newer question; a CRM
without memory does not claim success, it compares with the platform; and errors are undone by the controller.
"""

from __future__ import annotations

from typing import ClassVar

from attractor.check import (
    Map,
    Record,
    Spec,
    Step,
    Subset,
    action,
    always,
    always_step,
    constant,
    each,
    leads_to,
    require,
    sometimes,
    subset,
    terminal,
    var,
    weak,
)

USER, CRM, CONTROLLER = "user", "crm", "controller"

NOT_PRESENT, READY = "NotPresent", "Ready"
CREATE_REQUESTED, CREATING, CREATE_ERROR = "CreateRequested", "Creating", "CreateError"
UPDATE_REQUESTED, UPDATING, UPDATE_ERROR = "UpdateRequested", "Updating", "UpdateError"
DELETE_PREPARE, DELETE_REQUESTED, DELETING, DELETE_ERROR = "DeletePrepare", "DeleteRequested", "Deleting", "DeleteError"

TRANSITIONS: dict[tuple[str, str], frozenset[str]] = {
    (NOT_PRESENT, USER): frozenset({CREATE_REQUESTED}),
    (CREATE_REQUESTED, CRM): frozenset({CREATING, READY, CREATE_ERROR}),  # Ready: the message Creating was missed
    (CREATING, CRM): frozenset({READY, CREATE_ERROR}),
    (CREATE_ERROR, CONTROLLER): frozenset({NOT_PRESENT}),
    (READY, USER): frozenset({UPDATE_REQUESTED, DELETE_PREPARE}),
    (UPDATE_REQUESTED, CRM): frozenset({UPDATING, READY, UPDATE_ERROR}),
    (UPDATING, CRM): frozenset({READY, UPDATE_ERROR}),
    (UPDATE_ERROR, CONTROLLER): frozenset({READY}),
    (DELETE_PREPARE, CONTROLLER): frozenset({DELETE_REQUESTED, READY}),  # Ready: a dependent could not be deleted
    (DELETE_REQUESTED, CRM): frozenset({DELETING, NOT_PRESENT, DELETE_ERROR}),
    (DELETING, CRM): frozenset({NOT_PRESENT, DELETE_ERROR}),
    (DELETE_ERROR, CONTROLLER): frozenset({READY}),
}


class Job(Record):
    """A kind of work: the states that the CRM goes through, and the one in which it ends."""

    requested: str
    running: str
    done: str
    error: str


CREATE = Job(requested=CREATE_REQUESTED, running=CREATING, done=READY, error=CREATE_ERROR)
UPDATE = Job(requested=UPDATE_REQUESTED, running=UPDATING, done=READY, error=UPDATE_ERROR)
DELETE = Job(requested=DELETE_REQUESTED, running=DELETING, done=NOT_PRESENT, error=DELETE_ERROR)
JOBS = {state: job for job in (CREATE, UPDATE, DELETE) for state in (job.requested, job.running)}

ASKED = tuple(JOBS)
RUNNING = (CREATING, UPDATING, DELETING)
REPORTED = (CREATING, UPDATING, DELETING, READY, NOT_PRESENT, CREATE_ERROR, UPDATE_ERROR, DELETE_ERROR)
ERRORS = (CREATE_ERROR, UPDATE_ERROR, DELETE_ERROR)
STABLE = (READY, NOT_PRESENT)


class Tracked(Record):
    """The controller's committed record: the state, the number of the last operation, the version that it leads to
    (0: none), and the version to go back to if it fails. An operation's number is also the version that it makes."""

    state: str = NOT_PRESENT
    op: int = 0
    wanted: int = 0
    kept: int = 0


class Agent(Record):
    """The CRM's memory of an instance: the operation it last heard of, what it last reported, the job in progress."""

    op: int = 0
    info: str | None = None
    job: Job | None = None
    worked: bool = False


def instances(self: ClusterInst) -> tuple[str, ...]:
    """The instances that the controller tracks."""
    return self.INSTANCES


def operations_of(self: ClusterInst) -> range:
    """The numbers of the operations."""
    return range(1, self.operations + 1)


def requests(self: ClusterInst) -> list[tuple[str, int, str]]:
    """What the controller may say: instance, operation, state."""
    return [(i, op, state) for i in self.INSTANCES for op in operations_of(self) for state in ASKED]


def reports(self: ClusterInst) -> list[tuple[str, int, str]]:
    """What the CRM may say: instance, operation, state."""
    return [(i, op, state) for i in self.INSTANCES for op in operations_of(self) for state in REPORTED]


class ClusterInst(Spec):
    """One cluster, a user with ``operations`` wishes, a controller and a CRM."""

    INSTANCES: ClassVar[tuple[str, ...]] = ("cluster",)

    operations: int = constant(3)
    disconnects: int = constant(0)
    crm_crashes: int = constant(0)
    lost_progress: int = constant(0)

    wishes: int = var(0)
    tracked: Map[str, Tracked] = each(instances, Tracked())
    agent: Map[str, Agent] = each(instances, Agent())
    platform: Map[str, int] = each(instances, 0)  # the version that is really there

    request: Subset[tuple[str, int, str]] = subset(requests)  # on its way to the CRM
    report: Subset[tuple[str, int, str]] = subset(reports)  # on its way to the controller
    connected: bool = var(True)
    faults: Map[str, int] = each(("disconnects", "crm_crashes", "lost_progress"), 0)

    # The user

    @action(i=instances)
    def user_creates(self, i: str) -> None:
        """The user asks for an instance."""
        require(self.tracked[i].state == NOT_PRESENT)
        self.wish()
        self.begin(i, CREATE_REQUESTED)
        self.ask(i)

    @action(i=instances)
    def user_updates(self, i: str) -> None:
        """The user asks for another version."""
        require(self.tracked[i].state == READY)
        self.wish()
        self.begin(i, UPDATE_REQUESTED)
        self.ask(i)

    @action(i=instances)
    def user_deletes(self, i: str) -> None:
        """The user asks for the instance to go."""
        require(self.tracked[i].state == READY)
        self.wish()
        self.begin(i, DELETE_PREPARE)

    def wish(self) -> None:
        """A user has only so many wishes."""
        require(self.wishes < self.operations)
        self.wishes += 1

    def begin(self, i: str, state: str) -> None:
        """Commit a new operation."""
        known = self.tracked[i]
        op = known.op + 1
        self.tracked[i] = Tracked(state=state, op=op, wanted=0 if state == DELETE_PREPARE else op, kept=known.wanted)

    # The controller

    def ask(self, i: str) -> None:
        """Tell the CRM the committed state."""
        if self.connected:
            self.request.add((i, self.tracked[i].op, self.tracked[i].state))

    @action(i=instances, fair="weak")
    def prepared(self, i: str) -> None:
        """Nothing depends on the instance any more: ask the CRM to delete it."""
        require(self.tracked[i].state == DELETE_PREPARE)
        self.tracked[i] = self.tracked[i].but(state=DELETE_REQUESTED)
        self.ask(i)

    @action(i=instances, op=operations_of, state=REPORTED)
    def controller_hears(self, i: str, op: int, state: str) -> None:
        """A report arrives. It counts if it is about the current operation and the table lets the CRM do so."""
        require(self.connected and (i, op, state) in self.report)
        self.report.discard((i, op, state))
        known = self.tracked[i]
        if op == known.op and state in TRANSITIONS.get((known.state, CRM), ()):
            self.tracked[i] = known.but(state=state)

    @action(i=instances, fair="weak")
    def undo(self, i: str) -> None:
        """The work has failed: go back to what was there before."""
        known = self.tracked[i]
        require(known.state in ERRORS)
        state = NOT_PRESENT if known.state == CREATE_ERROR else READY
        self.tracked[i] = known.but(state=state, wanted=known.kept)

    # The CRM

    def tell(self, i: str) -> None:
        """Report to the controller."""
        agent = self.agent[i]
        if self.connected and agent.info is not None:
            self.report.add((i, agent.op, agent.info))

    @action(i=instances, op=operations_of, state=ASKED)
    def crm_hears(self, i: str, op: int, state: str) -> None:
        """A request arrives: begin to work, or say again what is known; an old request is ignored."""
        require(self.connected and (i, op, state) in self.request)
        self.request.discard((i, op, state))
        agent, job = self.agent[i], JOBS[state]
        if op > agent.op and agent.job is None:
            self.agent[i] = self.answer(i, op, job, state)
        if op >= agent.op:
            self.tell(i)

    def answer(self, i: str, op: int, job: Job, state: str) -> Agent:
        """A new operation: done already, to be begun, or begun by a CRM that has crashed since."""
        target = 0 if job == DELETE else op
        if self.platform[i] == target:
            return Agent(op=op, info=job.done)
        if state == job.requested:
            return Agent(op=op, info=job.running, job=job)
        return Agent(op=op, info=job.error)

    def at_work(self, i: str, *, worked: bool) -> tuple[Agent, Job]:
        """The CRM has a job, and the platform has done it or not; otherwise there is nothing to go on with."""
        agent = self.agent[i]
        require(agent.job is not None and agent.worked == worked)
        assert agent.job is not None
        return agent, agent.job

    @action(i=instances, fair="weak")
    def crm_works(self, i: str) -> None:
        """The platform does the work."""
        agent, job = self.at_work(i, worked=False)
        self.platform[i] = 0 if job == DELETE else agent.op
        self.agent[i] = agent.but(worked=True)

    @action(i=instances)
    def crm_fails(self, i: str) -> None:
        """The platform refuses; it is as it was before."""
        agent, job = self.at_work(i, worked=False)
        self.agent[i] = Agent(op=agent.op, info=job.error)
        self.tell(i)

    @action(i=instances, fair="weak")
    def crm_reports(self, i: str) -> None:
        """The work is done."""
        agent, job = self.at_work(i, worked=True)
        self.agent[i] = Agent(op=agent.op, info=job.done)
        self.tell(i)

    reports_arrive = weak(controller_hears)
    requests_arrive = weak(crm_hears)

    # What can go wrong

    def lose_connection(self, kind: str, budget: int) -> None:
        """All that is on its way is lost, within the budget for this kind of fault."""
        require(self.faults[kind] < budget)
        self.faults[kind] += 1
        self.connected = False
        for message in requests(self):
            self.request.discard(message)
        for message in reports(self):
            self.report.discard(message)

    @action(when=disconnects)
    def disconnect(self) -> None:
        """The network breaks, or the controller crashes; the CRM works on."""
        require(self.connected)
        self.lose_connection("disconnects", self.disconnects)

    @action(when=crm_crashes)
    def crm_crash(self) -> None:
        """The CRM crashes and starts again, without any memory."""
        self.lose_connection("crm_crashes", self.crm_crashes)
        for i in self.INSTANCES:
            self.agent[i] = Agent()

    @action(i=instances, op=operations_of, state=RUNNING, when=lost_progress)
    def lose_progress(self, i: str, op: int, state: str) -> None:
        """A report that work goes on is lost, and nobody says it again."""
        require((i, op, state) in self.report and self.faults["lost_progress"] < self.lost_progress)
        self.faults["lost_progress"] += 1
        self.report.discard((i, op, state))

    @action(fair="weak", when=lambda self: self.disconnects or self.crm_crashes)
    def reconnect(self) -> None:
        """The CRM says what it has, and the controller what it waits for."""
        require(not self.connected)
        self.connected = True
        for i in self.INSTANCES:
            self.tell(i)
            if (self.tracked[i].state, CRM) in TRANSITIONS:
                self.ask(i)

    # What we expect

    ACTORS: ClassVar[dict[str, str]] = {
        "user_creates": USER,
        "user_updates": USER,
        "user_deletes": USER,
        "controller_hears": CRM,
        "prepared": CONTROLLER,
        "undo": CONTROLLER,
    }

    @always_step
    def one_owner(self, step: Step) -> bool:
        """A state is moved only by its owner, and only along the table."""
        moves = [
            (self.tracked[i].state, step.after.tracked[i].state)
            for i in self.INSTANCES
            if self.tracked[i].state != step.after.tracked[i].state
        ]
        require(moves)
        actor = self.ACTORS.get(step.action, "nobody")
        return all(after in TRANSITIONS.get((before, actor), ()) for before, after in moves)

    @always_step
    def no_conflicting_work(self, step: Step) -> bool:
        """The CRM never drops a job in progress for another one."""
        jobs = [(self.agent[i], step.after.agent[i]) for i in self.INSTANCES]
        return all(
            (before.op, before.job) == (after.op, after.job) for before, after in jobs if before.job and after.job
        )

    @always(i=instances)
    def stable_states_are_true(self, i: str) -> bool:
        """No work is lost: in a stable state exactly the wanted version is on the platform."""
        require(self.tracked[i].state in STABLE)
        return self.platform[i] == self.tracked[i].wanted

    @always_step(actions=["undo"])
    def undo_goes_back_to_what_is_there(self, step: Step) -> bool:
        """Undoing needs no work, because the platform still is what it was before."""
        i = step.arguments["i"]
        restored: Tracked = step.after.tracked[i]
        return self.platform[i] == restored.wanted == self.tracked[i].kept

    @sometimes(i=instances)
    def overtaken(self, i: str) -> bool:
        """Ready arrives before Creating does."""
        return self.tracked[i].state == READY and any(
            (i, op, CREATING) in self.report for op in operations_of(self) if op == self.tracked[i].op
        )

    @sometimes(i=instances)
    def update_undone(self, i: str) -> bool:
        """An update fails and is undone."""
        return self.tracked[i].state == READY and self.tracked[i].op > self.tracked[i].wanted

    @terminal
    def all_rest(self) -> bool:
        """Every instance is stable, so the system may rest."""
        return all(self.tracked[i].state in STABLE for i in self.INSTANCES)

    settles = leads_to(
        lambda self, i: self.tracked[i].state not in STABLE,
        lambda self, i: self.tracked[i].state in STABLE,
        i=instances,
    )
