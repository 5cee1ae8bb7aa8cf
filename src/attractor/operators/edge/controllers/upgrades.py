"""The coordinator's controller for cloudlets: it follows what the agents say, and tracks the upgrade.

Neither side runs ahead: the old agent prepares when it sees UpdateRequested, brings up the new one when it sees
Updating, and the new one serves when it sees UpdateDone. An error is left as it is, for an administrator.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attractor.operators.edge.api.intents import lifecycle_of, status_of
from attractor.operators.edge.api.states import CLOUDLET, Actor, CloudletState, TrackedState
from attractor.operators.edge.api.types import AppInst, Cloudlet, CloudletStatus, ClusterInst

if TYPE_CHECKING:
    from attractor.objects.gvk import Key
    from attractor.runtime import Context, Result

T, C = TrackedState, CloudletState
CRM_IS_READY = "CRM is Ready"


def cloudlet_status(cloudlet: Cloudlet) -> CloudletStatus:
    """A cloudlet's status; that of something new where it has none yet."""
    return cloudlet.status or CloudletStatus()


def agent_state(status: CloudletStatus, version: str) -> CloudletState | None:
    """Return the last report of the agent of a version; None when it has said nothing."""
    known = status.agents.get(version)
    return None if known is None else known.state


def event_of(cloudlet: Cloudlet) -> str:
    """The event of the table that the coordinator has to follow now; empty when it waits for others."""
    status = cloudlet_status(cloudlet)
    old, new = agent_state(status, status.version), agent_state(status, status.upgrading_to)
    match status.state:
        case T.NOT_PRESENT if agent_state(status, cloudlet.spec.version) is C.READY:
            return CRM_IS_READY
        case T.READY if cloudlet.spec.version != status.version:
            return "upgrade"
        case T.UPDATE_REQUESTED if old in {C.UPGRADE_INIT, C.ERROR}:
            return f"CRMv1 is {old}"
        case T.UPDATING if new in {C.UPGRADE_DONE, C.ERROR}:
            return f"CRMv2 is {new}"
        case T.UPDATING if old is C.ERROR:
            return "CRMv1 is Error"
        case T.UPDATE_DONE if new is C.READY:
            return "CRMv2 is Ready"
    return ""


def followed(cloudlet: Cloudlet, event: str) -> CloudletStatus:
    """The status that an event leads to."""
    status = cloudlet_status(cloudlet.deep_copy())
    actor = Actor.USER if event == "upgrade" else Actor.CONTROLLER
    status.state = CLOUDLET.follow(status.state, actor, event)
    if event == "upgrade":
        status.upgrading_to = cloudlet.spec.version
        status.agents.pop(status.upgrading_to, None)
    said = status.agents.get(status.upgrading_to if event.startswith("CRMv2") else status.version)
    match status.state:
        case T.READY:
            status.version = status.upgrading_to or cloudlet.spec.version
            status.upgrading_to = ""
            status.agents = {status.version: status.agents[status.version]}
            status.message = f"agent {status.version} serves"
        case T.UPDATE_ERROR:
            why = said.message if said is not None else ""
            status.message = f"upgrade to {status.upgrading_to} failed ({event}): {why}; repair it, then try again"
        case _:
            status.message = f"upgrade from {status.version} to {status.upgrading_to}: {status.state}"
    return status


async def cloudlets(ctx: Context, key: Key) -> Result | None:
    """Bring one Cloudlet a step further."""
    cloudlet = await ctx.find(Cloudlet, key)
    if cloudlet is None or cloudlet.metadata.is_deleting:
        return None
    event = event_of(cloudlet)
    if not event:
        return None
    if event == "upgrade" and (busy := await _busy(ctx, key.namespace)):
        status = cloudlet_status(cloudlet.deep_copy())
        status.message = f"the upgrade waits for {busy}"
        await _write(ctx, cloudlet, status)
        return None
    await _write(ctx, cloudlet, followed(cloudlet, event))
    return None


async def _busy(ctx: Context, namespace: str) -> str:
    """An instance on which an operation is in progress; empty when there is none."""
    clusters = await ctx.list(ClusterInst, namespace=namespace)
    apps = await ctx.list(AppInst, namespace=namespace)
    instances: list[ClusterInst | AppInst] = [*clusters, *apps]
    for obj in instances:
        if status_of(obj).state not in lifecycle_of(obj).resting:
            return f"{obj.kind} {obj.metadata.name}, which is {status_of(obj).state}"
    return ""


async def _write(ctx: Context, cloudlet: Cloudlet, status: CloudletStatus) -> None:
    changed = cloudlet.deep_copy()
    changed.status = status
    if changed != cloudlet:
        await ctx.patch_from(cloudlet, changed, subresource="status")
