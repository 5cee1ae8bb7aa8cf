"""Properties of the database operator, decided by the checker on the operator itself.

    World(controllers=[clusters, ready_workloads], objects=[cluster], users=[...], faults=Faults(crash=1),
          externals={Entropy: EntropyModel()}, properties=promises())

``EntropyModel`` stands for the outside source of passwords, ``ready_workloads`` for a kubelet.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from attractor.check import always, eventually_stable
from attractor.check.world.api.state import store_key
from attractor.check.world.simulation.server.storage import uid_of
from attractor.k8s.apps_v1 import StatefulSet
from attractor.k8s.core_v1 import ConfigMap, PersistentVolumeClaim, Secret
from attractor.operators.dbcluster.api.types import Cluster
from attractor.operators.dbcluster.controllers import names
from attractor.operators.dbcluster.controllers import objects as rendering
from attractor.operators.dbcluster.controllers import plan as planning
from attractor.operators.dbcluster.controllers.entropy import Certificate
from attractor.operators.dbcluster.controllers.plan import KINDS
from attractor.operators.dbcluster.controllers.status import NO_TIME, tell
from attractor.plan import Snapshot
from attractor.plan.comparison import marked
from attractor.runtime import Context, Key, Result, controller
from attractor.runtime.toolkit.children import hashed_name
from attractor.runtime.toolkit.owners import is_controlled_by

if TYPE_CHECKING:
    from attractor.check import WorldProperty, WorldState
    from attractor.objects.resource import Resource

MOST = 3
"""Passwords beyond this number are told apart no more, so that there are finitely many."""


class EntropyModel:
    """Each password differs from the one before it."""

    def __init__(self) -> None:
        self.count = 0

    def password(self, length: int) -> str:
        """The next password."""
        self.count = min(self.count + 1, MOST)
        return f"password-{self.count}"

    def certificate(self, name: str, alternatives: tuple[str, ...]) -> Certificate:
        """The next certificate."""
        self.count = min(self.count + 1, MOST)
        return Certificate(f"certificate-{self.count}", f"key-{self.count}")


@controller(for_=StatefulSet)
async def ready_workloads(ctx: Context, key: Key) -> Result | None:
    """A kubelet that needs no time: whatever a StatefulSet asks for is there and ready."""
    stored = await ctx.find(StatefulSet, key)
    if stored is None or stored.metadata.is_deleting:
        return None
    ready = stored.deep_copy()
    _make_ready(ready)
    if ready.status != stored.status:
        await ctx.patch_from(stored, ready, subresource="status")
    return None


def promises() -> list[WorldProperty]:
    """All of them."""
    return [
        always(credentials_come_before_all_else),
        always(credentials_stay_the_same),
        always(configuration_is_never_updated),
        always(workloads_find_their_configuration),
        eventually_stable(everything_is_as_wanted, name="eventually as wanted, and no orphan"),
    ]


def settled(cluster: Cluster) -> list[Resource]:
    """A cluster that has been running for long, with all that it consists of: where a world may begin."""
    made = cluster.deep_copy()
    made.metadata.uid = uid_of(store_key(Cluster, cluster.key), 1)
    made.metadata.finalizers = [names.FINALIZER]
    made.metadata.generation = 1
    secret = rendering.credentials(made, "password-0")
    plan = planning.build(planning.Inputs(made, Snapshot(), (secret,)))
    objects = [marked(vertex.object) for vertex in plan.changes]
    for workload in objects:
        if isinstance(workload, StatefulSet):
            _make_ready(workload)
            workload.metadata.generation = workload.status.observed_generation = 1
    after = planning.build(planning.Inputs(made, Snapshot(objects), (secret,)))
    tell(after, NO_TIME)
    made.status = cast("Cluster", after.graph[after.graph.root].object).status
    return [made, *objects]


def _make_ready(workload: StatefulSet) -> None:
    workload.status.observed_generation = workload.metadata.generation
    replicas = workload.spec.replicas or 0
    workload.status.replicas = workload.status.ready_replicas = workload.status.updated_replicas = replicas


def belongings(look: WorldState) -> list[Resource]:
    """All that clusters consist of."""
    found = [obj for kind in KINDS for obj in look.list(kind)]
    return [obj for obj in found if obj.metadata.labels.get(names.MANAGED_BY) == names.OPERATOR]


def credentials_come_before_all_else(look: WorldState) -> bool:
    """While a cluster lives, nothing of it is there without its credentials."""
    for cluster in look.list(Cluster):
        if not cluster.metadata.is_deleting and look.find(Secret, names.credentials_key(cluster)) is None:
            return not any(is_controlled_by(obj, cluster) for obj in belongings(look))
    return True


def credentials_stay_the_same(look: WorldState) -> bool:
    """A cluster's credentials are the first that were stored: the Secret is immutable, and was never replaced."""
    found = [look.find(Secret, names.credentials_key(cluster)) for cluster in look.list(Cluster)]
    return all(secret is None or (secret.immutable is True and is_first(secret)) for secret in found)


def is_first(obj: Resource) -> bool:
    """Return whether an object is the first of its kind and name; a world's uids tell incarnations apart."""
    return obj.metadata.uid == uid_of(store_key(type(obj), obj.key), 1)


def configuration_is_never_updated(look: WorldState) -> bool:
    """Each ConfigMap holds what its name stands for, and says that it is immutable."""
    return all(
        obj.immutable is True and obj.metadata.name == hashed_name(obj.metadata.name.rpartition("-")[0], obj.data)
        for obj in look.list(ConfigMap)
        if obj.metadata.labels.get(names.MANAGED_BY) == names.OPERATOR
    )


def workloads_find_their_configuration(look: WorldState) -> bool:
    """The ConfigMaps that a StatefulSet of a living cluster mounts exist."""
    for workload in look.list(StatefulSet):
        owner = workload.metadata.controller
        cluster = None if owner is None else look.find(Cluster, (workload.metadata.namespace, owner.name))
        if cluster is None or cluster.metadata.is_deleting:
            continue
        for volume in workload.spec.template.spec.volumes:
            if volume.config_map is not None:
                key = (workload.metadata.namespace, volume.config_map.name)
                if look.find(ConfigMap, key) is None:
                    return False
    return True


def everything_is_as_wanted(look: WorldState) -> bool:
    """Each cluster has what its spec asks for and nothing else, and says so; a deleted one is gone, with all it had."""
    wanted: set[tuple[str, Key]] = set()
    for cluster in look.list(Cluster):
        if cluster.metadata.is_deleting or cluster.status.phase != "Running":
            return False
        if cluster.status.observed_generation != cluster.metadata.generation:
            return False
        wanted |= wanted_refs(cluster)
        if not all(_is_current(look, cluster, name) for name in (one.name for one in cluster.spec.components)):
            return False
    found = {(obj.kind, obj.key) for obj in belongings(look) if not _outlives(obj)}
    return {ref for ref in found if ref[0] != "ControllerRevision"} == wanted


def wanted_refs(cluster: Cluster) -> set[tuple[str, Key]]:
    """Kind and key of all that a cluster should consist of, revisions and claims excepted."""
    wanted: list[Resource] = [rendering.credentials(cluster, ""), rendering.account(cluster)]
    for component in cluster.spec.components:
        wanted += [obj for obj in rendering.component_objects(cluster, component) if obj is not None]
        if component.tls:
            wanted.append(rendering.certificate(cluster, component, Certificate("", "")))
    for service in cluster.spec.services:
        reached = cluster.component(service.component)
        if reached is not None:
            wanted.append(rendering.service(cluster, service, reached))
    return {(obj.kind, obj.key) for obj in wanted}


def _is_current(look: WorldState, cluster: Cluster, name: str) -> bool:
    """Return whether a component's workload is the one that its spec asks for."""
    component = cluster.component(name)
    assert component is not None
    stored = look.find(StatefulSet, names.workload_key(cluster, component))
    desired = rendering.component_objects(cluster, component).workload
    if stored is None or stored.spec.replicas != desired.spec.replicas:
        return False
    volumes = [volume.config_map.name for volume in stored.spec.template.spec.volumes if volume.config_map is not None]
    wanted = [volume.config_map.name for volume in desired.spec.template.spec.volumes if volume.config_map is not None]
    images = [one.spec.template.spec.containers[0].image for one in (stored, desired)]
    return volumes == wanted and images[0] == images[1]


def _outlives(obj: Resource) -> bool:
    """Return whether an object may outlive its cluster: claims may, and secrets that nobody owns."""
    return isinstance(obj, PersistentVolumeClaim) or (isinstance(obj, Secret) and obj.metadata.controller is None)
