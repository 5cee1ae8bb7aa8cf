"""Edge-triggered: an app whose generation was handled is not looked at again.

``status.generation == metadata.generation`` says that the spec did not change. It says nothing of the world: the
ConfigMap that somebody deleted or changed stays as it is. A popular optimization.
"""

from attractor.check import Delete, World, eventually_stable
from attractor.k8s.core_v1 import ConfigMap
from attractor.runtime import Context, Controller, Key, controller
from tests.quality.zoo.kinds import CHILD, App, app, each_app_has_its_value, ensure_child, tell


@controller(for_=App, owns=[ConfigMap])
async def buggy(ctx: Context, key: Key) -> None:
    app = await ctx.find(App, key)
    if app is None or app.status.generation == app.metadata.generation:
        return
    await ensure_child(ctx, app)
    await tell(ctx, app, generation=app.metadata.generation)


@controller(for_=App, owns=[ConfigMap])
async def fixed(ctx: Context, key: Key) -> None:
    app = await ctx.find(App, key)
    if app is None:
        return
    await ensure_child(ctx, app)
    await tell(ctx, app, generation=app.metadata.generation)


def world(declared: Controller = buggy) -> World:
    users = [Delete(ConfigMap, CHILD)]
    return World(
        controllers=[declared], objects=[app()], users=users, properties=[eventually_stable(each_app_has_its_value)]
    )
