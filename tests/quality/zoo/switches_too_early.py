"""Wrong order: traffic is switched to the new ConfigMap before it is there.

The app's status names the ConfigMap that is in use. The name is written first, the ConfigMap after; whoever follows the
name in between, or after a crash, finds nothing.
"""

from attractor.check import World, WorldState, always
from attractor.k8s.core_v1 import ConfigMap
from attractor.runtime import Context, Controller, Key, controller
from tests.quality.zoo.kinds import App, app, child_of, tell


@controller(for_=App, owns=[ConfigMap])
async def buggy(ctx: Context, key: Key) -> None:
    app = await ctx.find(App, key)
    if app is None:
        return
    wanted = child_of(app, app.spec.value)
    await tell(ctx, app, value=wanted.metadata.name)
    if await ctx.find(ConfigMap, wanted.key) is None:
        await ctx.create(wanted)


@controller(for_=App, owns=[ConfigMap])
async def fixed(ctx: Context, key: Key) -> None:
    app = await ctx.find(App, key)
    if app is None:
        return
    wanted = child_of(app, app.spec.value)
    if await ctx.find(ConfigMap, wanted.key) is None:
        await ctx.create(wanted)
    await tell(ctx, app, value=wanted.metadata.name)


def what_is_in_use_is_there(look: WorldState) -> bool:
    return all(
        look.find(ConfigMap, (one.metadata.namespace, one.status.value)) is not None
        for one in look.list(App)
        if one.status.value
    )


def world(declared: Controller = buggy) -> World:
    return World(controllers=[declared], objects=[app()], properties=[always(what_is_in_use_is_there)])
