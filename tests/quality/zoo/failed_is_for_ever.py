"""Premature verdict: what is not there yet is declared a failure, and a failure is final.

App and ConfigMap are created together; the app is seen first. "Failed" is a state that no code leaves, although all is
well a moment later. A phase that depends on others must follow them in both directions.
"""

from attractor.check import Create, World, WorldState, eventually_stable
from attractor.k8s.core_v1 import ConfigMap
from attractor.runtime import Context, Controller, Key, Watches, controller
from tests.quality.zoo.kinds import A, App, app, configmap, tell


@controller(for_=App, watches=[Watches(ConfigMap, to_keys=lambda _: [A])])
async def buggy(ctx: Context, key: Key) -> None:
    app = await ctx.find(App, key)
    if app is None or app.status.value == "failed":
        return
    source = await ctx.find(ConfigMap, Key(key.namespace, app.spec.source))
    await tell(ctx, app, value="failed" if source is None else "ready")


@controller(for_=App, watches=[Watches(ConfigMap, to_keys=lambda _: [A])])
async def fixed(ctx: Context, key: Key) -> None:
    app = await ctx.find(App, key)
    if app is None:
        return
    source = await ctx.find(ConfigMap, Key(key.namespace, app.spec.source))
    await tell(ctx, app, value="failed" if source is None else "ready")


def phase_is_true(look: WorldState) -> bool:
    has_source = look.find(ConfigMap, ("default", "source")) is not None
    return all(one.status.value == ("ready" if has_source else "failed") for one in look.list(App))


def world(declared: Controller = buggy) -> World:
    users = [Create(app(source="source")), Create(configmap("source"))]
    return World(controllers=[declared], objects=[], users=users, properties=[eventually_stable(phase_is_true)])
