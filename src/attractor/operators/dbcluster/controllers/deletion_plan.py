"""The plan of a cluster that is being deleted: what goes, in which order, and what stays.

Workloads go first, those that depend on others before the others, and each is waited for; then all else; then the
finalizer. With ``Halt`` the credentials and the data stay, without an owner, for a successor of the same name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attractor.k8s.apps_v1 import StatefulSet
from attractor.k8s.core_v1 import PersistentVolumeClaim, Secret
from attractor.operators.dbcluster.api import validation
from attractor.operators.dbcluster.controllers import names
from attractor.plan import (
    Action,
    Chain,
    DagError,
    DeleteInOrder,
    DoNotTerminate,
    ObjectGraph,
    Plan,
    Ref,
    Snapshot,
    Vertex,
)
from attractor.runtime.toolkit.owners import is_controlled_by

if TYPE_CHECKING:
    from attractor.objects.resource import Resource
    from attractor.operators.dbcluster.api.types import Cluster

_CHILDREN, _DATA = 1000, 1001


def build(cluster: Cluster, snapshot: Snapshot) -> Plan:
    """The next step towards the end."""
    policy = cluster.spec.termination_policy
    leaving = Snapshot(obj for obj in snapshot.values() if _leaves(cluster, obj))
    return Plan.build(
        ObjectGraph(cluster),
        Chain(
            [
                DoNotTerminate(policy == "DoNotTerminate"),
                DeleteInOrder(leaving, rank=lambda obj: _rank(cluster, obj)),
                lambda graph: _let_go(graph, snapshot, leaving),
            ]
        ),
    )


def _leaves(cluster: Cluster, obj: Resource) -> bool:
    """Return whether the policy lets an object go with its cluster."""
    match cluster.spec.termination_policy:
        case "WipeOut":
            return True
        case "Delete":
            is_of_a_component = cluster.component(obj.metadata.labels.get(names.COMPONENT, "")) is not None
            return is_controlled_by(obj, cluster) or (isinstance(obj, PersistentVolumeClaim) and is_of_a_component)
        case "Halt" | "DoNotTerminate":
            return is_controlled_by(obj, cluster) and not isinstance(obj, Secret)


def _rank(cluster: Cluster, obj: Resource) -> int:
    """Return an object's rank in the deletion: workloads by dependency, then all else, then secrets and data."""
    if isinstance(obj, StatefulSet):
        try:
            order = validation.dependencies(cluster).topological()
        except DagError:
            order = []
        name = obj.metadata.labels.get(names.COMPONENT, "")
        return order.index(name) if name in order else len(order)
    return _DATA if isinstance(obj, Secret | PersistentVolumeClaim) else _CHILDREN


def _let_go(graph: ObjectGraph, snapshot: Snapshot, leaving: Snapshot) -> None:
    """Once nothing is left that has to go: make what stays nobody's, and then let the cluster go."""
    if leaving:
        return
    cluster = graph.root_object
    for secret in snapshot.of(Secret):
        if is_controlled_by(secret, cluster):
            freed = secret.deep_copy()
            freed.metadata.owner_references = [
                owner for owner in freed.metadata.owner_references if owner.uid != cluster.metadata.uid
            ]
            graph.put(Vertex(Ref.of(secret), secret, freed, Action.UPDATE, reason="it is kept for a successor"))
    ended = cluster.deep_copy()
    ended.metadata.finalizers = [name for name in ended.metadata.finalizers if name != names.FINALIZER]
    graph.change(graph.root, after=ended, action=Action.UPDATE, reason="nothing is left")
