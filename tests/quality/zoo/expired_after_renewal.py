"""Time of check: an app is declared expired by a deadline that was read before it was renewed.

The controller compares the clock with the deadline in its cache and writes "expired" without saying what it had read. A
user who renewed in time is expired all the same. The fixed one writes only if the app is still what it looked at.
"""

from datetime import UTC, datetime

from attractor.check import Edit, World, WorldState, always_step
from attractor.runtime import Context, Controller, Key, Result, controller
from tests.quality.zoo.kinds import A, App, app, tell

MORNING, NOON, EVENING = (datetime(2026, 1, 1, hour, tzinfo=UTC) for hour in (8, 12, 20))
CLOCK = (MORNING, NOON)


async def _expired(ctx: Context, key: Key) -> App | None:
    """The app, if its time is over."""
    app = await ctx.find(App, key)
    if app is None or app.status.value or await ctx.now() < datetime.fromisoformat(app.spec.value):
        return None
    return app


@controller(for_=App)
async def buggy(ctx: Context, key: Key) -> Result | None:
    if await _expired(ctx, key) is None:
        return Result(requeue_after_s=3600)
    await ctx.patch(App, key, {"status": {"value": "expired"}}, subresource="status")
    return None


@controller(for_=App)
async def fixed(ctx: Context, key: Key) -> Result | None:
    app = await _expired(ctx, key)
    if app is None:
        return Result(requeue_after_s=3600)
    await tell(ctx, app, value="expired")
    return None


def what_was_renewed_is_not_expired(before: WorldState, after: WorldState) -> bool:
    renewed = [one.key for one in before.list(App) if one.spec.value == EVENING.isoformat() and not one.status.value]
    return not any(after.get(App, key).status.value for key in renewed)


def world(declared: Controller = buggy) -> World:
    return World(
        controllers=[declared],
        objects=[app(value=NOON.isoformat())],
        users=[Edit(App, A, spec=[{"value": EVENING.isoformat()}])],
        clock=CLOCK,
        properties=[always_step(what_was_renewed_is_not_expired)],
    )
