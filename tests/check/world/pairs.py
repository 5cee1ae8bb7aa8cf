"""Two ConfigMaps kept equal to a custom resource: the smallest controllers with a crash window."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attractor.k8s.core_v1 import ConfigMap
from attractor.objects.gvk import Key
from attractor.objects.resource import ObjectMeta, Resource, Struct
from attractor.runtime import Context, controller
from attractor.runtime.toolkit.owners import set_controller

if TYPE_CHECKING:
    from attractor.check import WorldState

KEY = Key("default", "a")


class PairSpec(Struct):
    """What is wanted."""

    text: str = "x"


class Pair(Resource, group="test.attractor.dev", version="v1"):
    """Two ConfigMaps with one text."""

    spec: PairSpec


def pair(name: str = "a", text: str = "x") -> Pair:
    return Pair(metadata=ObjectMeta(name=name, namespace="default"), spec=PairSpec(text=text))


def child(owner: Pair, number: int) -> ConfigMap:
    meta = ObjectMeta(name=f"{owner.metadata.name}-{number}", namespace=owner.metadata.namespace)
    made = ConfigMap(metadata=meta, data={"text": owner.spec.text})
    set_controller(owner, made)
    return made


@controller(for_=Pair, owns=[ConfigMap])
async def naive(ctx: Context, key: Key) -> None:
    """Stops when the first ConfigMap exists."""
    owner = await ctx.find(Pair, key)
    if owner is None or owner.metadata.is_deleting:
        return
    if await ctx.find(ConfigMap, Key(key.namespace, f"{key.name}-1")) is not None:
        return
    await ctx.create(child(owner, 1))
    await ctx.create(child(owner, 2))


@controller(for_=Pair, owns=[ConfigMap])
async def pairs(ctx: Context, key: Key) -> None:
    """Looks at both, each time."""
    owner = await ctx.find(Pair, key)
    if owner is None or owner.metadata.is_deleting:
        return
    for number in (1, 2):
        wanted = child(owner, number)
        found = await ctx.find(ConfigMap, wanted.key)
        if found is None:
            await ctx.create(wanted)
        elif found.data != wanted.data:
            found.data = wanted.data
            await ctx.update(found)


def both_are_right(world: WorldState) -> bool:
    """Each pair has its two ConfigMaps, and nothing else is there."""
    wanted = {}
    for owner in world.list(Pair):
        for number in (1, 2):
            wanted[child(owner, number).key] = {"text": owner.spec.text}
    return {found.key: found.data for found in world.list(ConfigMap)} == wanted
