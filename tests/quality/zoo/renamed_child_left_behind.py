"""Unbounded children: the ConfigMap is named after the spec, and the one of the former spec is never removed.

Each edit adds one more. They have an owner, so they go when the app goes; until then they pile up.
"""

from attractor.check import Edit, World, WorldState, eventually_stable
from attractor.k8s.core_v1 import ConfigMap
from attractor.runtime import Context, Controller, Key, controller
from attractor.runtime.toolkit.owners import is_controlled_by
from tests.quality.zoo.kinds import A, App, app, child_key, child_of


@controller(for_=App, owns=[ConfigMap])
async def buggy(ctx: Context, key: Key) -> None:
    app = await ctx.find(App, key)
    if app is not None and await ctx.find(ConfigMap, child_key(key, app.spec.value)) is None:
        await ctx.create(child_of(app, app.spec.value))


@controller(for_=App, owns=[ConfigMap])
async def fixed(ctx: Context, key: Key) -> None:
    app = await ctx.find(App, key)
    if app is None:
        return
    wanted = child_of(app, app.spec.value)
    if await ctx.find(ConfigMap, wanted.key) is None:
        await ctx.create(wanted)
    for one in await ctx.list(ConfigMap, namespace=key.namespace):
        if is_controlled_by(one, app) and one.key != wanted.key:
            await ctx.delete(one)


def has_one_child(look: WorldState) -> bool:
    wanted = {child_key(one.key, one.spec.value) for one in look.list(App)}
    return {one.key for one in look.list(ConfigMap)} == wanted


def world(declared: Controller = buggy) -> World:
    users = [Edit(App, A, spec=[{"value": "blue"}])]
    return World(controllers=[declared], objects=[app()], users=users, properties=[eventually_stable(has_one_child)])
