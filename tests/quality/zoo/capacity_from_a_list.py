"""Check, then act: free capacity is counted in a list, and given away in another object.

Two apps are looked at by two workers; each sees the one free place and takes it. A list is no lock. The fixed one
takes a place by creating an object whose name is the place, and the server lets only one of them.
"""

from attractor.check import World, WorldState, always, eventually_stable
from attractor.k8s.core_v1 import ConfigMap
from attractor.objects.errors import AlreadyExists
from attractor.runtime import Context, Controller, Key, controller
from tests.quality.zoo.kinds import App, app, configmap, tell

CAPACITY = 1


@controller(for_=App, workers=2)
async def buggy(ctx: Context, key: Key) -> None:
    app = await ctx.find(App, key)
    if app is None or app.status.value == "placed":
        return
    placed = [one for one in await ctx.list(App) if one.status.value == "placed"]
    if len(placed) < CAPACITY:
        await tell(ctx, app, value="placed")


@controller(for_=App, workers=2)
async def fixed(ctx: Context, key: Key) -> None:
    app = await ctx.find(App, key)
    if app is None or app.status.value == "placed":
        return
    for number in range(CAPACITY):
        place = configmap(f"place-{number}", taken_by=key.name)
        try:
            await ctx.create(place)
        except AlreadyExists:
            if (await ctx.get(ConfigMap, place.key)).data != place.data:
                continue
        await tell(ctx, app, value="placed")
        return


def capacity_is_kept(look: WorldState) -> bool:
    return sum(one.status.value == "placed" for one in look.list(App)) <= CAPACITY


def capacity_is_used(look: WorldState) -> bool:
    return any(one.status.value == "placed" for one in look.list(App))


def world(declared: Controller = buggy) -> World:
    claims = [always(capacity_is_kept), eventually_stable(capacity_is_used)]
    return World(controllers=[declared], objects=[app(), app("b")], properties=claims)
