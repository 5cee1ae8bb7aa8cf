"""Orphan: the ConfigMap has no owner, so it stays when the app goes.

Without an owner reference the garbage collector does not know that it belongs to anybody, and there is no finalizer
either.
"""

from attractor.check import Delete, World, eventually_stable
from attractor.k8s.core_v1 import ConfigMap
from attractor.runtime import Context, Controller, Key, controller
from tests.quality.zoo.kinds import A, App, app, child_key, child_of, configmap, nothing_is_left


@controller(for_=App, owns=[ConfigMap])
async def buggy(ctx: Context, key: Key) -> None:
    app = await ctx.find(App, key)
    if app is not None and await ctx.find(ConfigMap, child_key(key)) is None:
        await ctx.create(configmap(child_key(key).name, value=app.spec.value))


@controller(for_=App, owns=[ConfigMap])
async def fixed(ctx: Context, key: Key) -> None:
    app = await ctx.find(App, key)
    if app is not None and await ctx.find(ConfigMap, child_key(key)) is None:
        await ctx.create(child_of(app))


def world(declared: Controller = buggy) -> World:
    return World(
        controllers=[declared], objects=[app()], users=[Delete(App, A)], properties=[eventually_stable(nothing_is_left)]
    )
