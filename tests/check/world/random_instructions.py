"""Random controllers: programs of a few instructions, drawn by a seed, that use all that a context offers."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from attractor.check import Create, Delete, Edit, Faults, World
from attractor.k8s.core_v1 import ConfigMap
from attractor.objects.errors import ApiError
from attractor.objects.gvk import Key
from attractor.runtime import Owns, Result, controller
from tests.check.world.everything import Begun, Till, TillModel, config
from tests.check.world.pairs import KEY, Pair, pair

if TYPE_CHECKING:
    from attractor.check.world.api.users import User
    from attractor.runtime import Context, Controller

NAMES = ("one", "two")
FAULTS = (
    *("crash", "lost_request", "lost_answer", "repeated", "delayed_request", "late_request", "refusal"),
    *("closed_watch", "conflict", "external_failure", "external_silence", "stop", "partition"),
)
INSTRUCTIONS = (
    *("get", "get from server", "list", "create", "update", "patch", "delete", "apply", "gather", "remember"),
    *("recall", "start", "call", "schedule", "fail", "requeue"),
)


@dataclass(frozen=True)
class Instruction:
    """What to do, with which object, and whether a refusal is swallowed."""

    what: str
    name: str
    is_brave: bool


async def perform(ctx: Context, program: tuple[Instruction, ...], work: tuple[Instruction, ...] = ()) -> Result | None:
    """Carry a program out; ``work`` is what it starts in the background."""
    result: Result | None = None
    for each in program:
        try:
            result = await _one(ctx, each, work) or result
        except ApiError:
            if not each.is_brave:
                raise
        except TimeoutError:
            await _one(ctx, Instruction("patch", each.name, is_brave=True), ())
    return result


async def work_on(ctx: Context, program: tuple[Instruction, ...]) -> None:
    """Carry a program out in the background."""
    await perform(ctx, program)


async def _one(ctx: Context, each: Instruction, work: tuple[Instruction, ...]) -> Result | None:
    key = Key("default", each.name)
    match each.what:
        case "get":
            await ctx.find(ConfigMap, key)
        case "get from server":
            await ctx.find(ConfigMap, key, cached=False)
        case "list":
            found = await ctx.list(ConfigMap)
            await ctx.patch(Pair, ctx.key, {"metadata": {"annotations": {"count": str(len(found))}}})
        case "create":
            await ctx.create(config(each.name, text=str(ctx.key.name)))
        case "update":
            found_one = await ctx.find(ConfigMap, key)
            if found_one is not None:
                found_one.data = {"text": "updated"}
                await ctx.update(found_one)
        case "patch":
            await ctx.patch(ConfigMap, key, {"data": {"text": "patched"}})
        case "delete":
            await ctx.delete(config(each.name))
        case "apply":
            await ctx.apply(config(each.name, text="applied"))
        case "gather":
            await ctx.gather(ctx.find(ConfigMap, key, cached=False), ctx.create(config(each.name)))
        case "call":
            await ctx.external(Till).put(each.name)
        case _:
            return await _own(ctx, each, work)
    return None


async def _own(ctx: Context, each: Instruction, work: tuple[Instruction, ...]) -> Result | None:
    """What concerns nobody else."""
    match each.what:
        case "remember":
            await ctx.remember(Begun(1))
        case "recall":
            if await ctx.recall(Begun) is not None:
                await ctx.patch(Pair, ctx.key, {"metadata": {"annotations": {"recalled": "yes"}}})
        case "start":
            if work and await ctx.recall(Begun) is None:
                await ctx.remember(Begun(2))
                await ctx.start(work_on, work)
        case "schedule":
            if await ctx.recall(Begun) is None:
                await ctx.schedule()
        case "fail":
            if await ctx.recall(Begun) is None:
                raise RuntimeError("not begun")
        case "requeue":
            if await ctx.recall(Begun) is None:
                return Result(requeue_after_s=1)
    return None


def random_program(chance: random.Random) -> tuple[Instruction, ...]:
    return tuple(
        Instruction(chance.choice(INSTRUCTIONS), chance.choice(NAMES), chance.random() < 0.7)
        for _ in range(chance.randint(2, 5))
    )


def random_controller(chance: random.Random) -> Controller:
    program, work = random_program(chance), random_program(chance)

    async def random_reconcile(ctx: Context, key: Key) -> Result | None:
        if await ctx.find(Pair, key) is None:
            return None
        return await perform(ctx, program, work)

    return controller(
        random_reconcile,
        name="random",
        for_=Pair,
        owns=[Owns(ConfigMap, every_owner=True)],
        externals=[Till],
        workers=chance.choice([1, 2]),
        timeout_s=chance.choice([None, 30]),
    )


def random_world(seed: int) -> World:
    """A world of one random controller, with users and faults as they come."""
    chance = random.Random(seed)
    budgets: dict[str, Any] = {name: 1 for name in FAULTS if chance.random() < 0.4}
    users: list[User] = [Edit(Pair, KEY, spec=[{"text": "y"}, {"text": "x"}]), Delete(Pair, KEY), Create(pair())]
    return World(
        controllers=[random_controller(chance)],
        objects=[pair(), *([pair("b")] if chance.random() < 0.4 else [])],
        users=[user for user in users if chance.random() < 0.6],
        faults=Faults(**budgets),
        externals={Till: TillModel()},
        quiesces=False,
    )
