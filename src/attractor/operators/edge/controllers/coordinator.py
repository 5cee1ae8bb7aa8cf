"""The coordinator's controllers for instances: from wishes to requests, and from errors back.

Several coordinators may run at once without electing one: every step is one write of one object, and it is refused
when the object changed since it was read. What needs two objects to agree is a *claim*: before an operation on an app
begins, its number is written into the app's cluster (``status.apps``), and a cluster begins an operation only while no
claim is open, and is deleted only once no app is left. A claim is given back when the app rests again after an
operation of that number or a later one; so a coordinator that looks at an old copy of the app cannot give back a claim
that was just taken, and one that dies between claim and operation leaves something that any other can take up.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from attractor.objects.errors import Conflict, Forbidden, NotFound
from attractor.objects.gvk import Key
from attractor.operators.edge.api import intents
from attractor.operators.edge.api.intents import claim_refusal, cluster_status, override_of, status_of, wish
from attractor.operators.edge.api.states import Actor, TrackedState
from attractor.operators.edge.api.types import FINALIZER, AppInst, Cloudlet, ClusterInst
from attractor.runtime import Context, Result
from attractor.runtime.toolkit.finalizers import add_finalizer, remove_finalizer

if TYPE_CHECKING:
    from attractor.objects.resource import Resource
    from attractor.operators.edge.api.types import Instance, InstanceStatus

T = TrackedState
RETRY_S = 1.0
"""How long after a failure the same wish is tried again, where it still stands."""


@dataclass(frozen=True)
class Failed:
    """The number of a failed operation that is waited out; in memory only, for a restart may try at once."""

    operation: int


async def _merge(ctx: Context, obj: Resource, changed: Resource, subresource: str = "") -> None:
    """Write what changed, if the object is still the one that was read; one that is gone needs nothing more."""
    try:
        await ctx.patch_from(obj, changed, subresource=subresource)
    except NotFound:
        return


async def _hold(ctx: Context, obj: Instance) -> bool:
    """Put the finalizer on an object that has none; True when that was all to do now."""
    held = obj.deep_copy()
    if obj.metadata.is_deleting or not add_finalizer(held, FINALIZER):
        return False
    await _merge(ctx, obj, held)
    return True


async def _release(ctx: Context, obj: Instance) -> None:
    """Let a deleted object go."""
    free = obj.deep_copy()
    if remove_finalizer(free, FINALIZER):
        await _merge(ctx, obj, free)


async def _write(ctx: Context, obj: Instance, status: InstanceStatus) -> None:
    changed = intents.with_status(obj, status)
    if changed != obj:
        await _merge(ctx, obj, changed, subresource="status")


async def _say(ctx: Context, obj: Instance, message: str) -> None:
    """Tell people why nothing happens."""
    status = status_of(obj.deep_copy())
    status.message = message
    await _write(ctx, obj, status)


async def _must_wait(ctx: Context, obj: Instance) -> bool:
    """Return whether a wish that has just failed should wait before it is tried again."""
    status = status_of(obj)
    if not status.error:
        return False
    known = await ctx.recall(Failed)
    if known is not None and known.operation == status.operation:
        return False
    await ctx.remember(Failed(status.operation))
    return True


async def _resolve(ctx: Context, obj: Instance) -> bool:
    """Do what is the same for all instances: overrides, and undoing what failed. True when it was done."""
    allowed = override_of(obj)
    if allowed is not None and (forced := intents.overridden(obj, allowed)) is not None:
        await _write(ctx, obj, forced)
        return True
    table = intents.lifecycle_of(obj)
    if status_of(obj).state in table.errors:
        await _write(ctx, obj, intents.undone(obj))
        return True
    return table.owner(status_of(obj).state) is Actor.CRM


async def _may_change(ctx: Context, obj: Instance) -> bool:
    """Return whether the cloudlet takes changes now; if not, the object says why."""
    name = obj.metadata.namespace
    refusal = intents.cloudlet_refusal(await ctx.find(Cloudlet, Key(name, name)), name, override_of(obj))
    if refusal:
        await _say(ctx, obj, refusal)
    return not refusal


async def clusters(ctx: Context, key: Key) -> Result | None:
    """Bring one ClusterInst a step further."""
    cluster = await ctx.find(ClusterInst, key)
    if cluster is None or await _hold(ctx, cluster) or await _resolve(ctx, cluster):
        return None
    status = cluster_status(cluster)
    if status.state is T.DELETE_PREPARE:
        return await _prepare(ctx, cluster)
    event = wish(cluster)
    if event == "leave":
        await _release(ctx, cluster)
        return None
    if not event:
        return None
    if await _must_wait(ctx, cluster):
        return Result(requeue_after_s=RETRY_S)
    busy = sorted(name for name, operation in status.apps.items() if operation)
    if event == "update" and busy:
        if await _forget_missing(ctx, cluster, busy):
            return None
        await _say(ctx, cluster, f"waits for AppInst {', '.join(busy)}, which {'is' if len(busy) == 1 else 'are'} busy")
        return None
    if await _may_change(ctx, cluster):
        await _write(ctx, cluster, intents.begun(cluster, event, "waits for the agent"))
    return None


async def _prepare(ctx: Context, cluster: ClusterInst) -> Result | None:
    """Remove the dependents of a cluster that is to be deleted; ask the agent once there are none."""
    status = cluster_status(cluster)
    if not status.apps:
        await _write(ctx, cluster, intents.prepared(cluster))
        return None
    for app in await ctx.list(AppInst, namespace=cluster.metadata.namespace):
        if app.spec.cluster == cluster.metadata.name and app.spec.auto_delete and not app.metadata.is_deleting:
            try:
                await ctx.delete(app)
            except (NotFound, Conflict, Forbidden):
                continue  # gone already, changed, or busy: its next change brings us back
    if not await _forget_missing(ctx, cluster, sorted(status.apps)):
        names = ", ".join(sorted(status.apps))
        await _say(ctx, cluster, f"waits until AppInst {names} {'is' if len(status.apps) == 1 else 'are'} deleted")
    return None


async def _forget_missing(ctx: Context, cluster: ClusterInst, names: list[str]) -> bool:
    """Drop the claims of apps that are gone (who claimed looked at an old copy); True when there were any."""
    namespace, missing = cluster.metadata.namespace, set()
    for name in names:
        key = Key(namespace, name)
        if await ctx.find(AppInst, key) is None and await ctx.find(AppInst, key, cached=False) is None:
            missing.add(name)
    if not missing:
        return False
    changed = cluster.deep_copy()
    left = cluster_status(changed)
    left.apps = {name: operation for name, operation in left.apps.items() if name not in missing}
    if not left.apps:
        left.reserved_by = ""
    await _merge(ctx, cluster, changed, subresource="status")
    return True


async def apps(ctx: Context, key: Key) -> Result | None:
    """Bring one AppInst a step further."""
    app = await ctx.find(AppInst, key)
    if app is None or await _hold(ctx, app) or await _resolve(ctx, app):
        return None
    if status_of(app).state is T.DELETE_PREPARE:
        await _write(ctx, app, intents.prepared(app))
        return None
    cluster = await ctx.find(ClusterInst, Key(key.namespace, app.spec.cluster))
    event = wish(app)
    if event in {"", "leave"}:
        if await _give_back(ctx, app, cluster) and event == "leave":
            await _release(ctx, app)
        return None
    if await _must_wait(ctx, app):
        return Result(requeue_after_s=RETRY_S)
    operation = status_of(app).operation + 1
    if cluster is not None and cluster_status(cluster).apps.get(key.name) == operation:
        await _write(ctx, app, intents.begun(app, event, "waits for the agent"))
    elif refusal := claim_refusal(cluster, app, event):
        await _say(ctx, app, refusal)
    elif await _may_change(ctx, app):
        if cluster is None:
            await _write(ctx, app, intents.begun(app, event, "waits for the agent"))
        else:
            await _claim(ctx, cluster, app, operation)
    return None


async def _claim(ctx: Context, cluster: ClusterInst, app: AppInst, operation: int) -> None:
    """Say in the cluster that an operation of this app is about to begin; the app's turn comes with the change."""
    changed = cluster.deep_copy()
    status = changed.status = cluster_status(changed)
    status.apps = {**status.apps, app.metadata.name: operation}
    if cluster.spec.reservable:
        status.reserved_by = app.spec.tenant
    await _merge(ctx, cluster, changed, subresource="status")


async def _give_back(ctx: Context, app: AppInst, cluster: ClusterInst | None) -> bool:
    """Give back the claim of an app that rests; True when there is nothing more to give back."""
    name, status = app.metadata.name, status_of(app)
    if cluster is None or name not in cluster_status(cluster).apps:
        return True
    claimed = cluster_status(cluster).apps[name]
    if claimed > status.operation:
        # Claimed for an operation that nobody wants any more. Counting it keeps whoever claimed it from beginning it.
        cancelled = status_of(app.deep_copy())
        cancelled.operation = claimed
        await _write(ctx, app, cancelled)
        return False
    is_there = status.state is T.READY
    if is_there and claimed == 0:
        return True
    changed = cluster.deep_copy()
    left = cluster_status(changed)
    left.apps = {other: number for other, number in left.apps.items() if other != name}
    if is_there:
        left.apps[name] = 0
    if not left.apps:
        left.reserved_by = ""
    await _merge(ctx, cluster, changed, subresource="status")
    return not is_there
