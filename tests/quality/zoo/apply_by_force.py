"""Fight: two controllers apply the same field, each by force.

Server-side apply knows who owns a field and refuses to take it; ``force`` takes it. Two controllers that force take it
from each other for ever. The fixed one applies only the field that is its own.
"""

from attractor.check import World
from attractor.k8s.core_v1 import ConfigMap
from attractor.runtime import Context, Controller, Key, controller
from tests.quality.zoo.kinds import App, app, child_key, configmap


@controller(for_=App, owns=[ConfigMap], name="keeper")
async def keeper(ctx: Context, key: Key) -> None:
    app, found = await ctx.find(App, key), await ctx.find(ConfigMap, child_key(key))
    if app is not None and (found is None or found.data.get("value") != app.spec.value):
        wanted = configmap(child_key(key).name, value=app.spec.value)
        wanted.metadata.owner_references = [app.owner_reference()]
        await ctx.apply(wanted)


@controller(for_=App, owns=[ConfigMap])
async def buggy(ctx: Context, key: Key) -> None:
    app, found = await ctx.find(App, key), await ctx.find(ConfigMap, child_key(key))
    if app is not None and found is not None and found.data.get("value") != "forced":
        await ctx.apply(configmap(child_key(key).name, value="forced"))


@controller(for_=App, owns=[ConfigMap])
async def fixed(ctx: Context, key: Key) -> None:
    app, found = await ctx.find(App, key), await ctx.find(ConfigMap, child_key(key))
    if app is not None and found is not None and found.data.get("mine") != "applied":
        await ctx.apply(configmap(child_key(key).name, mine="applied"))


def world(declared: Controller = buggy) -> World:
    return World(controllers=[keeper, declared], objects=[app()])
