"""Slow work in the background, results through memory: a Job object is a run of something outside.

Shows: ``ctx.start``, ``ctx.remember`` with an identity, deferred operations, scheduled reconciles, a channel source.
"""

from dataclasses import dataclass, replace
from typing import Protocol

from attractor import Context, Key, Resource, Result, Struct, controller
from attractor.toolkit import Channel


class Runner(Protocol):
    """Runs commands; each takes its time."""

    async def run(self, command: str) -> int:
        """The exit code."""


class RunStatus(Struct):
    """Where it stands."""

    phase: str = ""
    exit_code: int | None = None


class RunSpec(Struct):
    """What to run."""

    command: str


class Run(Resource, group="examples.attractor.dev", version="v1"):
    """One run of a command."""

    spec: RunSpec
    status: RunStatus = RunStatus()


@dataclass(frozen=True)
class Progress:
    """What this process knows of a run; lost when it ends, and then begun again."""

    uid: str
    exit_code: int | None = None


async def work(ctx: Context, command: str, uid: str) -> None:
    """Outside the reconcile: do it, note the result for the next reconcile of this very run, and ask for one."""
    code = await ctx.external(Runner).run(command)
    await ctx.defer(Progress, lambda progress: replace(progress, exit_code=code), identity=uid)
    await ctx.schedule()


poked: Channel[Key] = Channel()
"""Keys from anywhere: whoever sends one gets a reconcile."""


@controller(for_=Run, externals=[Runner], sources=[poked], background_limit=2)
async def workers(ctx: Context, key: Key) -> Result | None:
    """Begin the work once, and tell how it went."""
    run = await ctx.find(Run, key)
    if run is None or run.status.phase == "Done":
        await ctx.forget(Progress)
        return None
    progress = await ctx.recall(Progress)
    changed, uid = run.deep_copy(), run.metadata.uid
    if progress is None or progress.uid != uid:
        await ctx.remember(Progress(uid), identity=uid)
        await ctx.start(work, run.spec.command, uid)
        changed.status.phase = "Running"
    elif progress.exit_code is not None:
        changed.status.phase, changed.status.exit_code = "Done", progress.exit_code
    if changed != run:
        await ctx.patch_from(run, changed, subresource="status")
    return None
