"""Hot loop: the time of the last look is written into the status, and every change of the status is a reason to look.

The status never stays the same, since the time does not. It shows only where the clock goes on for ever. A time belongs
to a change: it is written when something else is.
"""

from datetime import UTC, datetime, timedelta

from attractor.check import OscillatingClock, World
from attractor.runtime import Context, Controller, Key, controller
from tests.quality.zoo.kinds import App, app, tell

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


@controller(for_=App)
async def buggy(ctx: Context, key: Key) -> None:
    app = await ctx.find(App, key)
    if app is not None:
        await tell(ctx, app, value=(await ctx.now()).isoformat())


@controller(for_=App)
async def fixed(ctx: Context, key: Key) -> None:
    app = await ctx.find(App, key)
    if app is not None and app.status.generation != app.metadata.generation:
        now = await ctx.now()
        await tell(ctx, app, value=now.isoformat(), generation=app.metadata.generation)


def world(declared: Controller = buggy) -> World:
    return World(controllers=[declared], objects=[app()], clock=OscillatingClock((NOON, NOON + timedelta(seconds=1))))
