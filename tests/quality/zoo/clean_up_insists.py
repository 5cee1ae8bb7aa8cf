"""Not idempotent: the clean-up fails when there is nothing left to clean up.

The clean-up deletes the ConfigMap by its name and fails with NotFound if it is gone, because of a crash between the
deletion and the removal of the finalizer, or because somebody was faster. Then the app can never be deleted: "stuck in
Terminating".
"""

from attractor.objects.builtin.core_v1 import ConfigMap
from attractor.objects.errors import NotFound
from attractor.runtime import Context, Key, controller
from tests.quality.zoo.kinds import FINALIZER, App, child_key, configmap, set_finalizers


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
