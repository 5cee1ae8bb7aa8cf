"""Missing precondition: an old ConfigMap is deleted by its name, and its successor dies.

The ConfigMap that the cache shows is marked as obsolete. Meanwhile it was removed, and another one of the same name was
made. A delete that names the uid is refused; a delete by name is not. This is the case that the stale-cache table of
the second seed misses.
"""

from attractor.check.world import Look, World, eventually_stable
from attractor.objects.builtin.core_v1 import ConfigMap
from attractor.runtime import Context, Controller, Key, Watches, controller
from tests.quality.zoo.kinds import CHILD, A, App, app, child_key, configmap, tell


@controller(for_=App, watches=[Watches(ConfigMap, to_keys=lambda _: [A])], name="giver")
async def giver(ctx: Context, key: Key) -> None:
    """Give the app a ConfigMap, once, as soon as the name is free."""
    app = await ctx.find(App, key)
    if app is None or app.status.value == "given":
        return
    found = await ctx.find(ConfigMap, child_key(key))
    if found is None:
        await ctx.create(configmap(child_key(key).name))
    if found is None or "obsolete" not in found.data:
        await tell(ctx, app, value="given")


@controller(for_=ConfigMap)
async def buggy(ctx: Context, key: Key) -> None:
    found = await ctx.find(ConfigMap, key)
    if found is not None and "obsolete" in found.data:
        await ctx.delete_key(ConfigMap, key)


@controller(for_=ConfigMap)
async def fixed(ctx: Context, key: Key) -> None:
    found = await ctx.find(ConfigMap, key)
    if found is not None and "obsolete" in found.data:
        await ctx.delete(found)


def what_was_given_is_there(look: Look) -> bool:
    given = [one for one in look.list(App) if one.status.value == "given"]
    return not given or look.find(ConfigMap, CHILD) is not None


def world(declared: Controller = buggy) -> World:
    return World(
        [giver, declared],
        [app(), configmap(CHILD.name, obsolete="yes")],
        hosts=("host1", "host2"),
        properties=[eventually_stable(what_was_given_is_there)],
    )
