"""Checker and runtime agree: random runs of worlds, step by step, on the production runtime.

Each seed is one run of up to 80 steps with every fault; the counts say how many steps were compared.
"""

import logging
from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest

from attractor import Context, Key, controller
from attractor.check import Bounds, Create, Delete, Edit, Faults, World
from attractor.check.world.api.users import User
from attractor.k8s.core_v1 import ConfigMap
from attractor.testing.replay.differential import agree, random_run
from tests.check.world.asking import Line, LineModel, answerer, asker, speaker
from tests.check.world.everything import everything
from tests.check.world.pairs import KEY, Pair, child, naive, pair, pairs
from tests.testing.replay.test_replay import Bank, Vault, lender, together, uncached

FAULTS = Faults(
    crash=2,
    late_request=1,
    repeated=1,
    delayed_request=1,
    lost_request=1,
    lost_answer=1,
    conflict=2,
    closed_watch=1,
    stale_list=1,
    stale_read=1,
    partition=1,
)
USERS: list[User] = [
    Edit(Pair, KEY, spec=[{"text": "x"}, {"text": "y"}], times=3),
    Delete(Pair, KEY, times=2),
    Create(pair(), times=2),
]
OUTSIDE = Faults(external_failure=2, external_silence=2, crash=1)


@dataclass
class Started:
    count: int


def told(started: Started) -> None:
    started.count += 10


async def make(ctx: Context, number: int) -> None:
    await ctx.defer(Started, told)
    owner = await ctx.find(Pair, ctx.key)
    if owner is not None:
        await ctx.create(child(owner, number))


@controller(for_=Pair, owns=[ConfigMap])
async def starter(ctx: Context, key: Key) -> None:
    """Makes its children in the background, and remembers which it has begun."""
    owner = await ctx.find(Pair, key)
    started = await ctx.recall(Started)
    count = 0 if started is None else started.count % 10
    if owner is not None and count < 2:
        await ctx.remember(Started(count + 1))
        await ctx.start(make, count + 1)


WORLDS = {
    "in the background": World(controllers=[starter], objects=[pair()], users=USERS, faults=FAULTS),
    "two objects": World(
        controllers=[pairs], objects=[pair(), pair("b")], users=USERS, faults=FAULTS, bounds=Bounds(lag=2)
    ),
    "one object": World(controllers=[naive], objects=[pair()], users=USERS, faults=FAULTS),
    "two hosts, two controllers": World(
        controllers=[pairs, uncached],
        objects=[pair()],
        users=USERS,
        faults=FAULTS,
        hosts=("h1", "h2"),
        own_writes=False,
    ),
    "asked together": World(controllers=[together], objects=[pair()], users=USERS, faults=FAULTS, workers=1),
    "outside": World(controllers=[lender], objects=[pair()], users=USERS, faults=OUTSIDE, externals={Bank: Vault()}),
    "hosts of their own": World(
        objects=[pair()],
        users=USERS,
        faults=replace(FAULTS, crash={"asks": 1, "answers": 1}, late_request={"answers": 1}, repeated={"asks": 1}),
        hosts={"asks": [asker, speaker], "answers": [answerer]},
        externals={Line: LineModel()},
    ),
    "leaders": World(
        controllers=[pairs],
        objects=[pair()],
        users=USERS,
        faults=Faults(leader_change=3, crash=1),
        hosts=("h1", "h2"),
        election=True,
        resync=True,
    ),
    **everything(),
}


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    logging.getLogger("attractor").setLevel(logging.CRITICAL)
    yield
    logging.getLogger("attractor").setLevel(logging.NOTSET)


@pytest.mark.parametrize("name", WORLDS)
@pytest.mark.parametrize("seed", range(2))
async def test_the_runtime_does_what_the_checker_does(name: str, seed: int) -> None:
    done = await agree(WORLDS[name], seed=seed, steps=80)
    assert done.is_confirmed, str(done)


@pytest.mark.nightly
@pytest.mark.parametrize("name", WORLDS)
async def test_the_runtime_does_what_the_checker_does_in_many_runs(name: str) -> None:
    for seed in range(2, 200):
        done = await agree(WORLDS[name], seed=seed, steps=80)
        assert done.is_confirmed, f"seed {seed}: {done}"


def test_random_runs_reach_every_kind_of_step() -> None:
    """Otherwise agreeing would say little."""
    taken = {
        step.action
        for world in WORLDS.values()
        for seed in range(5)
        for step in random_run(world, seed=seed, steps=80).steps
    }
    missing = {action.name for world in WORLDS.values() for action in world.compile().actions} - taken
    assert not missing
