"""Fight: two controllers set one field to different values, and each sees the other's write as a change to mend.

One keeps the ConfigMap at the app's value, the other wants it in capitals. Both are right on their own. The fixed one
writes to a field of its own.
"""

from attractor.check import World
from attractor.k8s.core_v1 import ConfigMap
from attractor.runtime import Context, Controller, Key, controller
from tests.quality.zoo.kinds import App, app, child_key, child_of, set_value


@controller(for_=App, owns=[ConfigMap], name="keeper")
async def keeper(ctx: Context, key: Key) -> None:
    app = await ctx.find(App, key)
    if app is None:
        return
    found = await ctx.find(ConfigMap, child_key(key))
    if found is None:
        await ctx.create(child_of(app))
    elif found.data.get("value") != app.spec.value:
        await set_value(ctx, found, app.spec.value)


@controller(for_=App, owns=[ConfigMap])
async def buggy(ctx: Context, key: Key) -> None:
    app, found = await ctx.find(App, key), await ctx.find(ConfigMap, child_key(key))
    if app is not None and found is not None and found.data.get("value") != app.spec.value.upper():
        await set_value(ctx, found, app.spec.value.upper())


@controller(for_=App, owns=[ConfigMap])
async def fixed(ctx: Context, key: Key) -> None:
    app, found = await ctx.find(App, key), await ctx.find(ConfigMap, child_key(key))
    if app is not None and found is not None and found.data.get("capitals") != app.spec.value.upper():
        changed = found.deep_copy()
        changed.data = {**found.data, "capitals": app.spec.value.upper()}
        await ctx.patch_from(found, changed)


def world(declared: Controller = buggy) -> World:
    return World(controllers=[keeper, declared], objects=[app()])
