"""Containers proved: the controllers' own code, under every interleaving of crashes, lost answers and late requests.

Each world is explored completely. That a claim can fail is shown by controllers with one mistake.
"""

from collections.abc import Callable
from dataclasses import replace

import pytest

from attractor.check import World, check
from attractor.operators.devplane.api.containers import Container, ContainerExec
from attractor.operators.devplane.controllers.container_execs import Execs, execs
from attractor.operators.devplane.controllers.containers import Containers, Known, containers
from attractor.operators.devplane.proofs import container_worlds as worlds
from attractor.operators.local.containers.runtime import ContainerOrder, ContainerRuntime, RuntimeProblem
from attractor.runtime import Context, Key, Result
from tests.operators.proofs import assert_proved

STATES: dict[Callable[..., World], int] = {
    worlds.made: 168_137,
    worlds.late: 198_107,
    worlds.ended: 49_371,
    worlds.removed: 18_280,
    worlds.stopped: 38_251,
    worlds.deleted: 106_062,
    worlds.deleted_late: 194_684,
    worlds.recreated: 38_943,
    worlds.forced: 268_899,
    worlds.persistent: 18_795,
    worlds.networked: 995_282,
    worlds.commanded: 9_655,
}


LARGE = {worlds.made, worlds.late, worlds.deleted_late, worlds.forced, worlds.networked}


@pytest.mark.parametrize(
    "made",
    [pytest.param(made, marks=[pytest.mark.nightly] if made in LARGE else []) for made in worlds.WORLDS],
    ids=lambda made: made.__name__,
)
def test_what_is_promised_is_kept(made: Callable[[], World]) -> None:
    assert_proved(made, STATES)


class RemovesWhatItKnows(Containers):
    """Removes the container that the status names, and takes one that was never told for none."""

    async def clean_up(self, ctx: Context, obj: Container) -> Result | None:
        known = await ctx.recall(Known)
        if known is not None and known.is_starting:
            return Result(requeue_after_s=1)
        if obj.status.container_id:
            await ctx.external(ContainerRuntime).stop(obj.status.container_id, 1)
            await ctx.external(ContainerRuntime).remove(obj.status.container_id)
        await ctx.forget(Known)
        return None


async def adopt(ctx: Context, uid: str, order: ContainerOrder) -> None:
    """Start whatever has the name, also what somebody who died has made and is about to start."""
    runtime = ctx.external(ContainerRuntime)
    try:
        found = await runtime.find(order.name)
        identity = found.id if found is not None else await runtime.create(order)
        await runtime.start(identity)
    except RuntimeProblem:
        pass
    await ctx.defer(Known, lambda known: replace(known, is_starting=False), identity=uid)
    await ctx.schedule()


class StartsWhatItFinds(Containers):
    """Starts a container that was made by somebody who died."""

    async def _start(self, ctx: Context, known: Known, order: ContainerOrder) -> None:
        await ctx.remember(replace(known, is_starting=True), identity=known.uid)
        await ctx.start(adopt, known.uid, order)


class ForgetsStrays(Containers):
    """Takes a Container that is gone for one that has left nothing."""

    async def gone(self, ctx: Context, key: Key) -> Result | None:
        return None


@pytest.mark.parametrize(
    ("mistake", "made", "claim", "steps"),
    [
        (RemovesWhatItKnows, worlds.deleted, "what runs has its container", 29),
        (ForgetsStrays, worlds.deleted_late, worlds.SETTLED, 41),
        (StartsWhatItFinds, worlds.late, "never started twice", 32),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_controller_with_a_mistake_is_found_out(
    mistake: type[Containers], made: Callable[..., World], claim: str, steps: int
) -> None:
    wrong = replace(containers(worlds.NEWS), reconcile=mistake().reconcile)
    trace = check(made(wrong)).assert_violated(claim)
    assert len(trace) == steps, trace.actions


class RunsBeforeItSaysSo(Execs):
    """Runs a command as soon as it is prepared, and stores its id afterwards."""

    async def _prepare(self, ctx: Context, obj: ContainerExec) -> Result | None:
        result = await super()._prepare(ctx, obj)
        if obj.status.exec_id:
            await ctx.external(ContainerRuntime).run_exec(obj.status.exec_id)
        return result


def test_a_command_that_is_run_before_its_id_is_stored_is_found_out() -> None:
    wrong = replace(execs, reconcile=RunsBeforeItSaysSo().reconcile)
    trace = check(worlds.commanded(wrong)).assert_violated("a command is run at most once")
    assert len(trace) == 15, trace.actions
