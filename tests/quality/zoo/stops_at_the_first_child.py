"""Crash window: the controller takes its first ConfigMap for a sign that all of them are there.

It creates two, and looks for the first only. A crash between the two writes leaves one for ever; so does somebody who
deletes the second. This is the controller of the design's first seed, and of many a first operator.
"""

from attractor.check import Faults, World, WorldState, eventually_stable
from attractor.k8s.core_v1 import ConfigMap
from attractor.runtime import Context, Controller, Key, controller
from tests.quality.zoo.kinds import App, app, child_key, child_of, ensure_child, value_of


@controller(for_=App, owns=[ConfigMap])
async def buggy(ctx: Context, key: Key) -> None:
    app = await ctx.find(App, key)
    if app is None or await ctx.find(ConfigMap, child_key(key, "1")) is not None:
        return
    await ctx.create(child_of(app, "1"))
    await ctx.create(child_of(app, "2"))


@controller(for_=App, owns=[ConfigMap])
async def fixed(ctx: Context, key: Key) -> None:
    app = await ctx.find(App, key)
    if app is None:
        return
    await ensure_child(ctx, app, "1")
    await ensure_child(ctx, app, "2")


def both_are_there(look: WorldState) -> bool:
    return all(value_of(look, child_key(one.key, each)) == one.spec.value for one in look.list(App) for each in "12")


def world(declared: Controller = buggy) -> World:
    return World(
        controllers=[declared], objects=[app()], faults=Faults(crash=1), properties=[eventually_stable(both_are_there)]
    )
