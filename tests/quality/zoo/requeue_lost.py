"""Lost requeue: the controller polls something that cannot wake it, and one way through the code forgets to come again.

The app waits for a ConfigMap that it does not watch. While it waits it reports so, and the early return after the
report is the one without a requeue. Its own status write would wake it, but only changes of the spec are let through.
"""

from attractor.check import Create, World, WorldState, eventually_stable
from attractor.k8s.core_v1 import ConfigMap
from attractor.runtime import Context, Controller, For, Key, Result, controller
from attractor.runtime.predicates import generation_changed
from tests.quality.zoo.kinds import App, app, configmap, tell

POLL = Result(requeue_after_s=10)


@controller(for_=For(App, when=generation_changed))
async def buggy(ctx: Context, key: Key) -> Result | None:
    app = await ctx.find(App, key)
    if app is None or app.status.value == "ready":
        return None
    if await ctx.find(ConfigMap, Key(key.namespace, app.spec.source)) is None:
        if app.status.value != "waiting":
            await tell(ctx, app, value="waiting")
            return None
        return POLL
    await tell(ctx, app, value="ready")
    return None


@controller(for_=For(App, when=generation_changed))
async def fixed(ctx: Context, key: Key) -> Result | None:
    app = await ctx.find(App, key)
    if app is None or app.status.value == "ready":
        return None
    if await ctx.find(ConfigMap, Key(key.namespace, app.spec.source)) is None:
        await tell(ctx, app, value="waiting")
        return POLL
    await tell(ctx, app, value="ready")
    return None


def is_ready_with_its_source(look: WorldState) -> bool:
    has_source = look.find(ConfigMap, ("default", "source")) is not None
    return all(one.status.value == ("ready" if has_source else "waiting") for one in look.list(App))


def world(declared: Controller = buggy) -> World:
    users = [Create(configmap("source"))]
    return World(
        controllers=[declared],
        objects=[app(source="source")],
        users=users,
        properties=[eventually_stable(is_ready_with_its_source)],
    )
