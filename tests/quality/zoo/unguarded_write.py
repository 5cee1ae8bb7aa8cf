"""Lost update: two apps write themselves into one register, each over what it read before.

The patch has no resourceVersion, so the second writer puts back the list without the first. Both reconciles succeed,
and nothing looks at the register again. Any guarded write (``merge``, ``update``) would have been refused.
"""

from attractor.check import World, WorldState, eventually_stable
from attractor.k8s.core_v1 import ConfigMap
from attractor.runtime import Context, Controller, Key, controller
from tests.quality.zoo.kinds import App, app, configmap

REGISTER = Key("default", "register")


def joined(register: ConfigMap, name: str) -> str:
    """The members, with one more."""
    members = {*filter(None, register.data.get("members", "").split(",")), name}
    return ",".join(sorted(members))


@controller(for_=App, workers=2)
async def buggy(ctx: Context, key: Key) -> None:
    if await ctx.find(App, key) is None:
        return
    register = await ctx.get(ConfigMap, REGISTER)
    members = joined(register, key.name)
    if members != register.data.get("members"):
        await ctx.patch(ConfigMap, REGISTER, {"data": {"members": members}})


@controller(for_=App, workers=2)
async def fixed(ctx: Context, key: Key) -> None:
    if await ctx.find(App, key) is None:
        return
    register = await ctx.get(ConfigMap, REGISTER)
    members = joined(register, key.name)
    if members != register.data.get("members"):
        changed = register.deep_copy()
        changed.data = {"members": members}
        await ctx.patch_from(register, changed)


def all_are_members(look: WorldState) -> bool:
    return look.get(ConfigMap, REGISTER).data.get("members") == "a,b"


def world(declared: Controller = buggy) -> World:
    objects = [app(), app("b"), configmap("register")]
    return World(controllers=[declared], objects=objects, properties=[eventually_stable(all_are_members)])
