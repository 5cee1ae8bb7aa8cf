"""Crash window: after a crash between the ConfigMap and the status, every retry fails with AlreadyExists.

"Not ready" is taken to mean "not created", so the create is tried again and again; the status never says ready. Found
in operators that keep a phase in their status and create the phase's objects without looking.
"""

from attractor.check import Faults, World, WorldState, eventually_stable
from attractor.k8s.core_v1 import ConfigMap
from attractor.runtime import Context, Controller, Key, controller
from tests.quality.zoo.kinds import App, app, child_of, ensure_child, tell


@controller(for_=App, owns=[ConfigMap])
async def buggy(ctx: Context, key: Key) -> None:
    app = await ctx.find(App, key)
    if app is None or app.status.value == "ready":
        return
    await ctx.create(child_of(app))
    await tell(ctx, app, value="ready")


@controller(for_=App, owns=[ConfigMap])
async def fixed(ctx: Context, key: Key) -> None:
    app = await ctx.find(App, key)
    if app is None:
        return
    await ensure_child(ctx, app)
    await tell(ctx, app, value="ready")


def is_ready(look: WorldState) -> bool:
    return all(one.status.value == "ready" for one in look.list(App))


def world(declared: Controller = buggy) -> World:
    return World(
        controllers=[declared], objects=[app()], faults=Faults(crash=1), properties=[eventually_stable(is_ready)]
    )
