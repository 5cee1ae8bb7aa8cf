"""Lost update: a status is written as a whole, from a copy that is old, over what another controller reports.

Two controllers share the status, one field each. The first patches both fields, the second one as it last saw it: what
the second has reported meanwhile is undone; it hears changes of the spec only. Write only what is yours.
"""

from attractor.check import World, WorldState, eventually_stable
from attractor.runtime import Context, Controller, For, Key, controller
from attractor.runtime.predicates import generation_changed
from tests.quality.zoo.kinds import App, app


@controller(for_=For(App, when=generation_changed), name="counter")
async def neighbour(ctx: Context, key: Key) -> None:
    app = await ctx.find(App, key)
    if app is not None and app.status.count == 0:
        await ctx.patch(App, key, {"status": {"count": 1}}, subresource="status")


@controller(for_=App)
async def buggy(ctx: Context, key: Key) -> None:
    app = await ctx.find(App, key)
    if app is not None and app.status.value != app.spec.value:
        status = {"value": app.spec.value, "count": app.status.count}
        await ctx.patch(App, key, {"status": status}, subresource="status")


@controller(for_=App)
async def fixed(ctx: Context, key: Key) -> None:
    app = await ctx.find(App, key)
    if app is not None and app.status.value != app.spec.value:
        await ctx.patch(App, key, {"status": {"value": app.spec.value}}, subresource="status")


def both_have_reported(look: WorldState) -> bool:
    return all((one.status.value, one.status.count) == (one.spec.value, 1) for one in look.list(App))


def world(declared: Controller = buggy) -> World:
    return World(controllers=[neighbour, declared], objects=[app()], properties=[eventually_stable(both_have_reported)])
