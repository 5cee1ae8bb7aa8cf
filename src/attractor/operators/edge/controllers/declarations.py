"""Declarations of the coordinator's controllers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attractor.objects.gvk import Key
from attractor.operators.edge.api.access import ACCESS
from attractor.operators.edge.api.types import AppInst, Cloudlet, ClusterInst
from attractor.operators.edge.controllers import coordinator, upgrades
from attractor.operators.edge.controllers.overdue import OVERDUE
from attractor.operators.edge.controllers.presence import PRESENCE
from attractor.runtime import Index, Watches, controller

if TYPE_CHECKING:
    from attractor.runtime import Controller

BY_CLOUDLET, BY_CLUSTER = "cloudlet", "cluster"


def _cloudlet_of(obj: ClusterInst | AppInst) -> list[str]:
    return [f"{obj.metadata.namespace}/{obj.metadata.namespace}"]


def _cluster_of(app: AppInst) -> list[str]:
    return [f"{app.metadata.namespace}/{app.spec.cluster}"]


def _cluster_key(app: AppInst) -> list[Key]:
    return [Key(app.metadata.namespace, app.spec.cluster)]


def _cloudlet_key(obj: ClusterInst | AppInst) -> list[Key]:
    return [Key(obj.metadata.namespace, obj.metadata.namespace)]


CLUSTERS: Controller = controller(
    coordinator.clusters,
    name="clusterinsts",
    for_=ClusterInst,
    watches=[Watches(Cloudlet, index=BY_CLOUDLET), Watches(AppInst, to_keys=_cluster_key)],
    indexes=[Index(ClusterInst, BY_CLOUDLET, _cloudlet_of)],
    workers=4,
)
APPS: Controller = controller(
    coordinator.apps,
    name="appinsts",
    for_=AppInst,
    watches=[Watches(Cloudlet, index=BY_CLOUDLET), Watches(ClusterInst, index=BY_CLUSTER)],
    indexes=[Index(AppInst, BY_CLOUDLET, _cloudlet_of), Index(AppInst, BY_CLUSTER, _cluster_of)],
    workers=4,
)
CLOUDLETS: Controller = controller(
    upgrades.cloudlets,
    name="cloudlets",
    for_=Cloudlet,
    watches=[Watches(ClusterInst, to_keys=_cloudlet_key), Watches(AppInst, to_keys=_cloudlet_key)],
    workers=4,
)
CONTROLLERS: tuple[Controller, ...] = (CLOUDLETS, CLUSTERS, APPS, ACCESS, PRESENCE, *OVERDUE)
"""The coordinator, as ``Manager`` runs it."""
