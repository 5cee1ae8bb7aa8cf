"""Worlds that together use everything a controller can do, for comparisons of the checker with the runtime."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from attractor.check import Create, Delete, Edit, Faults, World, owned_by
from attractor.k8s.core_v1 import ConfigMap, Namespace, Service, ServicePort, ServiceSpec
from attractor.objects.errors import ApiError
from attractor.objects.gvk import Key
from attractor.objects.resource import ObjectMeta
from attractor.runtime import Context, Owns, Result, controller
from tests.check.world.pairs import KEY, Pair, pair, pairs

if TYPE_CHECKING:
    from attractor.check.world.api.users import User

EDIT = Edit(Pair, KEY, spec=[{"text": "x"}, {"text": "y"}], times=2)
LOST = Faults(crash=1, lost_request=1, lost_answer=1, repeated=1, delayed_request=1, late_request=1, refusal=1)
WEB, ROOM = Key("default", "web"), "room"


def config(name: str, namespace: str = "default", **data: str) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name, namespace=namespace), data=data)


def service() -> Service:
    meta = ObjectMeta(name=WEB.name, namespace=WEB.namespace)
    return Service(metadata=meta, spec=ServiceSpec(ports=[ServicePort(port=80)]))


class Till(Protocol):
    """An outside system that takes coins."""

    async def put(self, coin: str) -> int: ...

    async def count(self) -> int: ...


class TillModel:
    """Coins by name."""

    def __init__(self) -> None:
        self.coins: list[str] = []

    def put(self, coin: str) -> int:
        self.coins.append(coin)
        return len(self.coins)

    def count(self) -> int:
        return len(self.coins)


@dataclass(frozen=True)
class Begun:
    """How many pieces of work were started."""

    count: int = 0


async def pay(ctx: Context, coin: str) -> None:
    """Background work: pays, and writes down what came of it, also where that is a failure."""
    till = ctx.external(Till)
    try:
        said = str(await till.put(coin))
    except TimeoutError:
        said = "silence"
    try:
        await ctx.create(config(coin, said=said))
    except ApiError as refused:
        await ctx.patch(ConfigMap, Key("default", coin), {"data": {"refused": str(refused.code)}})
    finally:
        await ctx.schedule()


@controller(for_=Pair, owns=[Owns(ConfigMap, every_owner=True)], externals=[Till])
async def payer(ctx: Context, key: Key) -> None:
    """Starts two pieces of work at once, and tells how many have ended."""
    owner = await ctx.find(Pair, key)
    begun = await ctx.recall(Begun)
    if owner is None:
        return
    if begun is None:
        await ctx.remember(Begun(2))
        await ctx.start(pay, "one")
        await ctx.start(pay, "two")
    count = str(len(await ctx.list(ConfigMap, cached=False)))
    if owner.metadata.annotations.get("count") != count:
        await ctx.patch(Pair, key, {"metadata": {"annotations": {"count": count}}})


async def look_twice(ctx: Context) -> None:
    """Background work that asks for two things together."""
    await ctx.gather(
        ctx.find(ConfigMap, Key("default", "one"), cached=False), ctx.create(config("two", text=str(ctx.key)))
    )


@controller(for_=Pair)
async def gatherer(ctx: Context, key: Key) -> None:
    """Starts work that asks for several things at once, and asks for several itself."""
    if await ctx.find(Pair, key) is None or await ctx.recall(Begun) is not None:
        return
    await ctx.remember(Begun(1))
    await ctx.start(look_twice)
    await ctx.gather(ctx.create(config("one")), ctx.create(config("three")))


@controller(for_=Pair, timeout_s=30)
async def tidy(ctx: Context, key: Key) -> Result | None:
    """Holds a ConfigMap while it writes another one, and gives it back whatever happens."""
    owner = await ctx.find(Pair, key)
    if owner is None:
        return None
    try:
        await ctx.create(config("held"))
        await ctx.list(ConfigMap, cached=False)
        await ctx.create(config("made", text=owner.spec.text))
    except ApiError:
        return Result(requeue_after_s=5)
    finally:
        if await ctx.find(ConfigMap, Key("default", "held"), cached=False) is not None:
            await ctx.delete(config("held"))
    return None


@controller(for_=Pair, owns=[Owns(ConfigMap, every_owner=True)])
async def namer(ctx: Context, key: Key) -> None:
    """Makes two ConfigMaps with generated names, and marks the first by name."""
    owner = await ctx.find(Pair, key)
    found = await ctx.list(ConfigMap, cached=False)
    if owner is None:
        return
    if len(found) < 2:
        meta = ObjectMeta(generate_name="made-", namespace="default", owner_references=[owner.owner_reference()])
        await ctx.create(ConfigMap(metadata=meta, data={"number": str(len(found))}))
    elif "first" not in found[0].metadata.labels:
        await ctx.patch(ConfigMap, found[0].key, {"metadata": {"labels": {"first": "yes"}}})


@controller(for_=Pair)
async def roomer(ctx: Context, key: Key) -> Result | None:
    """Keeps a namespace with a ConfigMap in it, for as long as its Pair says x."""
    owner = await ctx.find(Pair, key)
    if owner is None:
        return None
    found = await ctx.find(Namespace, Key("", ROOM), cached=False)
    if owner.spec.text != "x":
        if found is not None and not found.metadata.is_deleting:
            await ctx.delete(found)
        return None
    if found is None:
        await ctx.create(Namespace(metadata=ObjectMeta(name=ROOM)))
    if await ctx.find(ConfigMap, Key(ROOM, "inside"), cached=False) is None:
        try:
            await ctx.create(config("inside", ROOM))
        except ApiError:
            return Result(requeue_after_s=1)
    return None


@controller(for_=Pair, owns=[Service])
async def server(ctx: Context, key: Key) -> None:
    """Replaces its Service when it has another text than its Pair."""
    owner = await ctx.find(Pair, key)
    if owner is None:
        return
    found = await ctx.find(Service, WEB)
    if found is None:
        made = service()
        made.metadata.annotations = {"text": owner.spec.text}
        await ctx.create(made)
    elif found.metadata.annotations.get("text") != owner.spec.text:
        await ctx.delete(found)
        await ctx.create(service())


@controller(for_=Pair, workers=2)
async def crowd(ctx: Context, key: Key) -> None:
    """Two at once write one object."""
    owner = await ctx.find(Pair, key)
    found = await ctx.find(ConfigMap, Key("default", "shared"), cached=False)
    if owner is None or found is None or key.name in found.data:
        return
    found.data = {**found.data, key.name: owner.spec.text}
    await ctx.update(found)


def everything() -> dict[str, World]:
    """The worlds, by name."""
    users: list[User] = [EDIT, Delete(Pair, KEY), Create(pair())]
    leave: list[User] = [Edit(Pair, KEY, spec=[{"text": "y"}]), Delete(Namespace, Key("", ROOM))]
    outside = Faults(external_failure=1, external_silence=1, lost_request=1, crash=1, refusal=1)
    late = Faults(delayed_call=2, crash=1, external_silence=1)
    leading = replace(LOST, leader_change=2, stop=1, partition=1)
    child = owned_by(pair(), config("a-1", text="x"))
    return {
        "pairs": World(controllers=[pairs], objects=[pair(), child], users=users, faults=replace(LOST, closed_watch=1)),
        "work": World(
            controllers=[payer], objects=[pair()], users=[EDIT], faults=outside, externals={Till: TillModel()}
        ),
        "gathered": World(controllers=[gatherer], objects=[pair()], users=[], faults=LOST, kinds=[ConfigMap]),
        "timeout": World(
            controllers=[tidy],
            objects=[pair()],
            users=[EDIT],
            faults=Faults(timeout=2, lost_answer=1),
            kinds=[ConfigMap],
        ),
        "stop": World(
            controllers=[tidy, payer], objects=[pair()], users=[], faults=Faults(stop=1), externals={Till: TillModel()}
        ),
        "names": World(controllers=[namer], objects=[pair()], users=[EDIT], faults=Faults(crash=1, lost_answer=1)),
        "rooms": World(
            controllers=[roomer], objects=[pair()], users=leave, faults=Faults(crash=1), kinds=[ConfigMap, Namespace]
        ),
        "services": World(
            controllers=[server], objects=[pair(), service()], users=[EDIT], faults=Faults(crash=1, conflict=1)
        ),
        "late calls": World(
            controllers=[payer], objects=[pair()], users=[EDIT], faults=late, externals={Till: TillModel()}
        ),
        "leaders": World(
            controllers=[pairs], objects=[pair()], users=[EDIT], faults=leading, hosts=("host1", "host2"), election=True
        ),
        "resync": World(
            controllers=[pairs],
            objects=[pair(), pair("b")],
            users=[EDIT],
            faults=Faults(crash=1, closed_watch=1, stop=1),
            resync=True,
        ),
        "cut off": World(
            controllers=[tidy], objects=[pair()], users=[EDIT], faults=Faults(timeout=3, partition=2), kinds=[ConfigMap]
        ),
        "crowd": World(
            controllers=[crowd],
            objects=[pair("a"), pair("b"), config("shared")],
            users=[EDIT],
            faults=Faults(lost_answer=1),
        ),
    }
