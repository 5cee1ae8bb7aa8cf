"""Hot loop: the condition's time is the time of the last look, not of the last change.

Every reconcile writes a new time, and every write is a reason to reconcile. Seen in
stackabletech/operator-rs#1032 and rabbitmq/messaging-topology-operator#251, among many.
"""

from attractor.check.world import World
from attractor.runtime import Context, Controller, Key, controller
from tests.quality.zoo.kinds import App, app, tell


@controller(for_=App)
async def buggy(ctx: Context, key: Key) -> None:
    app = await ctx.find(App, key)
    if app is not None:
        now = await ctx.now()
        await tell(ctx, app, value="ready", at=now.isoformat())


@controller(for_=App)
async def fixed(ctx: Context, key: Key) -> None:
    app = await ctx.find(App, key)
    if app is not None and app.status.value != "ready":
        now = await ctx.now()
        await tell(ctx, app, value="ready", at=now.isoformat())


def world(declared: Controller = buggy) -> World:
    return World([declared], [app()])
