"""Gap: a changed ConfigMap is deleted and created anew, so for a while there is none.

Everything ends well, and "eventually stable" holds; but whoever reads the ConfigMap in between finds nothing. A second
promise says that an app that was ready once always has a ConfigMap, and this one breaks it.
"""

from attractor.check import Edit, World, WorldState, always, eventually_stable
from attractor.k8s.core_v1 import ConfigMap
from attractor.runtime import Context, Controller, Key, controller
from tests.quality.zoo.kinds import A, App, app, child_key, child_of, each_app_has_its_value, ensure_child, tell


@controller(for_=App, owns=[ConfigMap])
async def buggy(ctx: Context, key: Key) -> None:
    app = await ctx.find(App, key)
    if app is None:
        return
    found = await ctx.find(ConfigMap, child_key(key))
    if found is not None and found.data != {"value": app.spec.value}:
        await ctx.delete(found)
        found = None
    if found is None:
        await ctx.create(child_of(app))
    await tell(ctx, app, value="ready")


@controller(for_=App, owns=[ConfigMap])
async def fixed(ctx: Context, key: Key) -> None:
    app = await ctx.find(App, key)
    if app is None:
        return
    await ensure_child(ctx, app)
    await tell(ctx, app, value="ready")


def ready_apps_have_a_child(look: WorldState) -> bool:
    ready = [one for one in look.list(App) if one.status.value == "ready"]
    return all(look.find(ConfigMap, child_key(one.key)) is not None for one in ready)


def world(declared: Controller = buggy) -> World:
    users = [Edit(App, A, spec=[{"value": "blue"}])]
    claims = [always(ready_apps_have_a_child), eventually_stable(each_app_has_its_value)]
    return World(controllers=[declared], objects=[app()], users=users, properties=claims)
