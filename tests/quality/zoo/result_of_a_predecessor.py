"""In-memory state: what was begun for an app in the background ends as the result of another app of the same name.

The work outlives its app: deleted and made anew, the app has a memory of its own by then, under the same key. The result
is for the identity that the work was begun for, and for no other.
"""

from dataclasses import dataclass, replace

from attractor.check import Create, Delete, World, WorldState, always
from attractor.runtime import Context, Controller, Key, controller
from tests.quality.zoo.kinds import A, App, app, tell


@dataclass(frozen=True)
class Build:
    """What this process knows of an app's build."""

    uid: str
    made: str = ""


async def build_for_the_name(ctx: Context, value: str, _: str) -> None:
    await ctx.defer(Build, lambda build: replace(build, made=value))
    await ctx.schedule()


async def build_for_the_app(ctx: Context, value: str, uid: str) -> None:
    await ctx.defer(Build, lambda build: replace(build, made=value), identity=uid)
    await ctx.schedule()


@controller(for_=App)
async def buggy(ctx: Context, key: Key) -> None:
    app = await ctx.find(App, key)
    if app is None:
        await ctx.forget(Build)
        return
    build = await ctx.recall(Build)
    if build is None or build.uid != app.metadata.uid:
        await ctx.remember(Build(app.metadata.uid), identity=app.metadata.uid)
        await ctx.start(build_for_the_name, app.spec.value, app.metadata.uid)
    elif build.made:
        await tell(ctx, app, value=build.made)


@controller(for_=App)
async def fixed(ctx: Context, key: Key) -> None:
    app = await ctx.find(App, key)
    if app is None:
        await ctx.forget(Build)
        return
    build = await ctx.recall(Build)
    if build is None or build.uid != app.metadata.uid:
        await ctx.remember(Build(app.metadata.uid), identity=app.metadata.uid)
        await ctx.start(build_for_the_app, app.spec.value, app.metadata.uid)
    elif build.made:
        await tell(ctx, app, value=build.made)


def results_are_of_the_app(look: WorldState) -> bool:
    return all(one.status.value in {"", one.spec.value} for one in look.list(App))


def world(declared: Controller = buggy) -> World:
    return World(
        controllers=[declared],
        objects=[app(value="red")],
        users=[Delete(App, A), Create(app(value="blue"))],
        properties=[always(results_are_of_the_app)],
    )
