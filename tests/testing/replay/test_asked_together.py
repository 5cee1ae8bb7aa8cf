"""Steps that the runtime once took otherwise than the world: parts of what is asked for together, repeated and late
creates with generated names, Pods that go in two steps, ports. Each seed is a random run, compared step by step."""

import logging
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from attractor import Context, Key, ObjectMeta, controller
from attractor.check import Create, Delete, Edit, Faults, World, WorldState, always, check
from attractor.check.world.api.users import User
from attractor.k8s.core_v1 import ConfigMap, Container, Pod, PodSpec, Service
from attractor.objects.errors import AlreadyExists
from attractor.runtime import Owns
from attractor.testing.replay import replay
from attractor.testing.replay.differential import agree
from tests.check.world.everything import LOST, Till, TillModel, config, service
from tests.check.world.pairs import KEY, Pair, pair

USERS: list[User] = [Edit(Pair, KEY, spec=[{"text": "y"}]), Delete(Pair, KEY), Create(pair())]


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@controller(for_=Pair)
async def reads_together(ctx: Context, key: Key) -> None:
    """Reads from the server and from the cache at once, then writes two things at once."""
    live, found, cached = await ctx.gather(
        ctx.find(Pair, key, cached=False), ctx.list(ConfigMap, cached=False), ctx.find(Pair, key)
    )
    if isinstance(live, Pair) and isinstance(cached, Pair) and isinstance(found, list) and len(found) < 2:
        label = {"metadata": {"labels": {"n": str(len(found))}}}
        await ctx.gather(ctx.create(config(f"n{len(found)}")), ctx.patch(Pair, key, label))


@controller(for_=Pair, externals=[Till])
async def calls_together(ctx: Context, key: Key) -> None:
    """Calls an outside system and writes, at once."""
    if await ctx.find(Pair, key) is not None:
        till: Any = ctx.external(Till)
        await ctx.gather(till.put("one"), till.count(), ctx.create(config("made")))


@controller(for_=Pair, owns=[Owns(ConfigMap, every_owner=True)])
async def names(ctx: Context, key: Key) -> None:
    """Makes two with generated names, and deletes the first of two when it is told to."""
    owner = await ctx.find(Pair, key)
    found = await ctx.list(ConfigMap, namespace="default")
    if owner is not None and len(found) < 2:
        meta = ObjectMeta(generate_name="m-", namespace="default", owner_references=[owner.owner_reference()])
        await ctx.create(ConfigMap(metadata=meta))


@controller(for_=Pair, owns=[Pod])
async def runs_a_pod(ctx: Context, key: Key) -> None:
    """Keeps a Pod, which goes by a mark and then a removal."""
    owner = await ctx.find(Pair, key)
    if owner is not None and await ctx.find(Pod, key) is None:
        meta = ObjectMeta(name=key.name, namespace=key.namespace, owner_references=[owner.owner_reference()])
        await ctx.create(Pod(metadata=meta, spec=PodSpec(containers=[Container(name="c", image="i")])))


@controller(for_=Pair)
async def opens_a_port(ctx: Context, key: Key) -> None:
    """Makes a Service with a port of every node."""
    owner = await ctx.find(Pair, key)
    if owner is None:
        return
    made = service()
    made.spec.type = "NodePort"
    try:
        await ctx.create(made)
    except AlreadyExists:
        await ctx.delete(made)


TOGETHER = World(controllers=[reads_together], objects=[pair()], users=USERS, faults=LOST, kinds=[ConfigMap])
TIMED = replace(reads_together, timeout_s=4)
OUTSIDE = World(
    controllers=[replace(calls_together, timeout_s=4)],
    objects=[pair()],
    users=USERS[:1],
    faults=Faults(timeout=2, external_silence=1),
    externals={Till: TillModel()},
    kinds=[ConfigMap],
)
WORLDS = {
    "some are lost or refused": TOGETHER,
    "some are answered from the past": TOGETHER.but(faults=Faults(stale_read=2, partition=1, stop=1)),
    "time is up": TOGETHER.but(controllers=[TIMED], faults=Faults(timeout=1, delayed_request=1)),
    "time is up for calls": OUTSIDE,
    "the process stops during calls": OUTSIDE.but(controllers=[calls_together], faults=Faults(stop=1)),
    "repeated and late names": World(
        controllers=[names], objects=[pair()], users=USERS, faults=Faults(repeated=1, late_request=1, crash=1)
    ),
    "pods": World(
        controllers=[runs_a_pod],
        objects=[pair()],
        users=[*USERS, Delete(Pod, KEY, times=2)],
        faults=Faults(crash=1, late_request=1),
    ),
    "ports": World(
        controllers=[opens_a_port], objects=[pair()], users=USERS, faults=Faults(repeated=1), kinds=[Service]
    ),
}


@pytest.mark.parametrize("name", WORLDS)
@pytest.mark.parametrize("seed", range(4))
async def test_the_runtime_does_what_the_world_does(name: str, seed: int) -> None:
    done = await agree(WORLDS[name], seed=seed, steps=50)
    assert done.is_confirmed, str(done)


def at_most_two(look: WorldState) -> bool:
    return len(look.list(ConfigMap)) <= 2


def nothing_is_open(look: WorldState) -> bool:
    return not look.list(Service)


@pytest.mark.parametrize(
    ("name", "holds"), [("repeated and late names", at_most_two), ("ports", nothing_is_open)], ids=["names", "ports"]
)
async def test_a_counterexample_with_what_the_server_makes_up_is_confirmed(
    name: str, holds: Callable[[WorldState], bool]
) -> None:
    world = WORLDS[name].but(properties=[always(holds, name="claim")])
    replayed = await replay(world, check(world, stop_at_first=True).assert_violated("claim"))
    assert replayed.is_confirmed, str(replayed)
