"""Not idempotent: the clean-up fails when there is nothing left to clean up.

The clean-up deletes the ConfigMap by its name and fails with NotFound if it is gone, because of a crash between the
deletion and the removal of the finalizer, or because somebody was faster. Then the app can never be deleted: "stuck in
Terminating".
"""

from attractor.check import Delete, Faults, World, eventually_stable
from attractor.k8s.core_v1 import ConfigMap
from attractor.objects.errors import NotFound
from attractor.runtime import Context, Controller, Key, controller
from tests.quality.zoo.kinds import FINALIZER, A, App, app, child_key, configmap, nothing_is_left, set_finalizers


@controller(for_=App)
async def buggy(ctx: Context, key: Key) -> None:
    app = await ctx.find(App, key)
    if app is None:
        return
    if app.metadata.is_deleting:
        await ctx.delete_key(ConfigMap, child_key(key))
        await set_finalizers(ctx, app, [])
    elif FINALIZER not in app.metadata.finalizers:
        await set_finalizers(ctx, app, [FINALIZER])
    elif await ctx.find(ConfigMap, child_key(key)) is None:
        await ctx.create(configmap(child_key(key).name))


@controller(for_=App)
async def fixed(ctx: Context, key: Key) -> None:
    app = await ctx.find(App, key)
    if app is None:
        return
    if app.metadata.is_deleting:
        try:
            await ctx.delete_key(ConfigMap, child_key(key))
        except NotFound:
            ctx.log.info("nothing left to clean up")
        if FINALIZER in app.metadata.finalizers:
            await set_finalizers(ctx, app, [])
    elif FINALIZER not in app.metadata.finalizers:
        await set_finalizers(ctx, app, [FINALIZER])
    elif await ctx.find(ConfigMap, child_key(key)) is None:
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
