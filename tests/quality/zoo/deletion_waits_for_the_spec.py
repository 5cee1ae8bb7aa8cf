"""Wrong order: an app with a mistake in its spec is never looked at again, not even when it is deleted.

The check of the spec comes before the handling of deletion, so an app that names a ConfigMap that is not there keeps
its finalizer for ever. Seen as a design question in crossplane/crossplane-runtime#63.
"""

from attractor.check import Delete, Edit, World, eventually_stable
from attractor.k8s.core_v1 import ConfigMap
from attractor.runtime import Context, Controller, Key, Result, controller
from tests.quality.zoo.kinds import FINALIZER, A, App, app, ensure_child, nothing_is_left, set_finalizers


@controller(for_=App, owns=[ConfigMap])
async def buggy(ctx: Context, key: Key) -> Result | None:
    app = await ctx.find(App, key)
    if app is None:
        return None
    if app.spec.source and await ctx.find(ConfigMap, Key(key.namespace, app.spec.source)) is None:
        return Result(requeue_after_s=60)
    if app.metadata.is_deleting:
        await set_finalizers(ctx, app, [])
    elif FINALIZER not in app.metadata.finalizers:
        await set_finalizers(ctx, app, [FINALIZER])
    else:
        await ensure_child(ctx, app)
    return None


@controller(for_=App, owns=[ConfigMap])
async def fixed(ctx: Context, key: Key) -> Result | None:
    app = await ctx.find(App, key)
    if app is None:
        return None
    if app.metadata.is_deleting:
        if FINALIZER in app.metadata.finalizers:
            await set_finalizers(ctx, app, [])
        return None
    if app.spec.source and await ctx.find(ConfigMap, Key(key.namespace, app.spec.source)) is None:
        return Result(requeue_after_s=60)
    if FINALIZER not in app.metadata.finalizers:
        await set_finalizers(ctx, app, [FINALIZER])
    else:
        await ensure_child(ctx, app)
    return None


def world(declared: Controller = buggy) -> World:
    return World(
        controllers=[declared],
        objects=[app()],
        users=[Edit(App, A, spec=[{"source": "missing"}]), Delete(App, A)],
        properties=[eventually_stable(nothing_is_left)],
    )
