"""Lost update: a status is written as a whole, from a copy that is old, over what another controller reports.

Two controllers share the status, one field each. The first patches both fields, the second one as it last saw it: what
the second has reported meanwhile is undone, and nothing tells it. Write only what is yours.
"""

from attractor.runtime import Context, Key, controller
from tests.quality.zoo.kinds import App


@controller(for_=App, name="counter")
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
