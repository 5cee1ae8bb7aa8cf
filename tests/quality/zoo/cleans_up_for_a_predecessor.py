"""Stale read: the deletion of an earlier app of the same name is carried out on the present one.

A process that restarts on a server that is behind sees the old app, still being deleted, and deletes "its" ConfigMap by
name: the ConfigMap of the new app. pravega/zookeeper-operator#312 and instaclustr/cassandra-operator#402 lost volumes
this way. The fixed one deletes only what carries the uid of the app that is being deleted.
"""

from attractor.objects.builtin.core_v1 import ConfigMap
from attractor.runtime import Context, Key, controller
from tests.quality.zoo.kinds import FINALIZER, App, child_key, configmap, set_finalizers


async def sync(ctx: Context, app: App, child: ConfigMap | None) -> None:
    """Hold the app, then give it its ConfigMap, which says whose it is."""
    if FINALIZER not in app.metadata.finalizers:
        await set_finalizers(ctx, app, [FINALIZER])
    elif child is None:
        await ctx.create(configmap(child_key(app.key).name, app_uid=app.metadata.uid))


@controller(for_=App)
async def buggy(ctx: Context, key: Key) -> None:
    app = await ctx.find(App, key)
    if app is None:
        return
    child = await ctx.find(ConfigMap, child_key(key))
    if not app.metadata.is_deleting:
        await sync(ctx, app, child)
        return
    if child is not None:
        await ctx.delete(child)
    await set_finalizers(ctx, app, [])


@controller(for_=App)
async def fixed(ctx: Context, key: Key) -> None:
    app = await ctx.find(App, key)
    if app is None:
        return
    child = await ctx.find(ConfigMap, child_key(key))
    if not app.metadata.is_deleting:
        await sync(ctx, app, child)
        return
    if child is not None and child.data["app_uid"] == app.metadata.uid:
        await ctx.delete(child)
    await set_finalizers(ctx, app, [])
