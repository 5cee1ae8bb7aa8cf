"""``Host``: a production manager whose every step waits for its turn. It lives from ``start`` to ``crash``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attractor.client import Client
from attractor.runtime.manager import Manager
from attractor.testing.directed.gates import Departed, Gate, Worker, Workers
from attractor.testing.directed.queue import GatedCalls, GatedQueue
from attractor.testing.directed.reconciles import gated
from attractor.testing.directed.transport import GatedTransport

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from attractor.client import ClientRequest, Transport
    from attractor.objects.resource import Resource
    from attractor.runtime import Controller
    from attractor.runtime.effects import Effect
    from attractor.testing.directed.transport import GatedStream, Outcome


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
    ) -> None:
        self.name = name
        self._workers = Workers()
        self.begins: Gate[None, None] = Gate("for a key")
        self.effects: Gate[Effect[Any] | None, None] = Gate("with an effect")
        self.requests: Gate[ClientRequest, Outcome] = Gate("with a request")
        self.transport = GatedTransport(transport, self.requests, self._workers, group)
        declared = [gated(one, self._turn) for one in controllers]
        self.manager = Manager(
            Client(self.transport), declared, now=now, externals=externals, workers=workers, resync_s=None
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
        self._task = group.create_task(self.manager.run())

    async def _turn(self, effect: Effect[Any] | None) -> None:
        worker = self._workers.current()
        if worker is not None:
            await self.effects.wait(worker, effect)

    @property
    def is_running(self) -> bool:
        """Whether its controllers run."""
        return self.manager.is_running and not self._task.done()

    def queue(self, controller: str) -> GatedQueue:
        """The queue of a controller; raises ``Departed`` when there is no such controller."""
        if controller not in self.queues:
            raise Departed(f"{self.name} runs no controller {controller!r}; it runs {', '.join(self.queues)}")
        return self.queues[controller]

    def stream(self, kind: type[Resource]) -> GatedStream:
        """The open watch of a kind; raises ``Departed`` when there is none."""
        wanted = kind.resource_info.group_resource
        if wanted not in self.transport.streams:
            raise Departed(f"{self.name} does not watch {wanted}")
        return self.transport.streams[wanted]

    def state_of(self, worker: Worker) -> str:
        """What a worker does, for people."""
        if worker in self.begins.waiting:
            return "waits for a key"
        if worker in self.effects.waiting:
            effect = self.effects.waiting[worker]
            return "is about to finish" if effect is None else f"is about to ask {effect!r}"
        request = self.requests.waiting.get(worker)
        return "is elsewhere" if request is None else f"is about to send {request.method} {request.target}"

    def kill(self) -> list[ClientRequest]:
        """End at once, without any farewell; answers the requests that were on their way."""
        self.transport.cut_off()
        self._task.cancel()
        return self.transport.left_over
