"""In-memory state: what the process remembers is taken for what there is.

"Created" is remembered, so a ConfigMap that somebody deletes is not missed until the process is restarted. Memory may
save work, never replace a look.
"""

from dataclasses import dataclass

from attractor.check import Delete, World, eventually_stable
from attractor.k8s.core_v1 import ConfigMap
from attractor.runtime import Context, Controller, Key, controller
from tests.quality.zoo.kinds import CHILD, App, app, child_key, child_of, each_app_has_its_value


@dataclass(frozen=True)
class Created:
    """The app's ConfigMap was created."""

    value: str


@controller(for_=App, owns=[ConfigMap])
async def buggy(ctx: Context, key: Key) -> None:
    app = await ctx.find(App, key)
    if app is None or await ctx.recall(Created) is not None:
        return
    if await ctx.find(ConfigMap, child_key(key)) is None:
        await ctx.create(child_of(app))
    await ctx.remember(Created(app.spec.value))


@controller(for_=App, owns=[ConfigMap])
async def fixed(ctx: Context, key: Key) -> None:
    app = await ctx.find(App, key)
    if app is None:
        return
    if await ctx.find(ConfigMap, child_key(key)) is None:
        await ctx.create(child_of(app))


def world(declared: Controller = buggy) -> World:
    users = [Delete(ConfigMap, CHILD)]
    return World(
        controllers=[declared], objects=[app()], users=users, properties=[eventually_stable(each_app_has_its_value)]
    )
