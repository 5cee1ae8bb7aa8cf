"""Leader overlap: a process that no longer leads writes what it decided when it did.

Two processes overlap for a moment. The old one has read the old spec, and writes it after the new one has written the
new spec and reported it. A resourceVersion does not help: the old process has seen the newest ConfigMap, only not the
newest app. The fixed one keeps the generation beside the value, and never goes back.
"""

from attractor.check import Edit, World, WorldState, always, eventually_stable
from attractor.k8s.core_v1 import ConfigMap
from attractor.runtime import Context, Controller, Key, controller
from tests.quality.zoo.kinds import CHILD, A, App, app, child_key, configmap, each_app_has_its_value, tell, value_of


async def write(ctx: Context, app: App, found: ConfigMap) -> None:
    """Store the app's value and generation, unless the ConfigMap changed since it was read."""
    changed = found.deep_copy()
    changed.data = {"value": app.spec.value, "generation": str(app.metadata.generation)}
    await ctx.patch_from(found, changed)


@controller(for_=App, owns=[ConfigMap])
async def buggy(ctx: Context, key: Key) -> None:
    app = await ctx.find(App, key)
    if app is None:
        return
    found = await ctx.get(ConfigMap, child_key(key))
    if found.data["value"] != app.spec.value:
        await write(ctx, app, found)
    await tell(ctx, app, generation=app.metadata.generation)


@controller(for_=App, owns=[ConfigMap])
async def fixed(ctx: Context, key: Key) -> None:
    app = await ctx.find(App, key)
    if app is None:
        return
    found = await ctx.get(ConfigMap, child_key(key))
    if int(found.data["generation"]) < app.metadata.generation:
        await write(ctx, app, found)
    await tell(ctx, app, generation=app.metadata.generation)


def what_is_reported_is_so(look: WorldState) -> bool:
    reported = [one for one in look.list(App) if one.status.generation == one.metadata.generation]
    return all(value_of(look, CHILD) == one.spec.value for one in reported)


def world(declared: Controller = buggy) -> World:
    return World(
        controllers=[declared],
        objects=[app(), configmap(CHILD.name, value="none", generation="0")],
        users=[Edit(App, A, spec=[{"value": "blue"}])],
        hosts=("host1", "host2"),
        properties=[always(what_is_reported_is_so), eventually_stable(each_app_has_its_value)],
    )
