"""Wrong order: the status says "ready" before the ConfigMap is there, and "ready" means that nothing is to be done.

A crash between the two writes leaves an app that is ready and has nothing. The status is a report, never a plan.
"""

from attractor.check import Faults, World, eventually_stable
from attractor.k8s.core_v1 import ConfigMap
from attractor.runtime import Context, Controller, Key, controller
from tests.quality.zoo.kinds import App, app, child_of, each_app_has_its_value, ensure_child, tell


@controller(for_=App, owns=[ConfigMap])
async def buggy(ctx: Context, key: Key) -> None:
    app = await ctx.find(App, key)
    if app is None or app.status.value == "ready":
        return
    await tell(ctx, app, value="ready")
    await ctx.create(child_of(app))


@controller(for_=App, owns=[ConfigMap])
async def fixed(ctx: Context, key: Key) -> None:
    app = await ctx.find(App, key)
    if app is None:
        return
    await ensure_child(ctx, app)
    await tell(ctx, app, value="ready")


def world(declared: Controller = buggy) -> World:
    return World(
        controllers=[declared],
        objects=[app()],
        faults=Faults(crash=1),
        properties=[eventually_stable(each_app_has_its_value)],
    )
