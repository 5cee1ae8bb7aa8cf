"""The upgrade of a cloudlet: the old CRM brings up the new one, which takes over and removes the old one.

The controller tracks the upgrade: Ready, UpdateRequested, Updating, UpdateDone, Ready again, or UpdateError, which is
left for an administrator. CRMv1 and CRMv2 describe what they do: Ready, UpgradeInit, Init, UpgradeDone, Error. Neither
side runs ahead: each waits for the other's answer, and ``HEARD_BY_CONTROLLER`` says which report moves which state. The
only trusted state is the controller's, because either CRM may crash at any time (``crm_crashes``) and then asks it
where matters stand; messages are lost when the connection breaks or the controller crashes (``disconnects``).

While the upgrade lasts, nobody may modify apps and clusters; and never do both CRMs serve.
"""

from __future__ import annotations

from typing import ClassVar

from attractor.check import (
    Map,
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

V1, V2 = CRMS = ("v1", "v2")

READY, ERROR = "Ready", "Error"
UPDATE_REQUESTED, UPDATING, UPDATE_DONE, UPDATE_ERROR = "UpdateRequested", "Updating", "UpdateDone", "UpdateError"
TRACKED = (READY, UPDATE_REQUESTED, UPDATING, UPDATE_DONE, UPDATE_ERROR)

UPGRADE_INIT, INIT, UPGRADE_DONE = "UpgradeInit", "Init", "UpgradeDone"
ABSENT, DOWN, STARTING = "absent", "down", "starting"
REPORTS = (READY, UPGRADE_INIT, UPGRADE_DONE, ERROR)

HEARD_BY_CONTROLLER = {
    (UPDATE_REQUESTED, V1, UPGRADE_INIT): UPDATING,
    (UPDATE_REQUESTED, V1, ERROR): UPDATE_ERROR,
    (UPDATING, V1, ERROR): UPDATE_ERROR,
    (UPDATING, V2, UPGRADE_DONE): UPDATE_DONE,
    (UPDATING, V2, ERROR): UPDATE_ERROR,
    (UPDATE_DONE, V2, READY): READY,
}

# What a CRM becomes when it hears the controller's state; a pair that is missing is old news.
HEARD_BY_V1 = {
    (READY, UPDATE_REQUESTED): UPGRADE_INIT,
    (STARTING, READY): READY,
    (STARTING, UPDATE_REQUESTED): UPGRADE_INIT,
    (STARTING, UPDATING): UPGRADE_INIT,
    (STARTING, UPDATE_ERROR): ERROR,
}
HEARD_BY_V2 = {
    (STARTING, UPDATING): INIT,
    (STARTING, UPDATE_DONE): READY,
    (STARTING, UPDATE_ERROR): ERROR,
    (STARTING, READY): READY,
    (UPGRADE_DONE, UPDATE_DONE): READY,
}


class CloudletUpgrade(Spec):
    """One upgrade from v1 to v2, with a user who modifies apps before and after it."""

    HEARD: ClassVar[dict[str, dict[tuple[str, str], str]]] = {V1: HEARD_BY_V1, V2: HEARD_BY_V2}

    disconnects: int = constant(0)
    crm_crashes: int = constant(0)

    tracked: str = var(READY)
    serving: str = var(V1)  # the version that the controller believes in
    crm: Map[str, str] = each(CRMS, lambda v: READY if v == V1 else ABSENT)
    knows_updating: bool = var(False)  # v1 has heard that it may bring up v2
    modifying: bool = var(False)

    news: Subset[tuple[str, str]] = subset([(v, state) for v in CRMS for state in TRACKED])  # to the CRMs
    report: Subset[tuple[str, str]] = subset([(v, state) for v in CRMS for state in REPORTS])  # to the controller
    connected: bool = var(True)
    faults: Map[str, int] = each(("disconnects", "crm_crashes"), 0)

    # The user

    @action
    def user_upgrades(self) -> None:
        """The user starts the upgrade of a cloudlet that is ready and at rest."""
        require(self.tracked == READY and self.serving == V1 and not self.modifying)
        self.track(UPDATE_REQUESTED)

    @action
    def user_modifies(self) -> None:
        """The user changes an app or a cluster, which the controller allows only while the cloudlet is ready."""
        require(self.may_modify() and not self.modifying)
        self.modifying = True

    def may_modify(self) -> bool:
        """Whether the controller accepts modifications."""
        return self.tracked == READY

    @action(v=CRMS, fair="weak")
    def crm_modifies(self, v: str) -> None:
        """The CRM that serves does what the user asked for."""
        require(self.modifying and self.crm[v] == READY)
        self.modifying = False

    # The controller

    def track(self, state: str) -> None:
        """Commit a state, and tell both CRMs."""
        self.tracked = state
        self.announce()

    def announce(self) -> None:
        """Tell every CRM the committed state."""
        for v in CRMS:
            self.tell_news(v)

    def tell_news(self, v: str) -> None:
        """Tell a CRM the committed state, if there is a connection."""
        if self.connected and self.crm[v] not in (ABSENT, DOWN):
            self.news.add((v, self.tracked))

    @action(v=CRMS, state=REPORTS)
    def controller_hears(self, v: str, state: str) -> None:
        """A report arrives, and moves the tracked state if it is its turn."""
        require(self.connected and (v, state) in self.report)
        self.report.discard((v, state))
        after = HEARD_BY_CONTROLLER.get((self.tracked, v, state))
        if after is not None:
            if after == READY:
                self.serving = V2
            self.track(after)

    reports_arrive = weak(controller_hears)

    # The CRMs

    def become(self, v: str, state: str) -> None:
        """A CRM changes its state and reports it."""
        self.crm[v] = state
        self.tell(v)

    def tell(self, v: str) -> None:
        """Report to the controller, if there is a connection."""
        if self.connected and self.crm[v] in REPORTS:
            self.report.add((v, self.crm[v]))

    @action(v=CRMS, state=TRACKED)
    def crm_hears(self, v: str, state: str) -> None:
        """News of the tracked state arrives."""
        require(self.connected and (v, state) in self.news)
        self.news.discard((v, state))
        after = self.HEARD[v].get((self.crm[v], state))
        if after is not None:
            self.become(v, after)
        if v == V1 and state == UPDATING and self.crm[V1] == UPGRADE_INIT:
            self.knows_updating = True

    news_arrives = weak(crm_hears)

    @action(fair="weak")
    def v1_brings_up_v2(self) -> None:
        """The old CRM starts the new one."""
        require(self.crm[V1] == UPGRADE_INIT and self.knows_updating and self.crm[V2] == ABSENT)
        self.crm[V2] = STARTING
        self.tell_news(V2)

    @action(fair="weak")
    def v2_takes_over(self) -> None:
        """The new CRM is up: it removes the old one, and says that the upgrade is done."""
        require(self.crm[V2] == INIT)
        self.remove_v1()
        self.become(V2, UPGRADE_DONE)

    def remove_v1(self) -> None:
        """The old CRM goes, with all that was on its way from and to it."""
        self.crm[V1] = ABSENT
        self.hang_up(V1)

    @action
    def v1_fails(self) -> None:
        """The old CRM cannot prepare the upgrade, or cannot bring up the new one."""
        require(self.crm[V1] == UPGRADE_INIT and self.crm[V2] == ABSENT)
        self.become(V1, ERROR)

    @action
    def v2_fails(self) -> None:
        """The new CRM cannot take over."""
        require(self.crm[V2] == INIT)
        self.become(V2, ERROR)

    # What can go wrong

    def hang_up(self, v: str) -> None:
        """Lose what is on its way from and to a CRM."""
        for state in TRACKED:
            self.news.discard((v, state))
        for state in REPORTS:
            self.report.discard((v, state))

    def fault(self, kind: str, budget: int) -> None:
        """One more fault of a kind, within its budget."""
        require(self.faults[kind] < budget)
        self.faults[kind] += 1

    @action(v=CRMS, when=crm_crashes)
    def crash(self, v: str) -> None:
        """A CRM crashes."""
        require(self.crm[v] not in (ABSENT, DOWN))
        self.fault("crm_crashes", self.crm_crashes)
        self.crm[v] = DOWN
        if v == V1:
            self.knows_updating = False
        self.hang_up(v)

    @action(v=CRMS, fair="weak", when=crm_crashes)
    def restart(self, v: str) -> None:
        """A CRM comes up again without memory, and is told where matters stand."""
        require(self.crm[v] == DOWN)
        self.crm[v] = STARTING
        self.tell_news(v)

    @action(when=disconnects)
    def disconnect(self) -> None:
        """The network breaks, or the controller crashes: all messages are lost."""
        require(self.connected)
        self.fault("disconnects", self.disconnects)
        self.connected = False
        for v in CRMS:
            self.hang_up(v)

    @action(fair="weak", when=disconnects)
    def reconnect(self) -> None:
        """Both sides say what they have."""
        require(not self.connected)
        self.connected = True
        self.announce()
        for v in CRMS:
            self.tell(v)

    # What we expect

    @always
    def never_two_servers(self) -> bool:
        """The old and the new CRM do not serve at the same time."""
        return not (self.crm[V1] == READY and self.crm[V2] == READY)

    @always
    def somebody_is_there(self) -> bool:
        """The old CRM does not go before the new one has come."""
        return self.crm[V1] != ABSENT or self.crm[V2] != ABSENT

    @always
    def no_modification_during_the_upgrade(self) -> bool:
        """While something is modified, the cloudlet is tracked as ready, and no CRM is busy with the upgrade."""
        require(self.modifying)
        return self.tracked == READY and not any(self.crm[v] in (UPGRADE_INIT, INIT, UPGRADE_DONE) for v in CRMS)

    @always
    def hand_over_is_complete(self) -> bool:
        """When the controller believes in v2, v1 is gone, and v2 serves unless it has crashed."""
        require(self.serving == V2)
        return self.crm[V1] == ABSENT and self.crm[V2] in (READY, DOWN, STARTING)

    @always_step
    def states_follow_the_table(self, step: Step) -> bool:
        """The user moves Ready, reports move the rest, and nobody moves UpdateError."""
        require(self.tracked != step.after.tracked)
        if step.action == "user_upgrades":
            return (self.tracked, step.after.tracked) == (READY, UPDATE_REQUESTED)
        heard = (self.tracked, step.arguments.get("v", ""), step.arguments.get("state", ""))
        return step.action == "controller_hears" and HEARD_BY_CONTROLLER.get(heard) == step.after.tracked

    @sometimes
    def upgraded(self) -> bool:
        """The upgrade can succeed, and work goes on with v2."""
        return self.serving == V2 and self.modifying

    @sometimes
    def v2_fails_after_v1_prepared(self) -> bool:
        """An upgrade can fail late."""
        return self.tracked == UPDATE_ERROR and self.crm[V2] == ERROR and self.crm[V1] == UPGRADE_INIT

    @terminal
    def left_to_the_administrator(self) -> bool:
        """A failed upgrade stays as it is."""
        return self.tracked == UPDATE_ERROR

    upgrade_ends = leads_to(
        lambda self: self.tracked in (UPDATE_REQUESTED, UPDATING, UPDATE_DONE),
        lambda self: self.tracked == UPDATE_ERROR or (self.tracked == READY and self.serving == V2),
    )
    modifications_are_done = leads_to(lambda self: self.modifying, lambda self: not self.modifying)
