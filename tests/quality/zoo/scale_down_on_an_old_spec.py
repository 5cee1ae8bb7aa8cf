"""Stale read: after a restart on a server that is behind, a ConfigMap that the spec wants is deleted.

The app was small, and is large now. The new process sees the small one again, and deletes what is "too much"; in the
real bugs (pravega/zookeeper-operator#314, instaclustr/cassandra-operator#407) these were volumes with data. The fixed
one asks the server for the spec before it destroys anything.
"""

from attractor.objects.builtin.core_v1 import ConfigMap
from attractor.runtime import Context, Key, controller
from tests.quality.zoo.kinds import App, child_key, ensure_child


@controller(for_=App, owns=[ConfigMap])
async def buggy(ctx: Context, key: Key) -> None:
    app = await ctx.find(App, key)
    if app is None:
        return
    surplus = await ctx.find(ConfigMap, child_key(key, "2"))
    if app.spec.size > 1:
        await ensure_child(ctx, app, "2")
    elif surplus is not None:
        await ctx.delete(surplus)


@controller(for_=App, owns=[ConfigMap])
async def fixed(ctx: Context, key: Key) -> None:
    app = await ctx.find(App, key)
    if app is None:
        return
    surplus = await ctx.find(ConfigMap, child_key(key, "2"))
    if app.spec.size > 1:
        await ensure_child(ctx, app, "2")
    elif surplus is not None:
        fresh = await ctx.find(App, key, cached=False)
        if fresh is not None and fresh.spec.size <= 1:
            await ctx.delete(surplus)
