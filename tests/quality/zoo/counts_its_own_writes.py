"""Hot loop: every reconcile changes the status, and every change of the status is a reason to reconcile.

The status counts the reconciles. It never quiesces: one object keeps a worker and the API server busy for ever. Seen
in many operators as a busy processor (keikoproj/instance-manager#234).
"""

from attractor.check import World
from attractor.k8s.core_v1 import ConfigMap
from attractor.runtime import Context, Controller, Key, controller
from tests.quality.zoo.kinds import App, app, ensure_child, tell


@controller(for_=App, owns=[ConfigMap])
async def buggy(ctx: Context, key: Key) -> None:
    app = await ctx.find(App, key)
    if app is None:
        return
    await ensure_child(ctx, app)
    await tell(ctx, app, count=(app.status.count + 1) % 3)


@controller(for_=App, owns=[ConfigMap])
async def fixed(ctx: Context, key: Key) -> None:
    app = await ctx.find(App, key)
    if app is None:
        return
    await ensure_child(ctx, app)
    await tell(ctx, app, count=1)


def world(declared: Controller = buggy) -> World:
    return World(controllers=[declared], objects=[app()])
