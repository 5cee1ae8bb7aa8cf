"""Edge-triggered: the controller runs when an app is created, and only then.

The predicate lets creations through. An edit of the spec is an event that nobody hears, and the ConfigMap keeps the old
value. A controller is level-based: it looks at what is, whatever happened.
"""

from attractor.check import Edit, World, eventually_stable
from attractor.k8s.core_v1 import ConfigMap
from attractor.runtime import Context, Controller, For, Key, controller
from attractor.runtime.predicates import created
from tests.quality.zoo.kinds import A, App, app, each_app_has_its_value, ensure_child


@controller(for_=For(App, when=created), owns=[ConfigMap])
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
    users = [Edit(App, A, spec=[{"value": "blue"}])]
    return World(
        controllers=[declared], objects=[app()], users=users, properties=[eventually_stable(each_app_has_its_value)]
    )
