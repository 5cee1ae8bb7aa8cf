"""Differential test of checker and runtime: random runs of a world, carried out by the runtime, step by step.

    for seed in range(100):
        assert asyncio.run(agree(world, seed=seed)).is_confirmed

Every step of the checker is then a step of the runtime with the same requests, answers, objects and undelivered events.
A difference is a bug of Attractor; the seed shows it again.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

from attractor.check.engine.execution import apply, padded
from attractor.check.engine.execution import steps as outcomes_of
from attractor.check.errors import Grown
from attractor.check.trace import Trace, TraceStep, plain
from attractor.testing.replay.replay import Replayed, rehearse

if TYPE_CHECKING:
    from attractor.check.engine.execution import Outcome
    from attractor.check.engine.model import Instance, Model, State
    from attractor.check.world.api.world import World

STEPS = 60


async def agree(world: World, *, seed: int, steps: int = STEPS) -> Replayed:
    """Carry a random run out on the runtime; confirmed when all its steps come out the same."""
    return await rehearse(world, random_run(world, seed=seed, steps=steps))


def random_run(world: World, *, seed: int, steps: int = STEPS) -> Trace:
    """A run that takes, at each state, any action that can be taken, rare ones as often as frequent ones."""
    while True:
        try:
            return _run(world, random.Random(seed), steps)  # noqa: S311 - a choice of runs, not a secret
        except Grown as grown:
            world.grow(grown)


def _run(world: World, chance: random.Random, steps: int) -> Trace:
    model = world.compile()
    state = model.initial[0]
    taken: list[TraceStep] = []
    for _ in range(steps):
        chosen = _chosen(model, padded(model, state), chance)
        if chosen is None:
            break
        action, outcome = chosen
        before = padded(model, state)
        assert isinstance(outcome.leaf, tuple)
        state = apply(model, outcome.leaf, action.binding, before)
        taken.append(_step(model, action, outcome, before, state))
    initial = padded(model, model.initial[0])
    values = {slot.name: plain(slot.domain.values[at]) for slot, at in zip(model.slots, initial, strict=True)}
    return Trace(repr(world), "", values, tuple(taken))


def _chosen(model: Model, state: State, chance: random.Random) -> tuple[Instance, Outcome] | None:
    names = sorted({action.name for action in model.actions})
    chance.shuffle(names)
    for name in names:
        found = [
            (action, outcome)
            for action in model.actions
            if action.name == name
            for outcome in outcomes_of(model, action, padded(model, state))
            if isinstance(outcome.leaf, tuple)
        ]
        if found:
            return chance.choice(found)
    return None


def _step(model: Model, action: Instance, outcome: Outcome, before: State, after: State) -> TraceStep:
    changed: dict[str, Any] = {
        slot.name: plain(slot.domain.values[new])
        for slot, old, new in zip(model.slots, padded(model, before), padded(model, after), strict=True)
        if old != new
    }
    given = {name: plain(value) for name, value in action.arguments}
    return TraceStep(action.name, given, tuple(plain(each) for each in outcome.chosen), changed)
