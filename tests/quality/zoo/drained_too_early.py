"""Premature verdict: the status says that an app is drained while its ConfigMaps are still being removed.

The runbook says: set the size to 0, wait until the status counts 0, then delete the app. The status is written from the
spec before the work is done, so a user who goes by the book deletes the app too early, and if the process dies then, what
was left of it stays for ever. A user who does not wait breaks every controller of this kind: only an ordered script with
a condition shows the one that breaks its word.
"""

from attractor.check import Delete, Edit, Faults, Script, World, WorldState, eventually_stable
from attractor.k8s.core_v1 import ConfigMap
from attractor.runtime import Context, Controller, Key, controller
from tests.quality.zoo.kinds import A, App, app, configmap, tell


async def _remove_all(ctx: Context, key: Key) -> None:
    for found in await ctx.list(ConfigMap, namespace=key.namespace):
        await ctx.delete(found)


@controller(for_=App)
async def buggy(ctx: Context, key: Key) -> None:
    app = await ctx.find(App, key)
    if app is None:
        return
    await tell(ctx, app, count=app.spec.size)
    if app.spec.size == 0:
        await _remove_all(ctx, key)


@controller(for_=App)
async def fixed(ctx: Context, key: Key) -> None:
    app = await ctx.find(App, key)
    if app is None:
        return
    if app.spec.size == 0:
        await _remove_all(ctx, key)
    await tell(ctx, app, count=app.spec.size)


def is_drained(look: WorldState) -> bool:
    """What the user waits for."""
    return any(one.status.count == 0 for one in look.list(App))


def nothing_is_left_behind(look: WorldState) -> bool:
    """Where there is no app there is no ConfigMap."""
    return bool(look.list(App) or not look.list(ConfigMap))


def world(declared: Controller = buggy) -> World:
    start = app(size=1)
    start.status.count = 1
    return World(
        controllers=[declared],
        objects=[start, configmap("a-1"), configmap("a-2")],
        users=[Script(Edit(App, A, spec=[{"size": 0}]), Delete(App, A, when=is_drained))],
        faults=Faults(crash=1),
        kinds=[ConfigMap],
        properties=[eventually_stable(nothing_is_left_behind)],
    )
