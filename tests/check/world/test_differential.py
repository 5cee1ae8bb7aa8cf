"""The checker's API server, cache, queue and client against the running ones: the same steps, the same answers.

Random walks through small worlds are carried out by the production runtime on the embedded server, step by step; after
each step the requests, their answers, what reconciles were told, the stored objects and the undelivered events must be
the same. The walks take any step that is possible, wise or not.

Closed watches are left out: the running informer asks for its new list at once and the world when it is answered, so
an object in doubt is doubted a little longer there, and read from the server once more (docs/explanation/worlds.md).
"""

from __future__ import annotations

import logging
import random
from typing import TYPE_CHECKING, Any

import pytest

from attractor import Context, Key, Reconciler, Result, controller
from attractor.check.execution import apply, padded, steps
from attractor.check.trace import Trace, TraceStep, plain
from attractor.check.world import Create, Delete, Edit, Faults, World, always
from attractor.check.world.account import accounts
from attractor.objects.builtin.core_v1 import ConfigMap
from attractor.testing.replaying.replay import _Follower, directed
from tests.check.world.pairs import KEY, Pair, child, naive, pair, pairs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attractor.check.model import Instance, State
    from attractor.check.world.users import User


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


def random_world(chosen: random.Random) -> World:
    budgets: dict[str, Any] = {
        name: chosen.choice([0, 1]) for name in ("crash", "lost_request", "lost_answer", "conflict")
    }
    return World(
        [chosen.choice(CONTROLLERS)],
        [pair()] + ([pair("b")] if chosen.random() < 0.3 else []),
        [user for user in USERS if chosen.random() < 0.5],
        Faults(**budgets),
        [always(lambda _: True, name="anything")],
        lag=chosen.choice([1, 2, 3]),
    )


def random_walk(world: World, chosen: random.Random, length: int) -> Trace:
    """A run of a world that takes any of the possible steps, each as likely as the other."""
    model = world.compose().model
    state, run = model.initial[0], []
    for _ in range(length):
        ways: list[tuple[Instance, Any, State]] = []
        for action in model.actions:
            state = padded(model, state)
            outcomes = steps(model, action, state)
            state = padded(model, state)
            ways += [
                (action, each.chosen, apply(each.leaf, action.binding, state))
                for each in outcomes
                if isinstance(each.leaf, tuple)
            ]
        if not ways:
            break
        action, picked, after = chosen.choice(ways)
        run.append((action, picked, padded(model, state), padded(model, after)))
        state = after
    told = []
    for action, picked, before, after in run:
        changed = {
            slot.name: plain(slot.domain.values[new])
            for slot, old, new in zip(model.slots, padded(model, before), padded(model, after), strict=True)
            if old != new
        }
        arguments = {name: plain(value) for name, value in action.arguments}
        told.append(TraceStep(action.name, arguments, tuple(plain(each) for each in picked), changed))
    first = padded(model, model.initial[0])
    initial = {slot.name: plain(slot.domain.values[number]) for slot, number in zip(model.slots, first, strict=True)}
    return Trace(repr(world), "anything", initial, tuple(told))


@pytest.mark.parametrize("seed", range(16))
async def test_a_random_walk_goes_the_same_way_on_the_running_system(seed: int) -> None:
    chosen = random.Random(seed)
    world = random_world(chosen)
    trace = grown(world, seed)
    states = list(trace.states())
    async with directed(world, states[0]) as runtime:
        follower = _Follower(world, runtime, {})
        for host in world.hosts:
            await runtime.start(host)
        for number, account in enumerate(accounts(world, trace), 1):
            problem = await follower.follow(account, states[number])
            assert not problem, f"step {number} of {trace.actions}: {account.summary}: {problem}"


def grown(world: World, seed: int) -> Trace:
    """A walk through the world with all its parts: those that show themselves on the way are taken up first."""
    from attractor.check.errors import Grown

    while True:
        try:
            return random_walk(world, random.Random(seed), 40)
        except Grown as found:
            world.grow(found)
