"""Stale read: the deletion of an earlier app of the same name is carried out on the present one.

A process whose cache is behind sees the old app, still being deleted, and deletes "its" ConfigMap by name: the ConfigMap
of the new app. pravega/zookeeper-operator#312 and instaclustr/cassandra-operator#402 lost volumes this way, after a
restart on an API server that was behind; here it is a second process that has not heard yet. The fixed one deletes only
what carries the uid of the app that is being deleted.
"""

from attractor.check import Create, Delete, World, WorldState, always
from attractor.k8s.core_v1 import ConfigMap
from attractor.runtime import Context, Controller, Key, Result, controller
from tests.quality.zoo.kinds import FINALIZER, A, App, app, child_key, configmap, set_finalizers, tell


async def sync(ctx: Context, app: App) -> Result | None:
    """Hold the app, then give it its ConfigMap, which says whose it is, as soon as the name is free."""
    if FINALIZER not in app.metadata.finalizers:
        await set_finalizers(ctx, app, [FINALIZER])
        return None
    found = await ctx.find(ConfigMap, child_key(app.key))
    if found is not None and found.data["app_uid"] != app.metadata.uid:
        return Result(requeue_after_s=1)
    if found is None:
        await ctx.create(configmap(child_key(app.key).name, app_uid=app.metadata.uid))
    await tell(ctx, app, value="ready")
    return None


@controller(for_=App)
async def buggy(ctx: Context, key: Key) -> Result | None:
    app = await ctx.find(App, key)
    if app is None or not app.metadata.is_deleting:
        return None if app is None else await sync(ctx, app)
    child = await ctx.find(ConfigMap, child_key(key))
    if child is not None:
        await ctx.delete(child)
    await set_finalizers(ctx, app, [])
    return None


@controller(for_=App)
async def fixed(ctx: Context, key: Key) -> Result | None:
    app = await ctx.find(App, key)
    if app is None or not app.metadata.is_deleting:
        return None if app is None else await sync(ctx, app)
    child = await ctx.find(ConfigMap, child_key(key))
    if child is not None and child.data["app_uid"] == app.metadata.uid:
        await ctx.delete(child)
    await set_finalizers(ctx, app, [])
    return None


def ready_apps_have_their_child(look: WorldState) -> bool:
    ready = [one for one in look.list(App) if one.status.value == "ready" and not one.metadata.is_deleting]
    return all(look.find(ConfigMap, child_key(one.key)) is not None for one in ready)


def world(declared: Controller = buggy) -> World:
    return World(
        controllers=[declared],
        objects=[app(finalizers=(FINALIZER,))],
        users=[Delete(App, A), Create(app(finalizers=(FINALIZER,)))],
        hosts=("host1", "host2"),
        properties=[always(ready_apps_have_their_child)],
    )
