"""The coordinator's controller for signs of life: a cloudlet whose agent gives none is Offline.

Clocks of two machines are never compared: an agent is away when its Lease was seen unchanged for as long as the Lease
says, by this coordinator's clock. One that has just started has seen nothing yet, and leaves what was said before.
Nothing is undone while an agent is away; new wishes wait, or are refused where the operator's admission is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from attractor.k8s.coordination_v1 import Lease
from attractor.objects.errors import NotFound
from attractor.objects.gvk import Key
from attractor.operators.edge.api.access import account_of, versions_of
from attractor.operators.edge.api.states import CloudletState
from attractor.operators.edge.api.types import Cloudlet
from attractor.operators.edge.controllers.upgrades import agent_state, cloudlet_status
from attractor.runtime import Permission, Result, controller

if TYPE_CHECKING:
    from datetime import datetime

    from attractor.runtime import Context, Controller

C = CloudletState
LASTS_S = 40
"""How long a sign of life counts that does not say so itself."""


@dataclass(frozen=True)
class Sign:
    """The signs of life of a cloudlet's agents as last seen, and when they were first seen so."""

    text: tuple[str, ...]
    at: datetime


def said(cloudlet: Cloudlet) -> CloudletState:
    """Return the report of the agent that serves about itself."""
    status = cloudlet_status(cloudlet)
    return agent_state(status, status.version or cloudlet.spec.version) or C.NOT_PRESENT


async def presence(ctx: Context, key: Key) -> Result | None:
    """Say of one Cloudlet what its agent says, or that nothing is heard of it; come again when it may be away."""
    cloudlet = await ctx.find(Cloudlet, key)
    if cloudlet is None or cloudlet.metadata.is_deleting or key.name != key.namespace:
        return None
    found = [await ctx.find(Lease, Key(key.namespace, account_of(version))) for version in versions_of(cloudlet)]
    leases = [lease for lease in found if lease is not None and lease.spec.renew_time is not None]
    if not leases:
        await _say(ctx, cloudlet, C.UNKNOWN if cloudlet_status(cloudlet).agents else C.NOT_PRESENT)
        return None
    limit_s = float(max(lease.spec.lease_duration_seconds or LASTS_S for lease in leases))
    seen = Sign(tuple(str(lease.spec.renew_time) for lease in leases), await ctx.now())
    known = await ctx.recall(Sign)
    if known is None or known.text != seen.text:
        await ctx.remember(seen)
        if known is not None or cloudlet_status(cloudlet).cloudlet_state is not C.OFFLINE:
            await _say(ctx, cloudlet, said(cloudlet))
        return Result(requeue_after_s=limit_s)
    silent_s = (seen.at - known.at).total_seconds()
    if silent_s < limit_s:
        if cloudlet_status(cloudlet).cloudlet_state is not C.OFFLINE:
            await _say(ctx, cloudlet, said(cloudlet))
        return Result(requeue_after_s=limit_s - silent_s)
    await _say(ctx, cloudlet, C.OFFLINE)
    return None


async def _say(ctx: Context, cloudlet: Cloudlet, state: CloudletState) -> None:
    changed = cloudlet.deep_copy()
    status = changed.status = cloudlet_status(changed)
    status.cloudlet_state = state
    if changed != cloudlet:
        try:
            await ctx.patch_from(cloudlet, changed, subresource="status")
        except NotFound:
            return


PRESENCE: Controller = controller(
    presence,
    name="cloudlet-presence",
    for_=Cloudlet,
    owns=[Lease],
    permissions=[Permission(Lease)],
)
"""The controller that follows signs of life."""
