"""Differential tests: random runs of a world, carried out by the runtime and compared step by step.

    for seed in range(100):
        assert asyncio.run(agree(world, seed=seed)).is_confirmed

Every step of the checker is then a step of the runtime with the same requests, answers, objects and undelivered events.
A difference is a bug of Attractor; the seed shows it again.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from attractor.check.engine.execution import padded
from attractor.check.growth import fitted
from attractor.check.trace import Trace, plain
from attractor.check.world.simulation.walk import outcomes
from attractor.testing.replay.replay import Replayed, rehearse

if TYPE_CHECKING:
    from attractor.check.engine.model import State
    from attractor.check.trace import TraceStep
    from attractor.check.world.api.world import World
    from attractor.check.world.simulation.model import Universe
    from attractor.check.world.simulation.walk import Taken

STEPS = 60


async def agree(world: World, *, seed: int, steps: int = STEPS) -> Replayed:
    """Carry a random run out on the runtime; confirmed when all its steps come out the same."""
    return await rehearse(world, random_run(world, seed=seed, steps=steps))


def random_run(world: World, *, seed: int, steps: int = STEPS) -> Trace:
    """A run that takes, at each state, any action that can be taken, rare ones as often as frequent ones."""
    return fitted(world, lambda: _run(world, random.Random(seed), steps))  # noqa: S311 - a choice of runs, not a secret


def _run(world: World, chance: random.Random, steps: int) -> Trace:
    universe = world.compose()
    model = universe.model
    state = model.initial[0]
    run: list[TraceStep] = []
    for _ in range(steps):
        taken = _chosen(universe, state, chance)
        if taken is None:
            break
        state = taken.after
        run.append(taken.step(universe))
    initial = padded(model, model.initial[0])
    values = {slot.name: plain(slot.domain.values[at]) for slot, at in zip(model.slots, initial, strict=True)}
    return Trace(repr(world), "", values, tuple(run))


def _chosen(universe: Universe, state: State, chance: random.Random) -> Taken | None:
    names = sorted({action.name for action in universe.model.actions})
    chance.shuffle(names)
    for name in names:
        actions = (action for action in universe.model.actions if action.name == name)
        found = [taken for action in actions for taken in outcomes(universe, action, state)]
        if found:
            return chance.choice(found)
    return None
