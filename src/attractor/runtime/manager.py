"""``Manager``: controllers that live together, with one client, one cache and one leader.

    manager = Manager(client, [pairs], health=("0.0.0.0", 8081))
    await manager.run()                  # until stop(), or until leadership is lost

Start, in this order: health endpoints, Events, caches (and wait until they are synced), leadership, controllers. A
standby is warm: its caches are synced before it leads. Stop, in reverse: controllers finish what they are doing (up to
``grace_s``), the Lease is released, caches stop, addresses are given up. When leadership is lost nothing is finished:
everything that could write is cancelled at once, and ``run`` raises ``LeadershipLost``.
"""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from attractor.cache import Cache
from attractor.runtime.controller import BuilderError
from attractor.runtime.lease import LeaderElector, LeadershipLost
from attractor.runtime.observability.events import EventRecorder
from attractor.runtime.observability.field_logger import FieldLogger
from attractor.runtime.observability.health_server import HealthServer
from attractor.runtime.observability.metered_transport import MeasuredTransport
from attractor.runtime.observability.metrics import Metrics
from attractor.runtime.observability.tracing import configured_tracer
from attractor.runtime.worker.overdue import LONG_S, LOOK_S, TIMEOUT_S
from attractor.runtime.worker.performer import Memory, Performer
from attractor.runtime.worker.running_controller import RESYNC_S, RunningController
from attractor.runtime.worker.unawaited import warn_of_unawaited
from attractor.runtime.worker.views import Views

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Mapping
    from typing import Any

    from attractor.cache import Scope
    from attractor.client import Client
    from attractor.objects.resource import Resource
    from attractor.runtime.controller import Controller
    from attractor.runtime.lease import Election
    from attractor.runtime.observability.tracing import Tracer

GRACE_S = 30.0
EVENTS_S = 2.0
"""How long stopping waits for Events to be written."""


def wall_clock() -> datetime:
    """The time, in UTC."""
    return datetime.now(UTC)


class Manager:
    """Runs controllers against one cluster: caches, work queues, leader election, health and metrics. Use it once.

        async with Client.connect() as client:
            await Manager(client, [pairs]).run()

    Guarantees: an object is never reconciled twice at once by one controller; caches are synced before the first
    reconcile; with an election, a controller that needs the leader writes only while this process holds the Lease.

    Args:
        client: What reads and writes; its transport is measured from now on.
        controllers: At least one.
        namespace: Watch only this namespace; empty for all.
        scopes: Watch only a part of single kinds, by namespace, labels or fields.
        transform: Applied to every object before it is cached, such as ``drop_managed_fields``.
        externals: The outside systems that controllers declare, by protocol class.
        election: Lead only while holding this Lease; ``None`` for no election.
        health: Host and port of ``/healthz``, ``/readyz`` and ``/metrics``; ``None`` for none.
        workers: How many objects each controller reconciles at once, whatever it declares.
        timeout_s: Limit of one reconcile, where a controller declares none; ``None`` for no limit.
        grace_s: How long running reconciles may take to finish after ``stop``.
        resync_s: How often everything is reconciled again although nothing changed; ``None`` for never.
        now: The clock of events and leases.
        tracer: Where spans of reconciles go.

    Raises:
        BuilderError: There is no controller, two have one name, or a declared outside system is missing.
    """

    def __init__(
        self,
        client: Client,
        controllers: Iterable[Controller],
        *,
        namespace: str = "",
        scopes: Mapping[type[Resource], Scope] | None = None,
        transform: Callable[[Any], Any] | None = None,
        externals: Mapping[Any, object] | None = None,
        election: Election | None = None,
        health: tuple[str, int] | None = None,
        workers: int | None = None,
        timeout_s: float | None = TIMEOUT_S,
        grace_s: float = GRACE_S,
        resync_s: float | None = RESYNC_S,
        now: Callable[[], datetime] = wall_clock,
        tracer: Tracer | None = None,
    ) -> None:
        declared = tuple(controllers)
        self._externals = dict(externals or {})
        _check(declared, self._externals)
        for one in declared:
            warn_of_unawaited(one)
        self.metrics = Metrics()
        self.client = client
        host = str(getattr(client.transport, "host", ""))  # in process there is none
        client.transport = MeasuredTransport(client.transport, self.metrics, host)
        self.cache = Cache(client, namespace=namespace, transform=transform)
        for kind, scope in (scopes or {}).items():
            self.cache.scope(kind, scope)
        self._recorder = EventRecorder(client, self.metrics, now, instance=election.identity if election else "")
        self._elector = LeaderElector(client, election, now=now) if election is not None else None
        self.health = HealthServer(
            self.metrics,
            {"ping": lambda: "", "controllers": self._stuck},
            {"manager": self._wrong, "caches": self._unsynced, "leader-election": self._leaderless},
        )
        self._health_address = health
        self._grace_s = grace_s
        self._grace_until_s: float | None = None
        """Until when what is running may finish, once the manager is stopping."""
        self._now = now
        self._log = FieldLogger("attractor.runtime.manager")
        self._stopping = asyncio.Event()
        self._state = "not started"
        self._changed = asyncio.Event()
        self._leading: asyncio.Task[None] | None = None
        tracer = tracer or configured_tracer()
        self.controllers = [
            self._attached(
                RunningController(
                    one, self.metrics, workers=workers, timeout_s=timeout_s, tracer=tracer, resync_s=resync_s
                )
            )
            for one in declared
        ]
        if self._elector is not None:
            elector = self._elector
            self.metrics.leader.compute(elector.election.name, by=lambda: float(elector.is_leader))
            self.metrics.slow_renewals.compute(elector.election.name, by=lambda: float(elector.slow_renewals))

    def _attached(self, running: RunningController) -> RunningController:
        declared = running.declared
        views = Views(declared, self.cache)
        for kind, informer in views.informers.items():
            running.follow(informer, kind, views.keys_by_index(declared.for_.kind))
        gate = self._elector if declared.needs_leader else None
        running.attach(
            Performer(
                declared.name,
                client=self.client,
                views=views,
                recorder=self._recorder,
                externals=self._externals,
                now=self._now,
                start=running.background.start,
                schedule=running.scheduled.call,
                may_write=(lambda: True) if gate is None else (lambda: gate.is_leader),
            )
        )
        return running

    def memory(self, controller: Controller) -> Memory:
        """A controller's volatile memory, for handlers of outside events: find by identity, defer an operation."""
        return next(one.performer.memory for one in self.controllers if one.declared is controller)

    @property
    def health_port(self) -> int:
        """The port of the health endpoints, useful after asking for port 0."""
        return self.health.port

    @property
    def is_leader(self) -> bool:
        """Return whether this process may write: it holds the Lease, or there is no election."""
        return self._elector is None or self._elector.is_leader

    @property
    def is_running(self) -> bool:
        """Return whether the controllers run."""
        return self._state == "running"

    @property
    def is_ready(self) -> bool:
        """Return whether caches are synced and this process runs its controllers, or stands by and could lead."""
        return not self._wrong() and not self._unsynced() and not self._leaderless()

    def _wrong(self) -> str:
        return "" if self._state in {"running", "standing by"} else self._state

    def _stuck(self) -> str:
        """Return why only a restart helps: controllers of which every worker hangs, and lets nobody end it."""
        return "; ".join(f"{one.declared.name}: {why}" for one in self.controllers if (why := one.stuck()))

    def _unsynced(self) -> str:
        return "; ".join(f"{one.kind}: {one.why or 'not synced'}" for one in self.cache.health() if one.why)

    def _leaderless(self) -> str:
        """A process that can never lead must not look as if it stood by."""
        return "" if self._elector is None else self._elector.unreachable

    def stop(self) -> None:
        """Ask ``run`` to end: running reconciles may finish within ``grace_s``, no new one begins."""
        self._stopping.set()

    async def wait_running(self) -> None:
        """Wait until the controllers run.

        Raises:
            RuntimeError: The manager ended before that.
        """
        while not self.is_running:
            if self._state == "stopped":
                raise RuntimeError("the manager was stopped before its controllers ran")
            await self._changed.wait()
            self._changed.clear()

    def _become(self, state: str) -> None:
        self._state = state
        self._changed.set()
        self._log.info("manager", state=state)

    async def run(self) -> None:
        """Run until ``stop`` is called.

        Raises:
            ExceptionGroup: A part failed; with ``LeadershipLost`` in it when the Lease could not be renewed in time.
        """
        try:
            await self._run()
        finally:
            self._become("stopped")

    async def _run(self) -> None:
        async with asyncio.TaskGroup() as group:
            life = group.create_task(self._live())
            stopped = group.create_task(self._stopping.wait())
            await asyncio.wait({life, stopped}, return_when=asyncio.FIRST_COMPLETED)
            if self._state in {"not started", "syncing caches"}:
                life.cancel()  # no controller runs yet: there is nothing to finish
            await asyncio.wait({life})
            stopped.cancel()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Manager]:
        """Run while an ``async with`` block lasts: entered when controllers run, left when they have stopped."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self.run())
            await self.wait_running()
            try:
                yield self
            finally:
                self.stop()

    async def _listen(self, host: str, port: int) -> None:
        try:
            await self.health.start(host, port)
        except OSError as error:
            raise BuilderError(
                f"health cannot be served on {host}:{port}: {error.strerror}; choose another address, or port 0"
            ) from error

    async def _live(self) -> None:
        async with AsyncExitStack() as stack:
            if self._health_address is not None:
                await self._listen(*self._health_address)
                stack.push_async_callback(self.health.aclose)
            recording = await stack.enter_async_context(_alongside(self._recorder.run()))
            stack.push_async_callback(self._finish_events, recording)
            await stack.enter_async_context(_alongside(self.cache.run()))
            await stack.enter_async_context(_alongside(self._watch_over()))
            self._become("syncing caches")
            await self.cache.wait_synced()
            if self._elector is None:
                await self._run_controllers(self.controllers)
                return
            early = [one for one in self.controllers if not one.declared.needs_leader]
            async with _alongside(self._run_all(early)) as running:
                self._become("standing by")
                await self._stand_by([one for one in self.controllers if one.declared.needs_leader], early)
                await self._finish(early, running)

    async def _stand_by(self, controllers: list[RunningController], early: list[RunningController]) -> None:
        """Until ``stop``, and until what was begun as the leader is finished; what runs early then begins no more."""
        async with _alongside(self._lead(controllers)) as leading, _alongside(self._stopped()) as stopped:
            await asyncio.wait({leading, stopped}, return_when=asyncio.FIRST_COMPLETED)
            for one in early:
                one.stop()
            if self._state == "standing by":
                self._become("stopping")
                leading.cancel()  # it waits for the Lease
            await asyncio.wait({leading})

    async def _stopped(self) -> None:
        await self._stopping.wait()

    async def _finish_events(self, recording: asyncio.Task[None]) -> None:
        """Write the Events that wait, if that is quick."""
        self._recorder.close()
        await asyncio.wait({recording}, timeout=EVENTS_S)

    async def _lead(self, controllers: list[RunningController]) -> None:
        assert self._elector is not None
        lost = asyncio.Event()

        def lose() -> None:
            lost.set()
            if self._leading is not None:
                self._leading.cancel()

        async with self._elector.leading(lose), _alongside(self._run_controllers(controllers)) as self._leading:
            await asyncio.wait({self._leading})
        if lost.is_set():
            raise LeadershipLost(f"lease {self._elector.election.name!r} was lost; start again to stand by")

    async def _run_controllers(self, controllers: list[RunningController]) -> None:
        """Until ``stop``; what is running then may finish within the grace time."""
        async with _alongside(self._run_all(controllers)) as running:
            self._become("running")
            await self._stopping.wait()
            self._become("stopping")
            await self._finish(controllers, running)

    async def _finish(self, controllers: list[RunningController], running: asyncio.Task[None]) -> None:
        """Let what is running finish, within the grace time that all have together."""
        for one in controllers:
            one.stop()
        now_s = asyncio.get_running_loop().time()
        if self._grace_until_s is None:
            self._grace_until_s = now_s + self._grace_s
        _, late = await asyncio.wait({running}, timeout=max(0.0, self._grace_until_s - now_s))
        if late:
            keys = sorted(str(key) for one in controllers for key, _ in one.unfinished())
            self._log.warning(
                "reconciles did not finish in time and are cancelled", grace_s=self._grace_s, keys=", ".join(keys)
            )

    async def _watch_over(self) -> None:
        """End what takes longer than allowed, and say what keeps workers busy for very long."""
        while True:
            for _ in range(round(LONG_S / LOOK_S)):
                await asyncio.sleep(LOOK_S)
                for one in self.controllers:
                    one.end_overdue()
            for one in self.controllers:
                self._tell_late(one)

    def _tell_late(self, controller: RunningController) -> None:
        late, limit_s = controller.late(), controller.limit_s
        if not late:
            return
        follows = "it is cancelled when its time is over"
        if limit_s is None:
            follows = "`timeout_s` of its controller would end it"
        elif late[0].took_s > limit_s + LOOK_S:
            follows = "although it was cancelled; only a restart frees its worker"
        self._log.warning(
            f"a reconcile has not ended; {follows}",
            controller=controller.declared.name,
            key=str(late[0].key),
            running_s=round(late[0].took_s),
            timeout_s=limit_s,
            line=late[0].line,
            others=len(late) - 1,
        )

    async def _run_all(self, controllers: list[RunningController]) -> None:
        async with asyncio.TaskGroup() as group:
            for one in controllers:
                group.create_task(one.run())


@asynccontextmanager
async def _alongside(work: Coroutine[Any, Any, None]) -> AsyncIterator[asyncio.Task[None]]:
    """Run something while the block lasts; its failure ends the block."""
    async with asyncio.TaskGroup() as group:
        task = group.create_task(work)
        try:
            yield task
        finally:
            task.cancel()


def _check(controllers: tuple[Controller, ...], externals: Mapping[Any, object]) -> None:
    if not controllers:
        raise BuilderError("the manager has no controllers; give it at least one, as in Manager(client, [pairs])")
    names = [one.name for one in controllers]
    for name in names:
        if names.count(name) > 1:
            raise BuilderError(f"two controllers are called {name!r}; give one of them another name with `name=`")
    for one in controllers:
        for protocol in one.externals:
            if protocol not in externals:
                raise BuilderError(
                    f"controller {one.name!r} needs the outside system {protocol.__name__}; "
                    f"give the manager externals={{{protocol.__name__}: ...}}"
                )
