"""Lost retry: a conflict is taken for "somebody else has done it".

It means that the view was old, and that the write did not happen. Without another try the app is missing from the
register for ever. Seen in cockroachdb/cockroach-operator#937, whose status stayed "Failed" after one conflict.
"""

from attractor.check import World, eventually_stable
from attractor.k8s.core_v1 import ConfigMap
from attractor.objects.errors import Conflict
from attractor.runtime import Context, Controller, Key, Result, controller
from tests.quality.zoo.kinds import App, app, configmap
from tests.quality.zoo.unguarded_write import REGISTER, all_are_members, joined


async def join(ctx: Context, name: str) -> None:
    """Write an app into the register, unless the register changed since it was read."""
    register = await ctx.get(ConfigMap, REGISTER)
    members = joined(register, name)
    if members != register.data.get("members"):
        changed = register.deep_copy()
        changed.data = {"members": members}
        await ctx.patch_from(register, changed)


@controller(for_=App, workers=2)
async def buggy(ctx: Context, key: Key) -> Result | None:
    if await ctx.find(App, key) is None:
        return None
    try:
        await join(ctx, key.name)
    except Conflict:
        return None
    return None


@controller(for_=App, workers=2)
async def fixed(ctx: Context, key: Key) -> Result | None:
    if await ctx.find(App, key) is None:
        return None
    try:
        await join(ctx, key.name)
    except Conflict:
        return Result(requeue=True)
    return None


def world(declared: Controller = buggy) -> World:
    objects = [app(), app("b"), configmap("register")]
    return World(controllers=[declared], objects=objects, properties=[eventually_stable(all_are_members)])
