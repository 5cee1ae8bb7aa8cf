"""Mistakes between a cluster and the app that lives in it."""

from __future__ import annotations

from attractor.check import require
from attractor.check.specs.appinst import APP, CLUSTER, AppInst
from attractor.check.specs.clusterinst import (
    CREATE_REQUESTED,
    CREATING,
    DELETE_PREPARE,
    DELETE_REQUESTED,
    DELETING,
    NOT_PRESENT,
    READY,
)


class ChecksTheClusterTooEarly(AppInst):
    """That the cluster is ready is checked before the transaction which commits the app, and may no longer be true in
    it: a cluster that was ready once is enough."""

    def user_creates(self, i: str) -> None:
        """Look whether the cluster was ever there."""
        require(i == CLUSTER or self.tracked[CLUSTER].state not in (NOT_PRESENT, CREATE_REQUESTED, CREATING))
        super(AppInst, self).user_creates(i)


class DeletesTheClusterFirst(AppInst):
    """The CRM is asked to delete the cluster while its app is still there."""

    def prepared(self, i: str) -> None:
        """Do not wait for the app."""
        super(AppInst, self).prepared(i)


class UpdatesClusterUnderApp(AppInst):
    """A cluster may be updated while its app is being created in it."""

    def user_updates(self, i: str) -> None:
        """Each instance is looked at alone."""
        super(AppInst, self).user_updates(i)


class WaitsForTheAppForEver(AppInst):
    """If the app cannot be deleted, its cluster stays in DeletePrepare."""

    def cannot_prepare(self) -> None:
        """Never give up."""
        require(False)


class RetriesTheAppForEver(AppInst):
    """If the app cannot be deleted, its deletion is tried again at once, for ever."""

    def delete_dependent(self) -> None:
        """Try again, within the same operation so that the specification stays finite."""
        require(self.tracked[CLUSTER].state == DELETE_PREPARE and self.tracked[APP].state == READY)
        if self.tried:
            self.tracked[APP] = self.tracked[APP].but(state=DELETE_PREPARE, wanted=0)
            self.agent[APP] = self.agent[APP].but(op=0, info=None)
        else:
            self.tried = True
            self.begin(APP, DELETE_PREPARE)

    def cannot_prepare(self) -> None:
        """Never give up."""
        require(False)


class DyingClustersAreReady(AppInst):
    """A cluster that is being deleted counts as usable until it is gone."""

    def cluster_is_ready(self) -> bool:
        """It has been ready, and is still there."""
        return self.tracked[CLUSTER].state in (READY, DELETE_PREPARE, DELETE_REQUESTED, DELETING)
