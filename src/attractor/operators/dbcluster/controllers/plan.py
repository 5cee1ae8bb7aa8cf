"""The plan of a living cluster: from what is wanted and what is there to what is done.

Each rule of the operator is one transformer, and the order of work is in the graph, not in the code: credentials before
everything, configuration before the workload that reads it, a component after those that it depends on, and what is no
longer wanted at the very end, once nothing uses it any more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from attractor.k8s.apps_v1 import ControllerRevision, StatefulSet
from attractor.k8s.core_v1 import ConfigMap, PersistentVolumeClaim, Secret, Service, ServiceAccount
from attractor.k8s.policy_v1 import PodDisruptionBudget
from attractor.objects.quantity import Quantity
from attractor.operators.dbcluster.api import validation
from attractor.operators.dbcluster.controllers import names
from attractor.operators.dbcluster.controllers import objects as rendering
from attractor.plan import (
    Action,
    Chain,
    Compare,
    Freeze,
    History,
    ObjectGraph,
    Own,
    Plan,
    Ref,
    RemoveOrphans,
    SecretsFirst,
    Snapshot,
    Validate,
    Vertex,
)
from attractor.runtime.toolkit.owners import set_controller

if TYPE_CHECKING:
    from attractor.objects.gvk import Key
    from attractor.objects.resource import Resource
    from attractor.operators.dbcluster.api.types import Cluster, Component
    from attractor.plan import Transformer

KINDS: tuple[type[Resource], ...] = (
    Secret,
    ConfigMap,
    ControllerRevision,
    PersistentVolumeClaim,
    PodDisruptionBudget,
    Service,
    ServiceAccount,
    StatefulSet,
)
"""Everything that belongs to a cluster; secrets are looked at first."""


class Inputs(NamedTuple):
    """All that a plan is made from."""

    cluster: Cluster
    snapshot: Snapshot
    secrets: tuple[Secret, ...]
    """Secrets that are wanted: stored ones as they are, missing ones as they would be created."""


def missing_secrets(cluster: Cluster, snapshot: Snapshot) -> list[Key]:
    """The secrets that have to be made: the only thing about a plan that is random."""
    wanted = [names.credentials_key(cluster)]
    wanted += [names.tls_key(cluster, one) for one in cluster.spec.components if one.tls]
    return [key for key in wanted if snapshot.find(Secret, key) is None]


def as_wanted(snapshot: Snapshot, key: Key) -> Secret:
    """A stored secret, wanted just as it is."""
    stored = snapshot.find(Secret, key)
    assert stored is not None, f"Secret {key} is in the snapshot"
    wanted = stored.deep_copy()
    wanted.metadata.owner_references = []
    return wanted


def build(inputs: Inputs) -> Plan:
    """The plan, without the status. Raises ``Refused`` when the Cluster asks for what cannot be."""
    return Plan.build(ObjectGraph(inputs.cluster), Chain(transformers(inputs)))


def transformers(inputs: Inputs) -> list[Transformer]:
    """The rules of the operator, in the order in which they are applied."""
    cluster, snapshot, _ = inputs
    return [
        Validate(lambda: validation.problems(cluster)),
        Render(inputs),
        Own(names.labels(cluster)),
        Freeze(),
        Compare(snapshot),
        Adopt(),
        Roll(cluster),
        GrowClaims(inputs),
        RemoveOrphans(snapshot, keep=lambda obj: is_kept(cluster, obj), after=is_needed_until),
        SecretsFirst(),
    ]


@dataclass(frozen=True)
class Render:
    """Puts all that is wanted into the graph, each workload above what it reads."""

    inputs: Inputs

    def __call__(self, graph: ObjectGraph) -> None:
        """Add the objects of the cluster and of each component."""
        cluster, snapshot, secrets = self.inputs
        for secret in secrets:
            graph.want(secret)
        account = graph.want(rendering.account(cluster))
        for component in cluster.spec.components:
            config, headless, workload, budget = rendering.component_objects(cluster, component)
            below = [graph.want(config), graph.want(headless), account]
            graph.depend(graph.want(workload), *below)
            if budget is not None:
                graph.want(budget)
        for service in cluster.spec.services:
            reached = cluster.component(service.component)
            if reached is not None:
                graph.want(rendering.service(cluster, service, reached))
        self._remember(graph, cluster, snapshot)

    def _remember(self, graph: ObjectGraph, cluster: Cluster, snapshot: Snapshot) -> None:
        """The specs that can be gone back to; a pause is not part of a spec worth going back to."""
        limit = cluster.spec.revision_history_limit
        if not limit:
            return
        spec = {name: value for name, value in cluster.to_dict()["spec"].items() if name != "paused"}
        for revision in History(snapshot.of(ControllerRevision)).with_current(cluster, spec, limit):
            graph.want(revision)


@dataclass(frozen=True)
class Adopt:
    """Secrets that an earlier cluster of this name has left become this one's, as they are."""

    def __call__(self, graph: ObjectGraph) -> None:
        """Give each secret without an owner its owner."""
        for vertex in graph.select(Secret, when=lambda vertex: vertex.before is not None):
            assert vertex.before is not None
            if vertex.before.metadata.controller is None and not vertex.before.metadata.is_deleting:
                adopted = vertex.before.deep_copy()
                set_controller(graph.root_object, adopted)
                reason = "an earlier cluster of this name has left it"
                graph.change(vertex.ref, after=adopted, action=Action.UPDATE, reason=reason)


@dataclass(frozen=True)
class Roll:
    """A component's workload comes after those that it depends on have rolled out; until then they are awaited."""

    cluster: Cluster

    def __call__(self, graph: ObjectGraph) -> None:
        """Order the workloads and mark those that are on their way."""
        for component in self.cluster.spec.components:
            ref = workload_ref(self.cluster, component)
            others = (self.cluster.component(name) for name in component.depends_on)
            graph.depend(ref, *(workload_ref(self.cluster, other) for other in others if other is not None))
            if not is_rolled_out(graph[ref]):
                graph.change(ref, is_awaited=True, reason="its pods have to be ready before others change")


@dataclass(frozen=True)
class GrowClaims:
    """Claims grow to what their component asks for; they never shrink."""

    inputs: Inputs

    def __call__(self, graph: ObjectGraph) -> None:
        """Add a patch for each claim that is too small."""
        for claim in self.inputs.snapshot.of(PersistentVolumeClaim):
            component = self.inputs.cluster.component(claim.metadata.labels.get(names.COMPONENT, ""))
            if component is None or claim.metadata.is_deleting:
                continue
            stored = Quantity.parse(str(claim.spec.resources.requests.get("storage", "0")))
            if stored < Quantity.parse(component.storage):
                graph.put(Vertex(Ref.of(claim), claim, rendering.claim_for(claim, component.storage), Action.PATCH))


def workload_ref(cluster: Cluster, component: Component) -> Ref:
    """The vertex of a component's StatefulSet."""
    return Ref(StatefulSet, names.workload_key(cluster, component))


def is_rolled_out(vertex: Vertex) -> bool:
    """Return whether a workload is as wanted and every pod of it runs and is ready."""
    stored = vertex.before
    if vertex.action is not Action.NONE or not isinstance(stored, StatefulSet) or stored.metadata.is_deleting:
        return False
    status, replicas = stored.status, stored.spec.replicas or 0
    return (
        status.observed_generation >= stored.metadata.generation
        and status.replicas == status.ready_replicas == status.updated_replicas == replicas
    )


def is_kept(cluster: Cluster, obj: Resource) -> bool:
    """Return whether an object stays although it is not wanted: data in use, or that is to outlive its component."""
    if not isinstance(obj, PersistentVolumeClaim):
        return False
    is_used = cluster.component(obj.metadata.labels.get(names.COMPONENT, "")) is not None
    return is_used or cluster.spec.termination_policy in {"DoNotTerminate", "Halt"}


def is_needed_until(wanted: Vertex, orphan: Resource) -> bool:
    """Return whether an orphan may still be in use until a wanted object has been written and rolled out."""
    return isinstance(orphan, ConfigMap | Secret) and wanted.ref.kind is StatefulSet
