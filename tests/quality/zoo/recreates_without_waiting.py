"""Wrong order: an immutable ConfigMap is replaced by deleting it and creating the new one at once.

The old one is held by somebody's finalizer, so the create meets AlreadyExists, which is taken for success; the status
says done, and when the old one is gone at last there is none. The fixed one waits until the name is free.
"""

from attractor.check import Edit, World, eventually_stable
from attractor.k8s.core_v1 import ConfigMap
from attractor.objects.errors import AlreadyExists
from attractor.runtime import Context, Controller, Key, controller
from tests.quality.zoo.kinds import A, App, app, child_key, child_of, each_app_has_its_value, tell

HOLD = "zoo.attractor.dev/backup"


def immutable(app: App) -> ConfigMap:
    """The app's ConfigMap, which never changes, and which a backup may hold for a while."""
    made = child_of(app)
    made.immutable = True
    made.metadata.finalizers = [HOLD]
    return made


@controller(for_=App, owns=[ConfigMap])
async def buggy(ctx: Context, key: Key) -> None:
    app = await ctx.find(App, key)
    if app is None or app.status.value == app.spec.value:
        return
    found = await ctx.find(ConfigMap, child_key(key))
    if found is not None:
        await ctx.delete(found)
    try:
        await ctx.create(immutable(app))
    except AlreadyExists:
        ctx.log.info("it is there")
    await tell(ctx, app, value=app.spec.value)


@controller(for_=App, owns=[ConfigMap])
async def fixed(ctx: Context, key: Key) -> None:
    app = await ctx.find(App, key)
    if app is None:
        return
    found = await ctx.find(ConfigMap, child_key(key))
    if found is None:
        await ctx.create(immutable(app))
    elif found.data != {"value": app.spec.value}:
        if not found.metadata.is_deleting:
            await ctx.delete(found)
        return
    await tell(ctx, app, value=app.spec.value)


@controller(for_=ConfigMap, name="backup")
async def backup(ctx: Context, key: Key) -> None:
    """Somebody else, who lets a ConfigMap go once it is deleted."""
    found = await ctx.find(ConfigMap, key)
    if found is not None and found.metadata.is_deleting and HOLD in found.metadata.finalizers:
        changed = found.deep_copy()
        changed.metadata.finalizers = []
        await ctx.patch_from(found, changed)


def world(declared: Controller = buggy) -> World:
    users = [Edit(App, A, spec=[{"value": "blue"}])]
    return World(
        controllers=[declared, backup],
        objects=[app()],
        users=users,
        properties=[eventually_stable(each_app_has_its_value)],
    )
