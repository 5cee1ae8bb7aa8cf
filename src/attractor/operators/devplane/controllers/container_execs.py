"""The controller of ContainerExecs: a command is run inside a Container, at most once whoever crashes.

The runtime gives a prepared command an id and runs it once for all time. So the id is stored before the command is run:
whoever comes after a crash asks for that id and never for another. A command that was prepared by somebody who died
before the id was stored is never run.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from attractor.objects.gvk import Key
from attractor.objects.resource import MicroTime
from attractor.operators.devplane.api.containers import Container, ContainerExec
from attractor.operators.devplane.controllers import container_orders as orders
from attractor.operators.local.containers.runtime import ContainerRuntime, NotThere, Refused, RuntimeProblem
from attractor.runtime import Index, Reconciler, Result, Watches, controller

if TYPE_CHECKING:
    from attractor.operators.local.containers.runtime import FoundExec
    from attractor.runtime import Context

LATER_S = 1.0
AT_ONCE = 16
FINAL = frozenset({"Finished", "FailedToStart", "Unknown"})
BY_CONTAINER = "container"


@dataclass(frozen=True)
class Ran:
    """Memory of this process about a command; a crash forgets it."""

    uid: str
    is_running: bool = True
    output: str = ""


async def run(ctx: Context, uid: str, execution: str) -> None:
    """In the background: run a prepared command, and report what it wrote."""
    output = ""
    try:
        output = await ctx.external(ContainerRuntime).run_exec(execution)
    except RuntimeProblem as problem:  # it was run before, or the runtime is away: looking tells
        ctx.log.info("a command was not run", problem=str(problem))
    await ctx.defer(Ran, lambda ran: replace(ran, is_running=False, output=output), identity=uid)
    await ctx.schedule()


class Execs(Reconciler[ContainerExec]):
    """Runs each command once, and tells how it ended."""

    kind = ContainerExec
    finalizer = None  # the command ends by itself, or with its container

    async def sync(self, ctx: Context, obj: ContainerExec) -> Result | None:
        """Take the next step of a command's life."""
        status = obj.status
        status.observed_generation = obj.metadata.generation
        if status.phase in FINAL:
            return None
        try:
            if not status.exec_id:
                return await self._prepare(ctx, obj)
            return await self._attend(ctx, obj)
        except NotThere as problem:
            status.phase = "Unknown" if status.exec_id else "FailedToStart"
            status.message = str(problem)
            return None
        except Refused as problem:
            status.phase, status.message = "FailedToStart", str(problem)
            return None
        except RuntimeProblem as problem:
            status.message = str(problem)
            return Result(requeue_after_s=LATER_S)

    async def _prepare(self, ctx: Context, obj: ContainerExec) -> Result | None:
        """Have the command prepared once the container runs; its id is stored before it is run."""
        spec, status = obj.spec, obj.status
        container = await ctx.find(Container, Key(obj.metadata.namespace, spec.container))
        if container is None or container.status.phase != "Running":
            status.message = f"waits for Container {spec.container}, which does not run"
            return None
        status.container_id = container.status.container_id
        status.exec_id = await ctx.external(ContainerRuntime).create_exec(
            container.status.container_id, orders.exec_order(spec)
        )
        status.phase, status.message = "Starting", ""
        return None

    async def _attend(self, ctx: Context, obj: ContainerExec) -> Result | None:
        status, uid = obj.status, obj.metadata.uid
        ran = await ctx.recall(Ran)
        if ran is not None and ran.uid != uid:
            ran = None
        found = await ctx.external(ContainerRuntime).find_exec(status.exec_id)
        if found is None:
            status.phase, status.message = "Unknown", "nobody knows how it ended: its container is gone"
        elif found.state == "ended":
            await self._tell_end(ctx, obj, found, ran)
        elif found.state == "created" and (ran is None or not ran.is_running):
            stored = await ctx.find(ContainerExec, obj.key, cached=False)
            if stored is not None and stored.status.exec_id == status.exec_id:
                await ctx.remember(Ran(uid), identity=uid)
                await ctx.start(run, uid, status.exec_id)
        elif found.state == "running" and status.phase != "Running":
            status.phase, status.started_at = "Running", MicroTime.of(await ctx.now())
        return Result(requeue_after_s=LATER_S) if status.phase not in FINAL else None

    async def _tell_end(self, ctx: Context, obj: ContainerExec, found: FoundExec, ran: Ran | None) -> None:
        status = obj.status
        if ran is not None and ran.is_running:
            return  # what it wrote is still to come
        now = MicroTime.of(await ctx.now())
        status.phase, status.exit_code = "Finished", found.exit_code
        status.started_at, status.finished_at = status.started_at or now, now
        status.output = ran.output if ran is not None else ""
        await ctx.forget(Ran)


execs = controller(
    Execs(),
    name="containerexecs",
    watches=[Watches(Container, index=BY_CONTAINER)],
    indexes=[
        Index(ContainerExec, BY_CONTAINER, lambda one: orders.keys_in(one.metadata.namespace, [one.spec.container]))
    ],
    externals=[ContainerRuntime],
    workers=2,
    background_limit=AT_ONCE,
)
