"""The controller: look, make what is random, plan, carry out.

attractor run attractor.operators.dbcluster.controllers.controller
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from attractor.k8s.apps_v1 import ControllerRevision
from attractor.k8s.core_v1 import PersistentVolumeClaim, Secret
from attractor.objects.resource import convert
from attractor.operators.dbcluster.api.types import Cluster, ClusterSpec
from attractor.operators.dbcluster.controllers import deletion_plan, names, objects
from attractor.operators.dbcluster.controllers import plan as planning
from attractor.operators.dbcluster.controllers.entropy import Entropy, SystemEntropy
from attractor.operators.dbcluster.controllers.status import NO_TIME, tell
from attractor.plan import History, ObjectGraph, Outcome, Plan, Refused, UnknownRevision, take_snapshot
from attractor.runtime import Context, Key, Permission, Result, Watches, controller
from attractor.runtime.toolkit.conditions import find_condition
from attractor.runtime.toolkit.finalizers import add_finalizer, has_finalizer

if TYPE_CHECKING:
    from attractor.plan import Snapshot, Step

PASSWORD_LENGTH = 24


async def reconcile(ctx: Context, key: Key) -> Result | None:
    """Bring one cluster a plan closer to what its spec says."""
    cluster = await ctx.find(Cluster, key)
    if cluster is None:
        return None
    if cluster.metadata.is_deleting:
        return await _end(ctx, cluster) if has_finalizer(cluster, names.FINALIZER) else None
    if not has_finalizer(cluster, names.FINALIZER):
        held = cluster.deep_copy()
        add_finalizer(held, names.FINALIZER)
        await ctx.patch_from(cluster, held)
        return None
    if cluster.spec.paused:
        return await _carry_out(ctx, Plan(ObjectGraph(cluster)))
    snapshot = await _look(ctx, cluster)
    if names.ROLLBACK in cluster.metadata.annotations:
        return await _roll_back(ctx, cluster, snapshot)
    try:
        plan = planning.build(planning.Inputs(cluster, snapshot, await _secrets(ctx, cluster, snapshot)))
    except Refused as problem:
        return await _carry_out(ctx, Plan(ObjectGraph(cluster)), str(problem))
    return await _carry_out(ctx, plan)


async def _look(ctx: Context, cluster: Cluster) -> Snapshot:
    """List the objects of a cluster, with those that nobody owns: its claims, and what an earlier cluster has left."""
    return await take_snapshot(
        ctx,
        cluster,
        planning.KINDS,
        labels=names.selector(cluster),
        also=lambda obj: isinstance(obj, Secret | PersistentVolumeClaim) and obj.metadata.controller is None,
    )


async def _secrets(ctx: Context, cluster: Cluster, snapshot: Snapshot) -> tuple[Secret, ...]:
    """The wanted secrets: those there are, untouched, and the missing ones with new contents."""
    entropy = ctx.external(Entropy)
    missing = planning.missing_secrets(cluster, snapshot)
    key = names.credentials_key(cluster)
    if key in missing:
        found = [objects.credentials(cluster, await entropy.password(PASSWORD_LENGTH))]
    else:
        found = [planning.as_wanted(snapshot, key)]
    for component in cluster.spec.components:
        if not component.tls:
            continue
        key = names.tls_key(cluster, component)
        if key in missing:
            name = names.headless_name(cluster, component)
            made = await entropy.certificate(name, (f"*.{name}", f"*.{name}.{cluster.metadata.namespace}"))
            found.append(objects.certificate(cluster, component, made))
        else:
            found.append(planning.as_wanted(snapshot, key))
    return tuple(found)


async def _carry_out(ctx: Context, plan: Plan, problem: str = "") -> Result | None:
    """Execute a plan that tells the status last."""
    if tell(plan, NO_TIME, problem=problem):
        tell(plan, await ctx.now(), problem=problem)
    return await plan.execute(ctx, progress=partial(_log, ctx))


def _log(ctx: Context, step: Step) -> None:
    if step.outcome is not Outcome.NOTHING:
        ctx.log.info(
            "a step of the plan is over", object=str(step.vertex.ref), action=step.vertex.action, outcome=step.outcome,
            number=step.number, total=step.total,
        )  # fmt: skip


async def _end(ctx: Context, cluster: Cluster) -> Result | None:
    plan = deletion_plan.build(cluster, await _look(ctx, cluster))
    is_told = find_condition(cluster.status.conditions, "Terminating") is not None
    if cluster.spec.termination_policy == "DoNotTerminate" and not is_told:
        await ctx.emit(cluster, "DoNotTerminate", "its terminationPolicy forbids the deletion", type="Warning")
    return await _carry_out(ctx, plan)


async def _roll_back(ctx: Context, cluster: Cluster, snapshot: Snapshot) -> Result | None:
    """Take the spec of an earlier revision; the annotation that asked for it goes in the same write."""
    changed = cluster.deep_copy()
    asked = changed.metadata.annotations.pop(names.ROLLBACK)
    try:
        number = int(asked) if asked.isdecimal() else -1
        changed.spec = convert(ClusterSpec, History(snapshot.of(ControllerRevision)).data(number))
    except UnknownRevision as error:
        await ctx.emit(cluster, "RollbackRefused", str(error), type="Warning")
    await ctx.patch_from(cluster, changed)
    return None


clusters = controller(
    reconcile,
    name="dbclusters",
    for_=Cluster,
    owns=[kind for kind in planning.KINDS if kind is not PersistentVolumeClaim],
    watches=[Watches(PersistentVolumeClaim, names.cluster_keys), Watches(Secret, names.cluster_keys)],
    externals=[Entropy],
    permissions=[Permission(PersistentVolumeClaim, ("patch", "delete"))],
)
externals = {Entropy: SystemEntropy()}
