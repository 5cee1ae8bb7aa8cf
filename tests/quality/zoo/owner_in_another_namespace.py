"""Wrong owner: the ConfigMap is in another namespace than the app that owns it.

An owner is looked for in the child's own namespace; the garbage collector finds none there and deletes the child, again
and again. Seen in crossplane/crossplane#895. ``set_controller`` refuses it, so this one writes the reference by hand.
"""

from attractor.check import World, WorldState, eventually_stable
from attractor.k8s.core_v1 import ConfigMap
from attractor.objects.resource import ObjectMeta
from attractor.runtime import Context, Controller, Key, controller
from tests.quality.zoo.kinds import App, app

ELSEWHERE = Key("elsewhere", "a-child")


@controller(for_=App, owns=[ConfigMap])
async def buggy(ctx: Context, key: Key) -> None:
    app = await ctx.find(App, key)
    if app is not None and await ctx.find(ConfigMap, ELSEWHERE) is None:
        meta = ObjectMeta(namespace=ELSEWHERE.namespace, name=ELSEWHERE.name, owner_references=[app.owner_reference()])
        await ctx.create(ConfigMap(metadata=meta))


@controller(for_=App, owns=[ConfigMap])
async def fixed(ctx: Context, key: Key) -> None:
    app = await ctx.find(App, key)
    if app is not None and await ctx.find(ConfigMap, ELSEWHERE) is None:
        meta = ObjectMeta(namespace=ELSEWHERE.namespace, name=ELSEWHERE.name, labels={"app": key.name})
        await ctx.create(ConfigMap(metadata=meta))


def child_is_there(look: WorldState) -> bool:
    return look.find(ConfigMap, ELSEWHERE) is not None


def world(declared: Controller = buggy) -> World:
    neighbour = ConfigMap(metadata=ObjectMeta(namespace=ELSEWHERE.namespace, name="neighbour"))
    return World(controllers=[declared], objects=[app(), neighbour], properties=[eventually_stable(child_is_there)])
