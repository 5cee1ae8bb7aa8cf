"""Wrong order: the finalizer is stored after the work that it should guard.

The ConfigMap has no owner, because it stands for something that no garbage collector knows. An app that is deleted
between the two writes is gone at once, and nobody ever cleans up. Seen in outscale/cluster-api-provider-outscale#917,
which leaked whole networks.
"""

from attractor.check import Delete, World, eventually_stable
from attractor.k8s.core_v1 import ConfigMap
from attractor.runtime import Context, Controller, Key, Watches, controller
from tests.quality.zoo.kinds import FINALIZER, A, App, app, child_key, configmap, nothing_is_left, set_finalizers


async def clean_up(ctx: Context, app: App) -> None:
    """Delete the ConfigMap, then let the app go."""
    found = await ctx.find(ConfigMap, child_key(app.key))
    if found is not None:
        await ctx.delete(found)
    elif FINALIZER in app.metadata.finalizers:
        await set_finalizers(ctx, app, [])


def to_app(child: ConfigMap) -> list[Key]:
    """The app that a ConfigMap stands for."""
    return [Key(child.metadata.namespace, child.metadata.name.removesuffix("-child"))]


@controller(for_=App, watches=[Watches(ConfigMap, to_keys=to_app)])
async def buggy(ctx: Context, key: Key) -> None:
    app = await ctx.find(App, key)
    if app is None:
        return
    if app.metadata.is_deleting:
        await clean_up(ctx, app)
        return
    if await ctx.find(ConfigMap, child_key(key)) is None:
        await ctx.create(configmap(child_key(key).name))
    if FINALIZER not in app.metadata.finalizers:
        await set_finalizers(ctx, app, [FINALIZER])


@controller(for_=App, watches=[Watches(ConfigMap, to_keys=to_app)])
async def fixed(ctx: Context, key: Key) -> None:
    app = await ctx.find(App, key)
    if app is None:
        return
    if app.metadata.is_deleting:
        await clean_up(ctx, app)
        return
    if FINALIZER not in app.metadata.finalizers:
        await set_finalizers(ctx, app, [FINALIZER])
    if await ctx.find(ConfigMap, child_key(key)) is None:
        await ctx.create(configmap(child_key(key).name))


def world(declared: Controller = buggy) -> World:
    return World(
        controllers=[declared], objects=[app()], users=[Delete(App, A)], properties=[eventually_stable(nothing_is_left)]
    )
