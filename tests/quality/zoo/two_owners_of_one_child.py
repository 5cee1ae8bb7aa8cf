"""Fight: two apps of the same controller keep one ConfigMap, each to its own value.

The name of the ConfigMap comes from the spec, two users chose the same, and neither app asks whose it is. Each write of
the one wakes the other, for ever. The fixed one touches only what it controls.
"""

from attractor.check import World
from attractor.k8s.core_v1 import ConfigMap
from attractor.runtime import Context, Controller, Key, Result, Watches, controller
from attractor.runtime.toolkit.owners import is_controlled_by, set_controller
from tests.quality.zoo.kinds import App, app, configmap, set_value

BOTH = [Key("default", "a"), Key("default", "b")]


@controller(for_=App, watches=[Watches(ConfigMap, to_keys=lambda _: BOTH)])
async def buggy(ctx: Context, key: Key) -> Result | None:
    app = await ctx.find(App, key)
    if app is None:
        return None
    found = await ctx.find(ConfigMap, Key(key.namespace, app.spec.source))
    if found is None:
        await ctx.create(configmap(app.spec.source, value=app.spec.value))
    elif found.data != {"value": app.spec.value}:
        await set_value(ctx, found, app.spec.value)
    return None


@controller(for_=App, watches=[Watches(ConfigMap, to_keys=lambda _: BOTH)])
async def fixed(ctx: Context, key: Key) -> Result | None:
    app = await ctx.find(App, key)
    if app is None:
        return None
    found = await ctx.find(ConfigMap, Key(key.namespace, app.spec.source))
    if found is None:
        made = configmap(app.spec.source, value=app.spec.value)
        set_controller(app, made)
        await ctx.create(made)
    elif is_controlled_by(found, app) and found.data != {"value": app.spec.value}:
        await set_value(ctx, found, app.spec.value)
    return None


def world(declared: Controller = buggy) -> World:
    return World(controllers=[declared], objects=[app(source="both"), app("b", source="both", value="blue")])
