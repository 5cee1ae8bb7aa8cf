"""Stale read: an app that the cache does not show is taken for deleted, and its ConfigMap is removed.

Each kind has a watch of its own: a ConfigMap may be told before its app. The controller tidies up after apps that it
thinks are gone, and deletes what a living app has just been given. The server knows; ask it before destroying.
"""

from attractor.objects.builtin.core_v1 import ConfigMap
from attractor.runtime import Context, Key, Watches, controller
from tests.quality.zoo.kinds import App


def app_of(child: ConfigMap) -> Key:
    """The app that a ConfigMap was made for."""
    return Key(child.metadata.namespace, child.metadata.labels["app"])


@controller(for_=ConfigMap, watches=[Watches(App, to_keys=lambda app: [Key("default", f"{app.metadata.name}-data")])])
async def buggy(ctx: Context, key: Key) -> None:
    child = await ctx.find(ConfigMap, key)
    if child is None or "app" not in child.metadata.labels:
        return
    if await ctx.find(App, app_of(child)) is None:
        await ctx.delete(child)


@controller(for_=ConfigMap, watches=[Watches(App, to_keys=lambda app: [Key("default", f"{app.metadata.name}-data")])])
async def fixed(ctx: Context, key: Key) -> None:
    child = await ctx.find(ConfigMap, key)
    if child is None or "app" not in child.metadata.labels:
        return
    if await ctx.find(App, app_of(child), cached=False) is None:
        await ctx.delete(child)
