"""``Host``: a production manager whose every step waits for its turn. It lives from its making until ``kill``."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, NamedTuple

from attractor.check.report.messages import as_json
from attractor.client import Client
from attractor.runtime.effects import Gather, Schedule, Start
from attractor.runtime.manager import Manager
from attractor.testing.directed.background import FIRST, GatedBackground
from attractor.testing.directed.gates import Departed, Gate, Worker, Workers, become
from attractor.testing.directed.queue import GatedCalls, GatedQueue
from attractor.testing.directed.reconciles import gated
from attractor.testing.directed.transport import GatedTransport

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence
    from datetime import datetime

    from attractor.client import ClientRequest, Transport
    from attractor.objects.gvk import GroupResource, Key
    from attractor.objects.resource import Resource
    from attractor.runtime import Controller
    from attractor.runtime.effects import Effect
    from attractor.testing.directed.transport import GatedStream, Outcome
    from attractor.testing.recording.recorder import Recorder


class Answered(NamedTuple):
    """An effect, and what it was answered: a value, as JSON before anybody changed it, or an error."""

    effect: Effect[Any]
    value: Any
    error: BaseException | None


class Host:
    """One process: client, cache, queues and workers. Its memory ends with it."""

    def __init__(
        self,
        name: str,
        transport: Transport,
        controllers: Sequence[Controller],
        *,
        group: asyncio.TaskGroup,
        now: Callable[[], datetime],
        externals: Mapping[Any, object],
        workers: int | None,
        own_writes: bool = True,
        recorder: Recorder | None = None,
    ) -> None:
        self.name = name
        self._workers = Workers()
        self.begins: Gate[Worker, None, None] = Gate("for a key")
        self.effects: Gate[Worker, Effect[Any] | None, None] = Gate("with an effect")
        self.parts: Gate[Worker, Effect[Any], None] = Gate("with one of several effects")
        self.gathers: dict[Worker, Gather] = {}
        """What workers asked for together, and wait for."""
        self.requests: Gate[Worker, ClientRequest, Outcome] = Gate("with a request")
        self.lists: Gate[GroupResource, None, None] = Gate("to be listed")
        self.transport = GatedTransport(transport, self.requests, self.lists, self._workers, group)
        self._holders: dict[tuple[str, Key], Worker] = {}
        self.background = GatedBackground(self._workers, self._turn, self._told)
        self.answers: list[Answered] = []
        """What reconciles were answered since the list was last emptied."""
        self.recorder = recorder
        watched = controllers if recorder is None else [recorder.watching(one) for one in controllers]
        declared = [gated(one, self._turn, self._told) for one in watched]
        self.manager = Manager(
            Client(self.transport if recorder is None else recorder.listening(self.transport)),
            declared,
            now=now,
            externals=externals,
            workers=workers,
            resync_s=None,
        )
        if not own_writes:
            self.manager.client.observer = None
        self.queues: dict[str, GatedQueue] = {}
        for running in self.manager.controllers:
            one = running.declared
            limiter = one.limiter() if one.limiter is not None else None
            queue = GatedQueue(one.name, self.manager.metrics, limiter, self.begins, self._workers)
            self.queues[one.name] = running.queue = queue
            running.scheduled = GatedCalls(queue)
            performer = running.performer
            # What is asked for together is performed by tasks of its own, each of which comes through here.
            performer.perform = self._gated(one.name, performer.perform)
        self._task = group.create_task(self.manager.run())

    async def _turn(self, effect: Effect[Any] | None) -> None:
        worker = self._workers.current()
        if worker is not None:
            await self.effects.wait(worker, effect)
            if isinstance(effect, Gather):
                self.gathers[worker] = effect

    def _gated(
        self, controller: str, perform: Callable[[Effect[Any]], Awaitable[Any]]
    ) -> Callable[[Effect[Any]], Awaitable[Any]]:
        """Perform effects; those of a ``Gather`` wait for their turn, one by one, and so does work that is started."""

        async def part(effect: Effect[Any]) -> Any:
            worker = self._workers.current()
            if isinstance(effect, Start):
                return await perform(self.background.directed(controller, effect))
            if isinstance(effect, Schedule):
                self.queues[controller].scheduled.add(effect.key)
                return None
            if (
                isinstance(effect, Gather)
                or worker is None
                or self._workers.is_own_task()
                or worker not in self.gathers
            ):
                return await perform(effect)
            asked = self.gathers[worker].effects
            mine = worker._replace(part=next(at for at, each in enumerate(asked) if each is effect))
            become(mine)
            await self.parts.wait(mine, effect)
            try:
                value = await perform(effect)
            except Exception as error:
                self._told(effect, None, error)
                raise
            self._told(effect, value, None)
            return value

        return part

    def _told(self, effect: Effect[Any], value: Any, error: BaseException | None) -> None:
        self.answers.append(Answered(effect, as_json(value), error))
        worker = self._workers.current()
        if isinstance(effect, Gather) and worker is not None:
            self.gathers.pop(worker, None)

    @property
    def manager_kinds(self) -> tuple[type[Resource], ...]:
        """The kinds that its controllers watch."""
        return tuple(dict.fromkeys(kind for one in self.manager.controllers for kind in one.declared.kinds))

    def queue(self, controller: str) -> GatedQueue:
        """The queue of a controller; raises ``Departed`` when there is no such controller."""
        if controller not in self.queues:
            raise Departed(f"{self.name} runs no controller {controller!r}; it runs {', '.join(self.queues)}")
        return self.queues[controller]

    def stream(self, kind: type[Resource]) -> GatedStream:
        """The open watch of a kind; raises ``Departed`` when there is none."""
        wanted = kind.resource_info.group_resource
        if wanted in self.unlisted or wanted not in self.transport.streams:
            raise Departed(f"{self.name} does not watch {wanted}")
        return self.transport.streams[wanted]

    @property
    def unlisted(self) -> list[GroupResource]:
        """Return the kinds that its caches have to list: at the start, and where the server has closed a watch."""
        closed = [resource for resource, stream in self.transport.streams.items() if stream.is_closed]
        return list(dict.fromkeys([*self.lists.waiting, *closed]))

    def begin(self, controller: str) -> Worker:
        """Let a free worker of a controller, the lowest by number, take a key; raises ``Departed`` if it cannot."""
        queue = self.queue(controller)
        free = sorted(worker for worker in self.begins.waiting if worker.controller == controller)
        if not len(queue):
            raise Departed(f"no key waits in the queue of {controller} on {self.name}")
        if not free:
            unsynced = ", ".join(map(str, self.lists.waiting))
            reason = f"its caches have not listed {unsynced}" if unsynced else "all of them are busy"
            raise Departed(f"no worker of {controller} on {self.name} is free: {reason}")
        self.begins.open(free[0], None)
        return free[0]

    def hold(self, worker: Worker, key: Key) -> None:
        """Keep in mind which worker has a key."""
        self._holders[worker.controller, key] = worker

    def holder(self, controller: str, key: Key | int) -> Worker:
        """The worker that reconciles a key, or that is at a place for background work; raises ``Departed``."""
        if isinstance(key, int):
            place = Worker(controller, FIRST + key)
            if not self.background.is_at(place):
                raise Departed(f"{controller} on {self.name} does no background work at place {key}")
            return place
        worker = self._holders.get((controller, key))
        if worker is None or worker in self.begins.waiting or key not in self.queue(controller).core.processing:
            raise Departed(f"{controller} on {self.name} does not reconcile {key}")
        return worker

    def is_waiting(self, worker: Worker) -> bool:
        """Return whether a worker waits for its turn at some gate."""
        gates = (self.begins.waiting, self.effects.waiting, self.requests.waiting, self.parts.waiting)
        return any(worker in gate for gate in gates)

    def has_stopped(self, worker: Worker) -> bool:
        """Return whether a worker has got to the next thing that it asks for, or to its end."""
        if worker.number >= FIRST and not self.background.is_at(worker):
            return True
        return worker in self.effects.waiting or worker in self.begins.waiting or self._workers.task(worker).done()

    def end(self, worker: Worker, *, is_late: bool) -> None:
        """Tell what a worker does to end: because its time is over (``is_late``), or because the process stops."""
        task = self._workers.task(worker)
        if is_late:
            expire(task)
        else:
            task.cancel()

    def stop(self) -> None:
        """Begin nothing new."""
        for running in self.manager.controllers:
            running.stop()

    def busy(self) -> list[tuple[str, Key]]:
        """The controllers and keys whose reconciles are under way."""
        return [(name, key) for name, queue in self.queues.items() for key in sorted(queue.core.processing)]

    def kill(self) -> list[ClientRequest]:
        """End at once, without any farewell; answers the list in which its requests under way will be."""
        if self.recorder is not None:
            self.recorder.is_full = True
        self.transport.cut_off()
        for gate in (self.begins, self.effects, self.parts, self.requests, self.lists):
            gate.is_shut = True
        self._task.cancel()
        return self.transport.left_over


def expire(task: asyncio.Task[Any]) -> None:
    """Let the innermost ``asyncio.timeout`` in which a task runs expire now; raises ``Departed`` when there is none."""
    loop: Any = task.get_loop()
    for handle in loop._scheduled:  # noqa: SLF001 - asyncio offers no other way to find the limits of a task
        limit = getattr(handle._callback, "__self__", None)  # noqa: SLF001
        if isinstance(limit, asyncio.Timeout) and limit._task is task and not handle.cancelled():  # type: ignore[attr-defined]  # noqa: SLF001
            limit.reschedule(loop.time())
            return
    raise Departed("the reconcile has no time limit that could be over")
