"""Not mine: everything with the right label is taken for the app's own, and what is not wanted is deleted.

Labels are for everybody. A ConfigMap that a user has labelled the same way, to select it along with the app's, is
deleted without a word. Ownership is the owner reference.
"""

from attractor.check import World, WorldState, always
from attractor.k8s.core_v1 import ConfigMap
from attractor.runtime import Context, Controller, Key, controller
from attractor.runtime.toolkit.owners import is_controlled_by
from tests.quality.zoo.kinds import App, app, child_of, configmap


def labelled(app: App) -> ConfigMap:
    """The app's ConfigMap, named after its value."""
    made = child_of(app, app.spec.value)
    made.metadata.labels = {"app": app.metadata.name}
    return made


@controller(for_=App, owns=[ConfigMap])
async def buggy(ctx: Context, key: Key) -> None:
    app = await ctx.find(App, key)
    if app is None:
        return
    wanted = labelled(app)
    if await ctx.find(ConfigMap, wanted.key) is None:
        await ctx.create(wanted)
    for one in await ctx.list(ConfigMap, namespace=key.namespace, labels=f"app={key.name}"):
        if one.key != wanted.key:
            await ctx.delete(one)


@controller(for_=App, owns=[ConfigMap])
async def fixed(ctx: Context, key: Key) -> None:
    app = await ctx.find(App, key)
    if app is None:
        return
    wanted = labelled(app)
    if await ctx.find(ConfigMap, wanted.key) is None:
        await ctx.create(wanted)
    for one in await ctx.list(ConfigMap, namespace=key.namespace, labels=f"app={key.name}"):
        if one.key != wanted.key and is_controlled_by(one, app):
            await ctx.delete(one)


def what_is_not_ours_is_left_alone(look: WorldState) -> bool:
    return look.find(ConfigMap, ("default", "theirs")) is not None


def world(declared: Controller = buggy) -> World:
    theirs = configmap("theirs")
    theirs.metadata.labels = {"app": "a"}
    return World(controllers=[declared], objects=[app(), theirs], properties=[always(what_is_not_ours_is_left_alone)])
