"""Stale read: an app that the cache does not show is taken for deleted, and its ConfigMap is removed.

Each kind has a watch of its own: a ConfigMap may be told before its app. The janitor tidies up after apps that it thinks
are gone, and deletes what a living app was given once and for all. The server knows; ask it before destroying.
"""

from attractor.check import Create, World, WorldState, eventually_stable
from attractor.k8s.core_v1 import ConfigMap
from attractor.runtime import Context, Controller, Key, Watches, controller
from tests.quality.zoo.kinds import App, app, child_key, configmap, tell


@controller(for_=App, name="giver")
async def giver(ctx: Context, key: Key) -> None:
    """Give every app a ConfigMap, once."""
    app = await ctx.find(App, key)
    if app is None or app.status.value == "given":
        return
    if await ctx.find(ConfigMap, child_key(key), cached=False) is None:
        await ctx.create(configmap(child_key(key).name, app=key.name))
    await tell(ctx, app, value="given")


@controller(for_=ConfigMap, watches=[Watches(App, to_keys=lambda app: [child_key(app.key)])])
async def buggy(ctx: Context, key: Key) -> None:
    child = await ctx.find(ConfigMap, key)
    if child is not None and await ctx.find(App, Key(key.namespace, child.data["app"])) is None:
        await ctx.delete(child)


@controller(for_=ConfigMap, watches=[Watches(App, to_keys=lambda app: [child_key(app.key)])])
async def fixed(ctx: Context, key: Key) -> None:
    child = await ctx.find(ConfigMap, key)
    if child is not None and await ctx.find(App, Key(key.namespace, child.data["app"]), cached=False) is None:
        await ctx.delete(child)


def what_was_given_is_there(look: WorldState) -> bool:
    given = [one for one in look.list(App) if one.status.value == "given"]
    return all(look.find(ConfigMap, child_key(one.key)) is not None for one in given)


def world(declared: Controller = buggy) -> World:
    return World(
        controllers=[giver, declared],
        users=[Create(app())],
        hosts=("host1", "host2"),
        properties=[eventually_stable(what_was_given_is_there)],
    )
