"""Properties of the edge operator, as predicates of a world; for each there is a wrong operator in the tests.

Safety: states move along the tables, each moved by its owner; one operation at a time; the platform changes only as the
operation in progress asks; no app is worked on during its cluster's operation. At rest: every request has ended, and
what is believed is true. ``upgrade_properties`` has the claims about upgrades.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attractor.operators.edge.api.intents import (
    DELETIONS,
    cluster_status,
    is_installed,
    lifecycle_of,
    status_of,
    wanted,
    wish,
)
from attractor.operators.edge.api.states import Actor, TrackedState
from attractor.operators.edge.api.types import AppInst, ClusterInst
from attractor.operators.edge.drivers.protocols import APP, CLUSTER, Driver, Found, Ref

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attractor.check import WorldState
    from attractor.operators.edge.api.types import Instance

T = TrackedState
AGENTS = "agent"
"""How the names of hosts begin that run an agent; the others run a coordinator."""


def instances(world: WorldState) -> list[Instance]:
    """Every instance."""
    return [*world.list(ClusterInst), *world.list(AppInst)]


def ref_of(obj: Instance) -> Ref:
    """An instance on the platform."""
    return Ref(CLUSTER if isinstance(obj, ClusterInst) else APP, *obj.key)


def there(world: WorldState) -> dict[Ref, Found]:
    """Return the instances on the platform."""
    found: dict[Ref, Found] = world.external(Driver).there
    return found


def is_with_agent(obj: Instance) -> bool:
    """Return whether the agent is, or may be, at work on an instance."""
    return lifecycle_of(obj).owner(status_of(obj).state) is Actor.CRM


def actors_of(host: str) -> frozenset[Actor]:
    """Return whom a host acts as: an agent, or a coordinator, which also acts for users."""
    return frozenset({Actor.CRM} if host.startswith(AGENTS) else {Actor.USER, Actor.CONTROLLER})


def _same(before: WorldState, after: WorldState) -> Iterator[tuple[Instance | None, Instance]]:
    """Every instance after a step, with what it was before; None when it is new."""
    known = {(ref_of(obj), obj.metadata.uid): obj for obj in instances(before)}
    for obj in instances(after):
        yield known.get((ref_of(obj), obj.metadata.uid)), obj


# The tables


def states_follow_the_tables(before: WorldState, after: WorldState) -> bool:
    """Every change of a state is a row of its table; an object that is new, or gone, was and is NotPresent."""
    for old, obj in _same(before, after):
        was, now = T.NOT_PRESENT if old is None else status_of(old).state, status_of(obj).state
        if was != now and not any((row.state, row.next) == (was, now) for row in lifecycle_of(obj).steps):
            return False
    return True


def states_are_moved_by_their_owners(before: WorldState, after: WorldState, host: str) -> bool:
    """A state is moved by its owner only; each other field has one writer, too."""
    actors = actors_of(host)
    for old, obj in _same(before, after):
        if old is None:
            continue
        was, now = status_of(old), status_of(obj)
        if was.state != now.state and lifecycle_of(obj).owner(was.state) not in actors:
            return False
        if was.current != now.current and Actor.CRM not in actors:
            return False
        if (was.target, was.operation) != (now.target, now.operation) and Actor.CONTROLLER not in actors:
            return False
    return True


# One operation at a time


def no_two_operations_on_one_key(before: WorldState, after: WorldState) -> bool:
    """An operation begins only when the one before has ended; until then its number and what it leads to stay."""
    for old, obj in _same(before, after):
        if old is None or status_of(old).state in lifecycle_of(old).resting:
            continue
        was, now = status_of(old), status_of(obj)
        if was.operation != now.operation or (is_with_agent(old) and is_with_agent(obj) and was.target != now.target):
            return False
    return True


def the_platform_changes_only_as_asked(before: WorldState, after: WorldState) -> bool:
    """Something comes or changes only into the target of the operation in progress; it goes only in a deletion, or
    where nothing should be. (What dies by itself is no step of an agent: leave ``outside`` out.)"""
    was, now = there(before), there(after)
    known = {ref_of(obj): obj for obj in instances(before)}
    for ref in was.keys() | now.keys():
        if was.get(ref) == now.get(ref):
            continue
        obj, found = known.get(ref), now.get(ref)
        if not (_may_go(obj) if found is None else _may_be(obj, found)):
            return False
    return True


def _may_be(obj: Instance | None, found: Found) -> bool:
    """Return whether the operation in progress asks for what was found."""
    if obj is None or not is_with_agent(obj):
        return False
    target = status_of(obj).target
    return target is not None and (target.generation, target.settings) == (found.generation, dict(found.settings))


def _may_go(obj: Instance | None) -> bool:
    nothing = {T.NOT_PRESENT, T.CREATE_REQUESTED}
    return obj is None or status_of(obj).state in DELETIONS | nothing


# Apps and their clusters


def no_app_work_during_its_clusters(world: WorldState) -> bool:
    """While the agent is asked to work on a cluster, it is not asked to work on an app in it."""
    busy = {cluster.key for cluster in world.list(ClusterInst) if is_with_agent(cluster)}
    return not any(is_with_agent(app) and (app.key.namespace, app.spec.cluster) in busy for app in world.list(AppInst))


def no_app_without_its_cluster(world: WorldState) -> bool:
    """An app on the platform runs in a cluster."""
    found = there(world)
    return all(
        Ref(CLUSTER, ref.namespace, dict(each.settings)["cluster"]) in found
        for ref, each in found.items()
        if ref.kind == APP
    )


def no_deletion_with_apps(world: WorldState) -> bool:
    """The agent is asked to delete a cluster only when no app is left in it."""
    return not any(status.state in DELETIONS and status.apps for status in map(cluster_status, world.list(ClusterInst)))


# At rest


def every_request_has_ended(world: WorldState) -> bool:
    """Each instance is Ready or NotPresent and as it was wished for, or says why not; what was deleted is gone."""
    return all(_has_ended(world, obj) for obj in instances(world))


def _has_ended(world: WorldState, obj: Instance) -> bool:
    status = status_of(obj)
    if obj.metadata.is_deleting or status.state not in lifecycle_of(obj).resting:
        return False
    if _waits(world, obj):
        return bool(status.message)
    if wish(obj):
        return False
    return bool(status.error) or (status.target is not None and wanted(obj).settings == status.target.settings)


def _waits(world: WorldState, obj: Instance) -> bool:
    """Return whether an app waits for a cluster that is not there."""
    if not isinstance(obj, AppInst) or status_of(obj).state is not T.NOT_PRESENT:
        return False
    cluster = world.find(ClusterInst, (obj.key.namespace, obj.spec.cluster))
    return cluster is None or cluster_status(cluster).state is T.NOT_PRESENT


def nothing_is_there_that_nobody_has(world: WorldState) -> bool:
    """Every instance on the platform has an object."""
    return there(world).keys() <= {ref_of(obj) for obj in instances(world)}


def what_is_believed_is_true(world: WorldState) -> bool:
    """The coordinator's belief about every instance is what is on the platform, and nothing else is there."""
    return nothing_is_there_that_nobody_has(world) and all(_is_true(world, obj) for obj in instances(world))


def _is_true(world: WorldState, obj: Instance) -> bool:
    status, truth = status_of(obj), there(world).get(ref_of(obj))
    if status.state is T.NOT_PRESENT or truth is None:
        return status.state is T.NOT_PRESENT and truth is None and status.current is None
    if status.state is not T.READY or status.current is None:
        return False
    believed = status.current.generation, status.current.settings
    return believed == (truth.generation, dict(truth.settings)) and is_installed(status.current, status.target)


def truth_is_believed(world: WorldState) -> bool:
    """At rest: what is believed is there, and what is there is what is wished for, or an error says why not."""
    return what_is_believed_is_true(world) and every_request_has_ended(world)
