"""Missing precondition: an old ConfigMap is deleted by its name, and its successor dies.

The app replaces an obsolete ConfigMap, once. A second process whose cache still shows the obsolete one deletes what has
its name by then. A delete that names the uid is refused; a delete by name is not. This is the case that the stale-cache
table of the second seed misses.
"""

from attractor.check import World, WorldState, eventually_stable
from attractor.k8s.core_v1 import ConfigMap
from attractor.runtime import Context, Controller, Key, Watches, controller
from tests.quality.zoo.kinds import CHILD, A, App, app, child_key, configmap, tell


async def give(ctx: Context, app: App) -> None:
    """Give the app its new ConfigMap, and say so."""
    if await ctx.find(ConfigMap, child_key(app.key)) is None:
        await ctx.create(configmap(child_key(app.key).name))
    await tell(ctx, app, value="given")


@controller(for_=App, watches=[Watches(ConfigMap, to_keys=lambda _: [A])])
async def buggy(ctx: Context, key: Key) -> None:
    app = await ctx.find(App, key)
    if app is None or app.status.value == "given":
        return
    found = await ctx.find(ConfigMap, child_key(key))
    if found is not None and "obsolete" in found.data:
        await ctx.delete_key(ConfigMap, found.key)
    else:
        await give(ctx, app)


@controller(for_=App, watches=[Watches(ConfigMap, to_keys=lambda _: [A])])
async def fixed(ctx: Context, key: Key) -> None:
    app = await ctx.find(App, key)
    if app is None or app.status.value == "given":
        return
    found = await ctx.find(ConfigMap, child_key(key))
    if found is not None and "obsolete" in found.data:
        await ctx.delete(found)
    else:
        await give(ctx, app)


def what_was_given_is_there(look: WorldState) -> bool:
    given = [one for one in look.list(App) if one.status.value == "given"]
    return not given or look.find(ConfigMap, CHILD) is not None


def world(declared: Controller = buggy) -> World:
    return World(
        controllers=[declared],
        objects=[app(), configmap(CHILD.name, obsolete="yes")],
        hosts=("host1", "host2"),
        properties=[eventually_stable(what_was_given_is_there)],
    )
