"""The agent's controllers for instances: they do what is requested, and report what is there.

Of every instance the agent reports what the platform shows, first of all at its start and whenever it has been cut off
(``sessions``). In the states that belong to it, it works: it says that it has begun (that message may be lost), lets
the driver do it, and says how it ended. An agent that crashed in between finds the state as it left it, looks at the
platform, and either reports the end or does it again; it needs no memory. Before it does something again it says so,
which makes reports of its former life too late.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from attractor.objects.errors import ServiceUnavailable, Timeout
from attractor.objects.gvk import Key
from attractor.operators.edge.api.intents import DELETIONS, lifecycle_of, status_of, with_status
from attractor.operators.edge.api.states import Actor, CloudletState, TrackedState
from attractor.operators.edge.api.types import AppInst, Cloudlet, ClusterInst, Installed
from attractor.operators.edge.controllers.upgrades import agent_state, cloudlet_status
from attractor.operators.edge.drivers.protocols import APP, CLUSTER, Drained, Driver, DriverError, Found, Ref
from attractor.runtime import Index, Result, Watches, controller

if TYPE_CHECKING:
    from attractor.operators.edge.api.types import Instance, InstanceStatus
    from attractor.operators.edge.controllers.sessions import Reports
    from attractor.runtime import Context, Controller

T = TrackedState
BEGUN = {T.CREATE_REQUESTED: T.CREATING, T.UPDATE_REQUESTED: T.UPDATING, T.DELETE_REQUESTED: T.DELETING}
LATER_S = 0.2
UNSERVED_S = 1.0
"""How often an agent that does not serve looks at what it found without an object."""


@dataclass(frozen=True)
class Taken:
    """The operation that this process has said it works on; so whatever an earlier process has sent is refused."""

    operation: int


def serves(cloudlet: Cloudlet | None, version: str) -> bool:
    """Return whether the agent of a version is the one that works on instances."""
    if cloudlet is None:
        return False
    status = cloudlet_status(cloudlet)
    return status.version == version and agent_state(status, version) is CloudletState.READY


def as_installed(found: Found | None) -> Installed | None:
    """Return the state on the platform, as an object's status says it."""
    if found is None:
        return None
    return Installed(generation=found.generation, settings=dict(found.settings), endpoint=found.endpoint)


class Worker:
    """Reconciles the instances of one kind, for the agent of one version."""

    def __init__(self, kind: type[ClusterInst | AppInst], version: str, reports: Reports | None = None) -> None:
        self.kind = kind
        self.version = version
        self._reports = reports
        self._name = CLUSTER if kind is ClusterInst else APP

    @property
    def _session(self) -> str:
        return "" if self._reports is None else self._reports.session

    def _told(self, ref: Ref, session: str) -> None:
        if self._reports is not None:
            self._reports.told(ref, session)

    async def reconcile(self, ctx: Context, key: Key) -> Result | None:
        """Do what one instance asks for, and report what is there."""
        cloudlet = await ctx.find(Cloudlet, Key(key.namespace, key.namespace))
        ref, session = Ref(self._name, *key), self._session
        if not serves(cloudlet, self.version):
            self._told(ref, session)
            return await self._wait_to_serve(ctx, ref)
        obj = await ctx.find(self.kind, key)
        try:
            if obj is None:
                await self._clear(ctx, ref)
            elif lifecycle_of(obj).owner(status_of(obj).state) is Actor.CRM:
                self._told(ref, session)  # its state says that this agent is at it, however long that takes
                await self._work(ctx, obj, ref)
            else:
                await self._report(ctx, obj, ref, session)
        except Drained:
            self._told(ref, session)
            return Result(requeue_after_s=LATER_S)  # whoever serves next takes it up
        except DriverError:
            self._told(ref, session)  # of what the platform does not tell, nothing can be said
            raise
        self._told(ref, session)
        return None

    async def _wait_to_serve(self, ctx: Context, ref: Ref) -> Result | None:
        """Ask to come back for what has no object: only what has one is woken when the cloudlet changes."""
        if await ctx.find(self.kind, Key(ref.namespace, ref.name)) is not None:
            return None
        if await ctx.external(Driver).find(ref) is None:
            return None
        return Result(requeue_after_s=UNSERVED_S)

    async def _clear(self, ctx: Context, ref: Ref) -> None:
        """Nobody has this instance: it must not run. The cache may be behind, so the server is asked."""
        if await ctx.external(Driver).find(ref) is None:
            return
        if await self._should_not_be(ctx, ref):
            await ctx.external(Driver).remove(ref)

    async def _should_not_be(self, ctx: Context, ref: Ref) -> bool:
        """Return whether the server itself says that nothing should be there."""
        obj = await ctx.find(self.kind, Key(ref.namespace, ref.name), cached=False)
        return obj is None or status_of(obj).state is T.NOT_PRESENT

    async def _report(self, ctx: Context, obj: Instance, ref: Ref, session: str) -> None:
        """Say what is there, if that is news or was not said in this session; where nothing should be, see to it."""
        found = await ctx.external(Driver).find(ref)
        if found is not None and status_of(obj).state is T.NOT_PRESENT and await self._should_not_be(ctx, ref):
            await ctx.external(Driver).remove(ref)
            found = None
        status = status_of(obj.deep_copy())
        status.current, status.reported = as_installed(found), session or status.reported
        if status != status_of(obj):
            await self._write(ctx, obj, status)

    async def _work(self, ctx: Context, obj: Instance, ref: Ref) -> None:
        """Say that it begins, do it (again, if the report of its end was lost), and say how it ended."""
        obj = await self._begin(ctx, obj)
        driver, target = ctx.external(Driver), status_of(obj).target
        try:
            if target is None or status_of(obj).state in DELETIONS:
                await driver.remove(ref)
            else:
                await driver.apply(ref, target.generation, tuple(sorted(target.settings.items())))
        except DriverError as error:
            await self._end(ctx, obj, ref, "error", str(error))
        else:
            await self._end(ctx, obj, ref, "response", "")

    async def _begin(self, ctx: Context, obj: Instance) -> Instance:
        """Say that work has begun. If the message is lost, the work goes on: the table has a shortcut for that."""
        status = status_of(obj.deep_copy())
        running = BEGUN.get(status.state)
        if running is None:
            return await self._begin_again(ctx, obj)
        status.state = lifecycle_of(obj).follow(status.state, Actor.CRM, "response", to=running)
        status.attempts, status.message = 1, f"agent {self.version} is at work"
        try:
            written: Instance = await self._write(ctx, obj, status)
        except (ServiceUnavailable, Timeout) as error:
            ctx.log.info("a progress message was lost", error=str(error))
            return obj
        await ctx.remember(Taken(status.operation))
        return written

    async def _begin_again(self, ctx: Context, obj: Instance) -> Instance:
        """Take up work that this process has not begun. What an earlier one sent may still be under way: this write
        changes the object, so that the server refuses it; without that, the operation could end while it is done."""
        status = status_of(obj.deep_copy())
        if await ctx.recall(Taken) == Taken(status.operation):
            return obj
        status.attempts, status.message = status.attempts + 1, f"agent {self.version} is at work again"
        written: Instance = await self._write(ctx, obj, status)
        await ctx.remember(Taken(status.operation))
        return written

    async def _end(self, ctx: Context, obj: Instance, ref: Ref, event: str, why: str) -> None:
        """Say how the work has ended, and what is there now."""
        status = status_of(obj.deep_copy())
        ends = T.NOT_PRESENT if status.state in DELETIONS else T.READY
        to = ends if event == "response" else None
        status.state = lifecycle_of(obj).follow(status.state, Actor.CRM, event, to=to)
        status.reported = self._session or status.reported
        try:
            status.current = found = as_installed(await ctx.external(Driver).find(ref))
        except DriverError:
            if not why:
                raise  # it is not known to be there, so it is not said to be; doing it again is harmless
            found = status.current  # it is looked at again when the platform can be asked
        status.error = why
        status.message = why or (f"at {found.endpoint}" if found is not None and found.endpoint else str(status.state))
        try:
            await self._write(ctx, obj, status)
        except (ServiceUnavailable, Timeout):
            await ctx.forget(Taken)  # the report may still arrive
            raise

    async def _write(self, ctx: Context, obj: Instance, status: InstanceStatus) -> Any:
        return await ctx.patch_from(obj, with_status(obj, status), subresource="status")


def _all_of_cloudlet(obj: ClusterInst | AppInst) -> list[str]:
    return [f"{obj.metadata.namespace}/{obj.metadata.namespace}"]


def worker(
    kind: type[ClusterInst | AppInst],
    version: str,
    sources: tuple[Any, ...] = (),
    workers: int = 8,
    reports: Reports | None = None,
) -> Controller:
    """The controller of one kind, for the agent of a version; ``sources`` tell what changes on the platform."""
    return controller(
        Worker(kind, version, reports).reconcile,
        name=f"agent-{kind.__name__.lower()}s",
        for_=kind,
        watches=[Watches(Cloudlet, index="cloudlet")],
        indexes=[Index(kind, "cloudlet", _all_of_cloudlet)],
        sources=sources,
        externals=[Driver],
        workers=workers,
    )
