"""Counterexamples that the runtime once refuted although they are true: each must be confirmed."""

import logging
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from attractor import Context, Key, ObjectMeta, controller
from attractor.check import Delete, Edit, Faults, World, always, check, eventually_stable
from attractor.check.world.api.state import WorldState
from attractor.k8s.core_v1 import ConfigMap, Namespace
from attractor.runtime import Result
from attractor.testing.replay import replay
from tests.check.world import test_environment as environment
from tests.check.world.everything import Till, TillModel, config, payer, service
from tests.check.world.pairs import KEY, Pair, pair


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@controller(for_=Pair)
async def forgets_the_room(ctx: Context, key: Key) -> Result | None:
    """Makes a namespace once, and what is inside whenever it is missing: in a namespace that ends it never succeeds."""
    if await ctx.find(Pair, key) is None:
        return None
    if await ctx.find(ConfigMap, Key("default", "made"), cached=False) is None:
        await ctx.create(Namespace(metadata=ObjectMeta(name="room")))
        await ctx.create(config("made"))
    return None


def there_is_a_room(look: WorldState) -> bool:
    return look.find(Namespace, Key("", "room")) is not None


async def pay_twice(ctx: Context) -> None:
    """Two pieces of work that both look before they leap."""
    if await ctx.external(Till).count() == 0:
        await ctx.external(Till).put(str(ctx.key))


@controller(for_=Pair, externals=[Till])
async def starts_two(ctx: Context, key: Key) -> None:
    """Starts two pieces of work at once."""
    if await ctx.find(Pair, key) is not None:
        await ctx.start(pay_twice)
        await ctx.start(pay_twice)


def paid_once(look: WorldState) -> bool:
    return len(look.external(Till).coins) <= 1


def silence_is_not_said(look: WorldState) -> bool:
    return all(each.data.get("said") != "silence" for each in look.list(ConfigMap))


ROOM = Delete(Namespace, Key("", "room"))
TRUE: dict[str, tuple[World, str]] = {
    "a namespace that is made and ended": (
        World(
            controllers=[forgets_the_room],
            objects=[pair()],
            users=[ROOM],
            properties=[eventually_stable(there_is_a_room, name="room")],
            kinds=[ConfigMap],
        ),
        "room",
    ),
    "a Service at the start that is replaced for ever": (
        World(controllers=[environment.replaces_for_ever], objects=[pair(), service()]),
        "quiesces",
    ),
    "a Service that is replaced for ever": (
        World(controllers=[environment.replaces_for_ever], objects=[pair()]),
        "quiesces",
    ),
    "two pieces of background work at once": (
        World(
            controllers=[starts_two], objects=[pair()], properties=[always(paid_once)], externals={Till: TillModel()}
        ),
        "paid once",
    ),
    "an outside system that is silent to background work": (
        World(
            controllers=[payer],
            objects=[pair()],
            faults=Faults(external_silence=1),
            properties=[always(silence_is_not_said)],
            externals={Till: TillModel()},
        ),
        "silence is not said",
    ),
    "a timeout between two writes": (environment.twice(environment.half_done), "both"),
    "a timeout while something is held": (
        World(
            controllers=[environment.locks],
            objects=[pair()],
            properties=[eventually_stable(environment.nothing_is_held, name="given back")],
        ),
        "given back",
    ),
    "a stop while something is held": (
        World(
            controllers=[environment.locks],
            objects=[pair()],
            faults=Faults(stop=1, timeout=0),
            properties=[eventually_stable(environment.nothing_is_held, name="given back")],
        ),
        "given back",
    ),
    "a refusal that is taken for the end": (environment.twice(environment.gives_up, faults=Faults(refusal=1)), "both"),
    "two workers of its own": (
        World(
            controllers=[replace(environment.takes_what_is_free, workers=2)],
            objects=[pair("a"), pair("b")],
            properties=[always(environment.one_has_it)],
            workers=1,
        ),
        "one has it",
    ),
    "generated names out of order": (
        World(
            controllers=[environment.trusts_the_order],
            objects=[pair()],
            users=[Edit(Pair, KEY, spec=[{"text": "y"}, {"text": "z"}], times=2)],
            properties=[always(environment.the_first_is_marked)],
            quiesces=False,
        ),
        "the first is marked",
    ),
}


@pytest.mark.parametrize("name", TRUE)
async def test_a_true_counterexample_is_confirmed(name: str) -> None:
    world, claim = TRUE[name]
    replayed = await replay(world, check(world).assert_violated(claim))
    assert replayed.is_confirmed, str(replayed)


@pytest.mark.parametrize("fault", environment.BEHIND)
async def test_a_fault_of_background_work_is_confirmed(fault: str) -> None:
    budget: dict[str, Any] = {fault: 1}
    world = environment.buckets(environment.once_behind, faults=Faults(**budget))
    replayed = await replay(world, check(world).assert_violated("one bucket"))
    assert replayed.is_confirmed, str(replayed)
