"""Stale read: a process that starts anew lists from a server that lags behind, and deletes what is wanted again.

The app was off, is switched on, and gets its ConfigMap. The process dies; the new one is told by another API server that
the app is off, sees the ConfigMap of the present, and deletes it, with all that was in it. It comes back empty.
Whatever cannot be made again is deleted only after the server that knows was asked.
"""

from attractor.check import Edit, Faults, World, WorldState, always_step
from attractor.k8s.core_v1 import ConfigMap
from attractor.runtime import Context, Controller, Key, controller
from tests.quality.zoo.kinds import CHILD, A, App, app, child_key, child_of


async def _keep(ctx: Context, app: App, found: ConfigMap | None, *, is_off: bool) -> None:
    if is_off and found is not None:
        await ctx.delete(found)
    elif app.spec.size and found is None:
        await ctx.create(child_of(app))


@controller(for_=App, owns=[ConfigMap])
async def buggy(ctx: Context, key: Key) -> None:
    app = await ctx.find(App, key)
    if app is not None:
        await _keep(ctx, app, await ctx.find(ConfigMap, child_key(key)), is_off=app.spec.size == 0)


@controller(for_=App, owns=[ConfigMap])
async def fixed(ctx: Context, key: Key) -> None:
    app = await ctx.find(App, key)
    if app is None:
        return
    found = await ctx.find(ConfigMap, child_key(key))
    if app.spec.size == 0 and found is not None:
        app = await ctx.get(App, key, cached=False)
    await _keep(ctx, app, found, is_off=app.spec.size == 0)


def what_is_wanted_is_not_deleted(before: WorldState, after: WorldState) -> bool:
    is_on = any(one.spec.size for one in before.list(App))
    return not is_on or before.find(ConfigMap, CHILD) is None or after.find(ConfigMap, CHILD) is not None


def world(declared: Controller = buggy) -> World:
    return World(
        controllers=[declared],
        objects=[app(size=0)],
        users=[Edit(App, A, spec=[{"size": 1}])],
        faults=Faults(crash=1, stale_list=1),
        properties=[always_step(what_is_wanted_is_not_deleted)],
    )
