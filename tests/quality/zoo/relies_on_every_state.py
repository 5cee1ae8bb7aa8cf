"""Edge-triggered: the controller must see a state that may be gone before it looks.

When an app turns "off", its ConfigMap goes; only while it is seen "off" is the ConfigMap removed, one by one the values
that follow do not care. An app that is turned off and on again at once is never seen "off", and keeps the ConfigMap of
its former life. Sieve calls it an observability gap (instaclustr/cassandra-operator#398).
"""

from attractor.check import Edit, World, WorldState, eventually_stable
from attractor.k8s.core_v1 import ConfigMap
from attractor.runtime import Context, Controller, Key, controller
from tests.quality.zoo.kinds import A, App, app, child_key, child_of, value_of


@controller(for_=App, owns=[ConfigMap])
async def buggy(ctx: Context, key: Key) -> None:
    app = await ctx.find(App, key)
    if app is None:
        return
    found = await ctx.find(ConfigMap, child_key(key))
    if app.spec.value == "off":
        if found is not None:
            await ctx.delete(found)
    elif found is None:
        await ctx.create(child_of(app))


@controller(for_=App, owns=[ConfigMap])
async def fixed(ctx: Context, key: Key) -> None:
    app = await ctx.find(App, key)
    if app is None:
        return
    found = await ctx.find(ConfigMap, child_key(key))
    if found is not None and found.data != {"value": app.spec.value}:
        await ctx.delete(found)
    elif found is None and app.spec.value != "off":
        await ctx.create(child_of(app))


def is_as_wanted(look: WorldState) -> bool:
    return all(
        value_of(look, child_key(one.key)) == (None if one.spec.value == "off" else one.spec.value)
        for one in look.list(App)
    )


def world(declared: Controller = buggy) -> World:
    users = [Edit(App, A, spec=[{"value": "off"}]), Edit(App, A, spec=[{"value": "blue"}])]
    return World(controllers=[declared], objects=[app()], users=users, properties=[eventually_stable(is_as_wanted)])
