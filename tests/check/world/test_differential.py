"""The checker's API server, cache, queue and client against the running ones: the same steps, the same answers.

Random walks through small worlds are carried out by the production runtime on the embedded server, step by step; after
each step the requests, their answers, what reconciles were told, the stored objects and the undelivered events must be
the same. The walks take any step that is possible, wise or not.

Watches are closed, and lists answered from the past, as often as anything else.
"""

from __future__ import annotations

import logging
import random
from typing import TYPE_CHECKING, Any

import pytest

from attractor import Context, Key, Reconciler, Result, controller
from attractor.check import Bounds, Create, Delete, Edit, Faults, World, always
from attractor.k8s.core_v1 import ConfigMap
from attractor.testing.replay.differential import agree
from tests.check.world.pairs import KEY, Pair, child, naive, pair, pairs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attractor.check.world.api.users import User


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    logging.getLogger("attractor").setLevel(logging.CRITICAL)
    yield
    logging.getLogger("attractor").setLevel(logging.NOTSET)


class Held(Reconciler[Pair]):
    """Holds its object with a finalizer, and lists its children by label when it cleans up."""

    kind = Pair

    async def sync(self, ctx: Context, obj: Pair) -> Result | None:
        wanted = child(obj, 1)
        wanted.metadata.labels = {"pair": obj.metadata.name}
        if await ctx.find(ConfigMap, wanted.key) is None:
            await ctx.create(wanted)
        return Result(requeue_after_s=5)

    async def clean_up(self, ctx: Context, obj: Pair) -> Result | None:
        for found in await ctx.list(ConfigMap, labels=f"pair={obj.metadata.name}"):
            await ctx.delete(found)
        return None


@controller(for_=Pair, owns=[ConfigMap])
async def applies(ctx: Context, key: Key) -> None:
    """Server-side apply, past the cache; says so in an annotation."""
    found = await ctx.find(Pair, key, cached=False)
    if found is None or found.metadata.is_deleting:
        return
    await ctx.apply(child(found, 1))
    await ctx.patch(Pair, key, {"metadata": {"annotations": {"applied": found.spec.text}}})


CONTROLLERS = [pairs, naive, controller(Held(), for_=Pair, owns=[ConfigMap]), applies]
EDIT = Edit(Pair, KEY, spec=[{"text": "x"}, {"text": "y"}], times=2)
STRAY = Edit(ConfigMap, ("default", "a-1"), patch=[{"data": {"text": "stray"}}])
USERS: list[User] = [EDIT, Delete(Pair, KEY), Create(pair()), STRAY, Delete(ConfigMap, ("default", "a-1"))]


FAULTS = (
    *("crash", "lost_request", "lost_answer", "conflict", "closed_watch", "stale_list", "stale_read", "late_request"),
    *("repeated", "partition"),
)


def random_world(chosen: random.Random) -> World:
    budgets: dict[str, Any] = {name: chosen.choice([0, 1]) for name in FAULTS}
    if chosen.random() < 0.5:
        budgets["closed_watch"] = 2
    return World(
        controllers=[chosen.choice(CONTROLLERS)],
        objects=[pair()] + ([pair("b")] if chosen.random() < 0.3 else []),
        users=[user for user in USERS if chosen.random() < 0.5],
        faults=Faults(**budgets),
        properties=[always(lambda _: True, name="anything")],
        bounds=Bounds(lag=chosen.choice([1, 2, 3])),
        closes_lagging_watches=chosen.random() < 0.3,
    )


@pytest.mark.parametrize("seed", range(16))
async def test_a_random_walk_goes_the_same_way_on_the_running_system(seed: int) -> None:
    replayed = await agree(random_world(random.Random(seed)), seed=seed, steps=60)
    assert replayed.is_confirmed, f"seed {seed}: {replayed}"


@pytest.mark.parametrize("seed", [91, 200, 230, 276, 565, 595, 1627])
async def test_walks_that_once_went_another_way_go_the_same_way(seed: int) -> None:
    """An older list after a closed watch, a read from the past without a network, timers of different priorities."""
    replayed = await agree(random_world(random.Random(seed)), seed=seed, steps=120)
    assert replayed.is_confirmed, f"seed {seed}: {replayed}"


@pytest.mark.nightly
async def test_many_random_walks_go_the_same_way_on_the_running_system() -> None:
    for seed in range(16, 400):
        replayed = await agree(random_world(random.Random(seed)), seed=seed, steps=120)
        assert replayed.is_confirmed, f"seed {seed}: {replayed}"
