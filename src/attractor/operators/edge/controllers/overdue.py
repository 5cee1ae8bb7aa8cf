"""Telling people that a state lasts too long. Nothing is undone: the agent may be at work, or away and still right.

How long a state has lasted is remembered in this process only; a coordinator that starts again begins to count anew.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from attractor.objects.errors import NotFound
from attractor.operators.edge.api.intents import lifecycle_of, status_of
from attractor.operators.edge.api.states import CLOUDLET
from attractor.operators.edge.api.types import AppInst, Cloudlet, ClusterInst
from attractor.runtime import Result, controller

if TYPE_CHECKING:
    from datetime import datetime

    from attractor.objects.gvk import Key
    from attractor.operators.edge.api.types import Instance
    from attractor.runtime import Context, Controller


@dataclass(frozen=True)
class Since:
    """Since when an instance is in a state, for an operation; a cloudlet's are not counted."""

    state: str
    operation: int
    at: datetime


async def tell(ctx: Context, obj: Instance | Cloudlet) -> Result | None:
    """Say in the object's message that it is overdue; come again when it will be."""
    changed: Any = obj.deep_copy()
    table, operation = CLOUDLET, 0
    if not isinstance(obj, Cloudlet):
        table, operation = lifecycle_of(obj), status_of(obj).operation
    if changed.status is None or (limit_s := table.timeouts_s.get(changed.status.state)) is None:
        return None
    state = changed.status.state
    now, known = await ctx.now(), await ctx.recall(Since)
    if known is None or (known.state, known.operation) != (state, operation):
        await ctx.remember(Since(str(state), operation, now))
        return Result(requeue_after_s=limit_s)
    waited_s = (now - known.at).total_seconds()
    changed.status.message = table.overdue(state, waited_s)
    if not changed.status.message:
        return Result(requeue_after_s=limit_s - waited_s)
    if changed != obj:
        try:
            await ctx.patch_from(obj, changed, subresource="status")
        except NotFound:
            return None
    return None


async def _clusters(ctx: Context, key: Key) -> Result | None:
    cluster = await ctx.find(ClusterInst, key)
    return None if cluster is None else await tell(ctx, cluster)


async def _cloudlets(ctx: Context, key: Key) -> Result | None:
    cloudlet = await ctx.find(Cloudlet, key)
    return None if cloudlet is None else await tell(ctx, cloudlet)


async def _apps(ctx: Context, key: Key) -> Result | None:
    app = await ctx.find(AppInst, key)
    return None if app is None else await tell(ctx, app)


OVERDUE: tuple[Controller, ...] = (
    controller(_clusters, name="overdue-clusterinsts", for_=ClusterInst),
    controller(_apps, name="overdue-appinsts", for_=AppInst),
    controller(_cloudlets, name="overdue-cloudlets", for_=Cloudlet),
)
"""The controllers that tell people."""
