"""Controllers and machines with a mistake, each one that somebody would make; the checker must find them."""

from attractor.operators.devplane.api.executables import Executable, ExecutableReplicaSet
from attractor.operators.devplane.controllers.dependencies import Found
from attractor.operators.devplane.controllers.executables import Executables, Known, begin, executables
from attractor.operators.devplane.controllers.health import Prober
from attractor.operators.devplane.controllers.replica_sets import ReplicaSets, tell
from attractor.operators.devplane.drivers.processes import Launch, Processes
from attractor.operators.devplane.proofs.properties import ModelRun, ProcessesModel
from attractor.operators.devplane.proofs.worlds import NEWS
from attractor.runtime import Context, Controller, Key, Reconciler, Result, controller
from attractor.runtime.toolkit.owners import is_controlled_by


def declared(wrong: Reconciler[Executable]) -> Controller:
    """The controller of Executables, with something else in its place."""
    right = executables(NEWS)
    return controller(
        wrong,
        name=right.name,
        watches=right.watches,
        indexes=right.indexes,
        sources=right.sources,
        externals=[Processes, Prober],
    )


class StartsWithoutRemembering(Executables):
    """Begins a run, and does not note that it does."""

    async def _begin(self, ctx: Context, known: Known, number: int, launch: Launch) -> None:
        await ctx.start(begin, known.uid, number, launch)


class BelievesTheCache(Executables):
    """Starts what the cache says, although it may be over."""

    async def _is_current(self, ctx: Context, obj: Executable) -> bool:
        return True


class StartsBeforeItSaysSo(Executables):
    """Starts at once, and stores the phase afterwards."""

    async def _prepare(self, ctx: Context, obj: Executable) -> None:
        obj.status.phase = "Starting"
        await self._begin(ctx, Known(obj.metadata.uid), 0, Launch(("serve",)))


class RemovesWithoutStopping(Executables):
    """Takes a run that nobody has claimed for one that never will begin."""

    async def clean_up(self, ctx: Context, obj: Executable) -> Result | None:
        known = await ctx.recall(Known)
        if known is not None and known.starting is not None:
            return Result(requeue_after_s=1)
        run = await ctx.external(Processes).look(obj.metadata.uid)
        if run is not None and run.is_live:
            await ctx.external(Processes).stop(obj.key, obj.metadata.uid, 1)
        await ctx.external(Processes).remove(obj.metadata.uid)
        await ctx.forget(Known)
        return None


class DoesNotWaitForTheStart(Executables):
    """Stops and removes while the run is being begun."""

    async def clean_up(self, ctx: Context, obj: Executable) -> Result | None:
        await ctx.external(Processes).stop(obj.key, obj.metadata.uid, 1)
        await ctx.external(Processes).remove(obj.metadata.uid)
        await ctx.forget(Known)
        return None


class CountsFromZero(Executables):
    """Asks for the first run again instead of the one after the last."""

    async def _begin(self, ctx: Context, known: Known, number: int, launch: Launch) -> None:
        await super()._begin(ctx, known, 0, launch)


class StartsAtOnce(Executables):
    """Does not wait for dependencies."""

    def _unmet(self, obj: Executable, others: Found) -> str:
        return ""


class WithoutClaims(ProcessesModel):
    """A machine that starts a process whenever it is asked to."""

    def start(self, key: Key, uid: str, number: int, launch: Launch) -> None:
        taken = [run.number for run in self.runs if run.uid == uid]
        number = max(taken, default=-1) + 1
        if number < 3:
            self.runs = tuple(sorted((*self.runs, ModelRun(key, uid, number, "sent"))))


class ByName(ProcessesModel):
    """A machine that knows Executables by their name, and there is one name only."""

    def _of(self, uid: str) -> list[ModelRun]:
        return [run for run in self.runs if not run.is_removed]


class CountsReplicas(ReplicaSets):
    """Counts what the cache shows, and gives new replicas names that were not there before."""

    async def sync(self, ctx: Context, obj: ExecutableReplicaSet) -> Result | None:
        listed = await ctx.list(Executable, namespace=obj.metadata.namespace)
        owned = [one for one in listed if is_controlled_by(one, obj) and not one.metadata.is_deleting]
        for number in range(obj.spec.replicas - len(owned)):
            await self._create(ctx, obj, f"{obj.metadata.name}-{obj.metadata.resource_version}-{number}")
        for extra in owned[obj.spec.replicas :]:
            await self._delete(ctx, extra)
        tell(obj, owned, "")
        return None
