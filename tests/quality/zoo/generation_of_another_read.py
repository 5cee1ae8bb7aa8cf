"""Status ahead of the world: the work is done for the app that was read first, and reported for one read later.

A fresh read before the status write makes the conflict go away, and the truth with it: the status says that the newest
generation is done, while the ConfigMap still holds the old value. Whoever waits for the status (a pipeline, a parent
controller) goes on too early.
"""

from attractor.check import Edit, World, WorldState, always
from attractor.k8s.core_v1 import ConfigMap
from attractor.runtime import Context, Controller, Key, controller
from tests.quality.zoo.kinds import A, App, app, child_key, ensure_child, tell, value_of


@controller(for_=App, owns=[ConfigMap])
async def buggy(ctx: Context, key: Key) -> None:
    app = await ctx.find(App, key)
    if app is None:
        return
    await ensure_child(ctx, app)
    fresh = await ctx.get(App, key, cached=False)
    await tell(ctx, fresh, generation=fresh.metadata.generation)


@controller(for_=App, owns=[ConfigMap])
async def fixed(ctx: Context, key: Key) -> None:
    app = await ctx.find(App, key)
    if app is None:
        return
    await ensure_child(ctx, app)
    await tell(ctx, app, generation=app.metadata.generation)


def status_is_not_ahead(look: WorldState) -> bool:
    return all(
        value_of(look, child_key(one.key)) == one.spec.value
        for one in look.list(App)
        if one.status.generation == one.metadata.generation
    )


def world(declared: Controller = buggy) -> World:
    users = [Edit(App, A, spec=[{"value": "blue"}])]
    return World(controllers=[declared], objects=[app()], users=users, properties=[always(status_is_not_ahead)])
