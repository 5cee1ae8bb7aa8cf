"""Telling people that a state lasts too long. Nothing is undone: the agent may be at work, or away and still right.

How long a state has lasted is remembered in this process only; a coordinator that starts again begins to count anew.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from attractor.objects.errors import NotFound
from attractor.operators.edge.intents import lifecycle_of, status_of
from attractor.operators.edge.types import AppInst, ClusterInst
from attractor.runtime import Result, controller

if TYPE_CHECKING:
    from datetime import datetime

    from attractor.objects.gvk import Key
    from attractor.operators.edge.types import Instance
    from attractor.runtime import Context, Controller


@dataclass(frozen=True)
class Since:
    """Since when an instance is in a state, for an operation."""

    state: str
    operation: int
    at: datetime


async def tell(ctx: Context, obj: Instance) -> Result | None:
    """Say in the object's message that it is overdue; come again when it will be."""
    table, status = lifecycle_of(obj), status_of(obj)
    limit_s = table.timeouts_s.get(status.state)
    if limit_s is None:
        return None
    now, known = await ctx.now(), await ctx.recall(Since)
    if known is None or (known.state, known.operation) != (status.state, status.operation):
        await ctx.remember(Since(str(status.state), status.operation, now))
        return Result(requeue_after_s=limit_s)
    waited_s = (now - known.at).total_seconds()
    message = table.overdue(status.state, waited_s)
    if not message:
        return Result(requeue_after_s=limit_s - waited_s)
    changed = obj.deep_copy()
    status_of(changed).message = message
    if changed != obj:
        try:
            await ctx.merge(obj, changed, subresource="status")
        except NotFound:
            return None
    return None


async def _clusters(ctx: Context, key: Key) -> Result | None:
    cluster = await ctx.find(ClusterInst, key)
    return None if cluster is None else await tell(ctx, cluster)


async def _apps(ctx: Context, key: Key) -> Result | None:
    app = await ctx.find(AppInst, key)
    return None if app is None else await tell(ctx, app)


OVERDUE: tuple[Controller, ...] = (
    controller(_clusters, name="overdue-clusterinsts", for_=ClusterInst),
    controller(_apps, name="overdue-appinsts", for_=AppInst),
)
"""The controllers that tell people."""
