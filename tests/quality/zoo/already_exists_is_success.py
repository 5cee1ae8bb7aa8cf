"""Not mine: "it exists already" is taken for "it is done".

The ConfigMap that exists may belong to an earlier app of the same name, and be on its way to the garbage collector. The
status says ready, which is never looked at again, and a moment later there is nothing.
"""

from attractor.check import Create, Delete, World, eventually_stable
from attractor.k8s.core_v1 import ConfigMap
from attractor.objects.errors import AlreadyExists
from attractor.runtime import Context, Controller, Key, Result, controller
from attractor.runtime.toolkit.owners import is_controlled_by
from tests.quality.zoo.kinds import A, App, app, child_key, child_of, each_app_has_its_value, tell


@controller(for_=App, owns=[ConfigMap])
async def buggy(ctx: Context, key: Key) -> Result | None:
    app = await ctx.find(App, key)
    if app is None or app.status.value == "ready":
        return None
    try:
        await ctx.create(child_of(app))
    except AlreadyExists:
        ctx.log.info("the ConfigMap is there already")
    await tell(ctx, app, value="ready")
    return None


@controller(for_=App, owns=[ConfigMap])
async def fixed(ctx: Context, key: Key) -> Result | None:
    app = await ctx.find(App, key)
    if app is None:
        return None
    found = await ctx.find(ConfigMap, child_key(key))
    if found is None:
        await ctx.create(child_of(app))
    elif not is_controlled_by(found, app):
        return Result(requeue_after_s=1)
    await tell(ctx, app, value="ready")
    return None


def world(declared: Controller = buggy) -> World:
    return World(
        controllers=[declared],
        objects=[app()],
        users=[Delete(App, A), Create(app())],
        properties=[eventually_stable(each_app_has_its_value)],
    )
