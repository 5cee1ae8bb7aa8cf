"""Stale read: a ConfigMap that the spec wants is deleted, because an old spec did not want it.

The app was small, and is large now. A process whose cache is behind sees the small one, and deletes what is "too much".
In the real bugs (pravega/zookeeper-operator#314, instaclustr/cassandra-operator#407) it had restarted on an API server
that was behind, and what it deleted were volumes with data; here it is a second process that has not heard yet. The
fixed one asks the server for the spec before it destroys anything.
"""

from attractor.check import Edit, World, WorldState, always
from attractor.k8s.core_v1 import ConfigMap
from attractor.runtime import Context, Controller, Key, controller
from tests.quality.zoo.kinds import A, App, app, child_key, ensure_child, tell


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
    await tell(ctx, app, generation=app.metadata.generation)


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
    await tell(ctx, app, generation=app.metadata.generation)


def what_is_reported_is_there(look: WorldState) -> bool:
    reported = [one for one in look.list(App) if one.status.generation == one.metadata.generation]
    return all(look.find(ConfigMap, child_key(one.key, "2")) is not None for one in reported if one.spec.size > 1)


def world(declared: Controller = buggy) -> World:
    users = [Edit(App, A, spec=[{"size": 2}])]
    return World(
        controllers=[declared],
        objects=[app()],
        users=users,
        hosts=("host1", "host2"),
        properties=[always(what_is_reported_is_there)],
    )
