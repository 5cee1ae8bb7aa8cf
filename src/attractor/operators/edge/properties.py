"""What the edge operator owes its users, as predicates of a world."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attractor.operators.edge.agent import serves
from attractor.operators.edge.driver import APP, CLUSTER, Driver, Found, Ref
from attractor.operators.edge.intents import cluster_status, is_installed, lifecycle_of, status_of, wanted
from attractor.operators.edge.states import Actor, CloudletState, TrackedState
from attractor.operators.edge.types import AppInst, Cloudlet, ClusterInst
from attractor.operators.edge.upgrades import agent_state, cloudlet_status

if TYPE_CHECKING:
    from attractor.check.world import Look
    from attractor.operators.edge.types import Instance

T, C = TrackedState, CloudletState


def instances(world: Look) -> list[Instance]:
    """Every instance."""
    return [*world.list(ClusterInst), *world.list(AppInst)]


def _ref(obj: Instance) -> Ref:
    return Ref(CLUSTER if isinstance(obj, ClusterInst) else APP, *obj.key)


def _truth(world: Look, obj: Instance) -> Found | None:
    found: Found | None = world.external(Driver).there.get(_ref(obj))
    return found


def is_with_agent(obj: Instance) -> bool:
    """Whether the agent is, or may be, at work on an instance."""
    return lifecycle_of(obj).owner(status_of(obj).state) is Actor.CRM


def states_follow_the_tables(before: Look, after: Look) -> bool:
    """Every change of a state is a row of its table; an object that is new, or gone, was and is NotPresent."""
    known = {(_ref(obj), obj.metadata.uid): obj for obj in instances(before)}
    for obj in instances(after):
        old = known.get((_ref(obj), obj.metadata.uid))
        was, now = T.NOT_PRESENT if old is None else status_of(old).state, status_of(obj).state
        if was != now and not any((row.state, row.next) == (was, now) for row in lifecycle_of(obj).steps):
            return False
    return True


def no_app_work_during_its_clusters(world: Look) -> bool:
    """While the agent is asked to work on a cluster, it is not asked to work on an app in it."""
    busy = {cluster.key for cluster in world.list(ClusterInst) if is_with_agent(cluster)}
    return not any(is_with_agent(app) and (app.key.namespace, app.spec.cluster) in busy for app in world.list(AppInst))


def no_app_without_its_cluster(world: Look) -> bool:
    """What runs on the platform runs in a cluster."""
    there: dict[Ref, Found] = world.external(Driver).there
    return all(
        Ref(CLUSTER, ref.namespace, dict(found.settings)["cluster"]) in there
        for ref, found in there.items()
        if ref.kind == APP
    )


def no_deletion_with_apps(world: Look) -> bool:
    """The agent is asked to delete a cluster only when no app is left in it."""
    deleting = {T.DELETE_REQUESTED, T.DELETING}
    return not any(status.state in deleting and status.apps for status in map(cluster_status, world.list(ClusterInst)))


def truth_is_believed(world: Look) -> bool:
    """At rest: what is believed is there, and what is there is what is wished for, or an error says why not."""
    known = {_ref(obj) for obj in instances(world)}
    if any(ref not in known for ref in world.external(Driver).there):
        return False
    return all(_is_true(world, obj) for obj in instances(world))


def _is_true(world: Look, obj: Instance) -> bool:
    status, truth = status_of(obj), _truth(world, obj)
    if obj.metadata.is_deleting:
        return False
    if status.state is T.NOT_PRESENT:
        return truth is None and bool(status.error or _waits(world, obj))
    if status.state is not T.READY or truth is None or not is_installed(status.current, status.target):
        return False
    if status.current is None or dict(truth.settings) != status.current.settings:
        return False
    return bool(status.error) or wanted(obj).settings == status.current.settings


def _waits(world: Look, obj: Instance) -> bool:
    """Whether an app waits for a cluster that is not there."""
    if not isinstance(obj, AppInst):
        return False
    cluster = world.find(ClusterInst, (obj.key.namespace, obj.spec.cluster))
    return cluster is None or cluster_status(cluster).state is T.NOT_PRESENT


# Upgrades


def never_two_serve(world: Look) -> bool:
    """At most one agent works on instances."""
    return all(
        sum(serves(cloudlet, version) for version in cloudlet_status(cloudlet).agents) <= 1
        for cloudlet in world.list(Cloudlet)
    )


def the_old_agent_stays_until_the_new_one_has_come(world: Look) -> bool:
    """Before the upgrade has come to UpgradeDone, the version that serves is not forgotten."""
    for cloudlet in world.list(Cloudlet):
        status = cloudlet_status(cloudlet)
        if status.version and agent_state(status, status.version) is None:
            return False
    return True


def upgrade_has_ended(world: Look) -> bool:
    """The version that is wished for serves, or an error is left for an administrator."""
    for cloudlet in world.list(Cloudlet):
        status = cloudlet_status(cloudlet)
        if status.state is T.UPDATE_ERROR:
            continue
        if status.state is not T.READY or status.version != cloudlet.spec.version:
            return False
        if not serves(cloudlet, status.version):
            return False
    return True
