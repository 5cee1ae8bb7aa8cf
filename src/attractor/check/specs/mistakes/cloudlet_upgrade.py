"""Mistakes in handing over from an old version to a new one."""

from __future__ import annotations

from typing import ClassVar

from attractor.check import constant, require
from attractor.check.specs.cloudlet_upgrade import (
    ABSENT,
    HEARD_BY_V1,
    HEARD_BY_V2,
    READY,
    STARTING,
    UPDATE_DONE,
    UPDATING,
    UPGRADE_INIT,
    V1,
    V2,
    CloudletUpgrade,
)


class ModifiesInUpdateDone(CloudletUpgrade):
    """UpdateDone is missing in the list of states that block modifications."""

    def may_modify(self) -> bool:
        """Almost ready is not ready."""
        return self.tracked in (READY, UPDATE_DONE)


class OldVersionSurvives(CloudletUpgrade):
    """The new CRM takes over without removing the old one."""

    def remove_v1(self) -> None:
        """Leave it."""


class OldVersionServesAfterRestart(CloudletUpgrade):
    """The new CRM does not remove the old one, and an old one that restarts takes up its work."""

    crm_crashes: int = constant(1)
    HEARD: ClassVar[dict[str, dict[tuple[str, str], str]]] = {
        V1: {**HEARD_BY_V1, (STARTING, UPDATE_DONE): READY},
        V2: HEARD_BY_V2,
    }

    def remove_v1(self) -> None:
        """Leave it."""


class BringsUpV2TooEarly(CloudletUpgrade):
    """The old CRM does not wait until the controller has heard that it is ready to upgrade."""

    disconnects: int = constant(1)

    def v1_brings_up_v2(self) -> None:
        """Start the new one right away."""
        require(self.crm[V1] == UPGRADE_INIT and self.crm[V2] == ABSENT)
        self.crm[V2] = STARTING
        self.tell_news(V2)

    HEARD: ClassVar[dict[str, dict[tuple[str, str], str]]] = {
        V1: HEARD_BY_V1,
        V2: {**HEARD_BY_V2, (STARTING, "UpdateRequested"): "Init"},
    }


class RestartedV1ForgetsTheUpgrade(CloudletUpgrade):
    """A CRM that crashed during the upgrade comes up as if nothing had been asked of it."""

    crm_crashes: int = constant(1)
    HEARD: ClassVar[dict[str, dict[tuple[str, str], str]]] = {
        V1: {**HEARD_BY_V1, (STARTING, UPDATING): READY},
        V2: HEARD_BY_V2,
    }


class TrustsItsOwnState(CloudletUpgrade):
    """After a reconnect only the controller speaks; what the CRMs had reported in vain is not said again."""

    disconnects: int = constant(1)

    def reconnect(self) -> None:
        """Announce, and do not report."""
        require(not self.connected)
        self.connected = True
        self.announce()


class RemovesV1BeforeV2IsUp(CloudletUpgrade):
    """The old CRM starts the new one and goes, before it is known whether the new one can take over."""

    def v1_brings_up_v2(self) -> None:
        """Start it, and leave."""
        super().v1_brings_up_v2()
        self.remove_v1()

    def v2_fails(self) -> None:
        """A new CRM that cannot start is gone again."""
        require(self.crm[V2] == "Init")
        self.crm[V2] = ABSENT
        self.hang_up(V2)


class V2ServesBeforeItIsAcknowledged(CloudletUpgrade):
    """The new CRM serves as soon as it has taken over; the controller never hears UpgradeDone from it."""

    def v2_takes_over(self) -> None:
        """Skip UpgradeDone."""
        require(self.crm[V2] == "Init")
        self.remove_v1()
        self.become(V2, READY)


class UpgradesWhileModifying(CloudletUpgrade):
    """The upgrade may start in the middle of a modification."""

    def user_upgrades(self) -> None:
        """Do not look."""
        require(self.tracked == READY and self.serving == V1)
        self.track("UpdateRequested")
