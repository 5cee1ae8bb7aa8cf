"""An AppInst lives in a ClusterInst: two state machines of ``clusterinst``, and what the one owes to the other.

An app may only be created in a cluster that is ready; the two are checked and committed in one transaction of the
controller. A cluster that is to be deleted first passes through DeletePrepare: its app is deleted on the user's behalf,
and only then is the CRM asked to delete the cluster. If the app cannot be deleted, the cluster is Ready again.
"""

from __future__ import annotations

from typing import ClassVar

from attractor.check import action, always, require, sometimes, var
from attractor.check.specs.clusterinst import (
    CONTROLLER,
    DELETE_PREPARE,
    NOT_PRESENT,
    READY,
    STABLE,
    USER,
    ClusterInst,
    instances,
)

CLUSTER, APP = "cluster", "app"


class AppInst(ClusterInst):
    """A cluster and an app in it; the user's ``operations`` wishes are for either."""

    INSTANCES: ClassVar[tuple[str, ...]] = (CLUSTER, APP)
    ACTORS: ClassVar[dict[str, str]] = {**ClusterInst.ACTORS, "delete_dependent": USER, "cannot_prepare": CONTROLLER}

    tried: bool = var(False)  # to delete the app, for the sake of the deletion of its cluster

    # The user's wishes, with what the controller checks in the same transaction

    @action(i=instances)
    def user_creates(self, i: str) -> None:
        """An app needs a cluster that is ready."""
        require(i == CLUSTER or self.cluster_is_ready())
        super().user_creates(i)

    @action(i=instances)
    def user_updates(self, i: str) -> None:
        """An app is updated only in a ready cluster, a cluster only while its app does not change."""
        require(self.cluster_is_ready() if i == APP else self.tracked[APP].state in STABLE)
        super().user_updates(i)

    @action(i=instances)
    def user_deletes(self, i: str) -> None:
        """An app is deleted only from a ready cluster, a cluster only while its app does not change."""
        require(self.cluster_is_ready() if i == APP else self.tracked[APP].state in STABLE)
        super().user_deletes(i)

    def cluster_is_ready(self) -> bool:
        """The cluster can be built upon."""
        return self.tracked[CLUSTER].state == READY

    # Deleting a cluster

    @action(fair="weak")
    def delete_dependent(self) -> None:
        """The controller deletes the app on behalf of the user who deletes its cluster."""
        require(self.tracked[CLUSTER].state == DELETE_PREPARE and self.tracked[APP].state == READY and not self.tried)
        self.tried = True
        self.begin(APP, DELETE_PREPARE)

    @action(i=instances, fair="weak")
    def prepared(self, i: str) -> None:
        """The cluster waits until its app is gone."""
        require(i == APP or self.tracked[APP].state == NOT_PRESENT)
        if i == CLUSTER:
            self.tried = False
        super().prepared(i)

    @action(fair="weak")
    def cannot_prepare(self) -> None:
        """The app is still there, though its deletion was tried: the cluster stays."""
        require(self.tracked[CLUSTER].state == DELETE_PREPARE and self.tracked[APP].state == READY and self.tried)
        self.tried = False
        self.tracked[CLUSTER] = self.tracked[CLUSTER].but(state=READY, wanted=self.tracked[CLUSTER].kept)

    # What we expect, beyond what each instance owes

    @always
    def no_app_without_its_cluster(self) -> bool:
        """What is on the platform is in a cluster."""
        require(self.platform[APP])
        return self.platform[CLUSTER] != 0

    @always
    def no_dependent_work_in_parallel(self) -> bool:
        """The CRM never works on a cluster and on its app at once."""
        return self.agent[CLUSTER].job is None or self.agent[APP].job is None

    @sometimes
    def app_is_deleted_for_its_cluster(self) -> bool:
        """The dependent goes first."""
        return self.tracked[CLUSTER].state == DELETE_PREPARE and self.tracked[APP].state == NOT_PRESENT and self.tried

    @sometimes
    def cluster_stays_for_its_app(self) -> bool:
        """An app that cannot be deleted keeps its cluster."""
        return self.tracked[CLUSTER].state == READY and self.tracked[CLUSTER].op > self.tracked[CLUSTER].wanted > 0
