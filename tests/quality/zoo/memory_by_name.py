"""In-memory state: what is remembered of an app is used for another app of the same name.

Deleted and made anew, the app has the same key and another uid. The memory of the first makes the second look done; its
ConfigMap is never created. What is remembered needs the identity of what it is about.
"""

from dataclasses import dataclass

from attractor.check import Create, Delete, World, eventually_stable
from attractor.k8s.core_v1 import ConfigMap
from attractor.runtime import Context, Controller, Key, Result, controller
from attractor.runtime.toolkit.owners import is_controlled_by
from tests.quality.zoo.kinds import A, App, app, child_key, child_of, each_app_has_its_value


@dataclass(frozen=True)
class Welcomed:
    """The app got its first ConfigMap; that a user deletes it later is the user's right."""

    uid: str = ""


@controller(for_=App)
async def buggy(ctx: Context, key: Key) -> None:
    app = await ctx.find(App, key)
    if app is None or await ctx.recall(Welcomed) is not None:
        return
    if await ctx.find(ConfigMap, child_key(key)) is None:
        await ctx.create(child_of(app))
    await ctx.remember(Welcomed())


@controller(for_=App)
async def fixed(ctx: Context, key: Key) -> Result | None:
    app = await ctx.find(App, key)
    if app is None or await ctx.recall(Welcomed) == Welcomed(app.metadata.uid):
        return None
    found = await ctx.find(ConfigMap, child_key(key))
    if found is None:
        await ctx.create(child_of(app))
    elif not is_controlled_by(found, app):
        return Result(requeue_after_s=1)
    await ctx.remember(Welcomed(app.metadata.uid))
    return None


def world(declared: Controller = buggy) -> World:
    return World(
        controllers=[declared],
        objects=[app()],
        users=[Delete(App, A), Create(app())],
        kinds=[ConfigMap],
        properties=[eventually_stable(each_app_has_its_value)],
    )
