"""Wrong order: the finalizer goes first, the clean-up follows.

A crash between the two leaves the ConfigMap, which has no owner, behind for ever: nothing reconciles an app that is
gone. The finalizer is the last thing to be removed.
"""

from attractor.check import Delete, Faults, World, eventually_stable
from attractor.k8s.core_v1 import ConfigMap
from attractor.runtime import Context, Controller, Key, controller
from tests.quality.zoo.kinds import FINALIZER, A, App, app, child_key, configmap, nothing_is_left, set_finalizers


@controller(for_=App)
async def buggy(ctx: Context, key: Key) -> None:
    app = await ctx.find(App, key)
    if app is None:
        return
    child = await ctx.find(ConfigMap, child_key(key))
    if app.metadata.is_deleting:
        if FINALIZER in app.metadata.finalizers:
            await set_finalizers(ctx, app, [])
        if child is not None:
            await ctx.delete(child)
    elif FINALIZER not in app.metadata.finalizers:
        await set_finalizers(ctx, app, [FINALIZER])
    elif child is None:
        await ctx.create(configmap(child_key(key).name))


@controller(for_=App)
async def fixed(ctx: Context, key: Key) -> None:
    app = await ctx.find(App, key)
    if app is None:
        return
    child = await ctx.find(ConfigMap, child_key(key))
    if app.metadata.is_deleting:
        if child is not None:
            await ctx.delete(child)
        if FINALIZER in app.metadata.finalizers:
            await set_finalizers(ctx, app, [])
    elif FINALIZER not in app.metadata.finalizers:
        await set_finalizers(ctx, app, [FINALIZER])
    elif child is None:
        await ctx.create(configmap(child_key(key).name))


def world(declared: Controller = buggy) -> World:
    users = [Delete(App, A)]
    return World(
        controllers=[declared],
        objects=[app()],
        users=users,
        faults=Faults(crash=1),
        properties=[eventually_stable(nothing_is_left)],
    )
