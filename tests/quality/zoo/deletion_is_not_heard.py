"""Edge-triggered: the deletion of a ConfigMap is filtered out, because "we only care about changes".

The ConfigMap that somebody deletes is not made anew until something else happens to the app.
"""

from attractor.check import Delete, World, eventually_stable
from attractor.k8s.core_v1 import ConfigMap
from attractor.runtime import Context, Controller, Key, Owns, controller
from attractor.runtime.predicates import deleted
from tests.quality.zoo.kinds import CHILD, App, app, each_app_has_its_value, ensure_child


@controller(for_=App, owns=[Owns(ConfigMap, when=~deleted)])
async def buggy(ctx: Context, key: Key) -> None:
    app = await ctx.find(App, key)
    if app is not None:
        await ensure_child(ctx, app)


@controller(for_=App, owns=[ConfigMap])
async def fixed(ctx: Context, key: Key) -> None:
    app = await ctx.find(App, key)
    if app is not None:
        await ensure_child(ctx, app)


def world(declared: Controller = buggy) -> World:
    users = [Delete(ConfigMap, CHILD)]
    return World(
        controllers=[declared], objects=[app()], users=users, properties=[eventually_stable(each_app_has_its_value)]
    )
