"""A controller host in a world: one process with its client, cache and controllers, all of them the production ones.

What drives them is steps: list a kind, deliver an event, hand a key to a worker, perform what a reconcile waits for,
let a timer fire, crash. Each step runs on the stage, so all that the process knows is slots of the state.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any

from attractor.apiserver.kinds.registry import find_kind
from attractor.apiserver.response import refusal
from attractor.apiserver.verbs.watch import Watch
from attractor.cache import Cache
from attractor.check.errors import Disabled, SpecError
from attractor.check.events import Requested
from attractor.check.sandbox.lint import REFUSED
from attractor.check.world.simulation.process.informer import Lag, WatchSlots, WorldInformer
from attractor.check.world.simulation.process.worker import Worker
from attractor.client import Client
from attractor.client.errors import AnswerLost, ServerUnreachable
from attractor.client.kinds import MetadataOnly
from attractor.client.transport import ClientResponse
from attractor.client.verbs.retry import NO_RETRY
from attractor.objects.errors import ApiError
from attractor.objects.resource import Scheme

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence
    from datetime import datetime

    from attractor.check.events import Trouble
    from attractor.check.world.simulation.reductions import Reductions
    from attractor.check.world.simulation.server.api_server import ApiServer
    from attractor.check.world.simulation.slots import Cell, Stage
    from attractor.client.transport import ClientRequest
    from attractor.objects.gvk import Key
    from attractor.objects.json_types import JsonObject
    from attractor.objects.resource import Resource
    from attractor.runtime.controller import Controller
    from attractor.store.contract import Event

REFUSALS: dict[int, str] = {403: "Forbidden", 422: "Invalid", 429: "TooManyRequests", 500: "InternalError"}
"""How a server may refuse what it could do."""


class Captured(BaseException):
    """A request that was to be sent, taken off the wire."""

    def __init__(self, request: ClientRequest) -> None:
        super().__init__(request)
        self.request = request


class WorldTransport:
    """Carries a request to the world's API server within the running step, or loses it."""

    def __init__(self, server: ApiServer, stage: Stage, sender: str) -> None:
        self._server, self._stage, self._sender = server, stage, sender
        self.trouble: Trouble | None = None
        self.last: ClientRequest | None = None
        self.refusal = 500
        """The code of the answer while requests are refused."""
        self.is_cut_off: Callable[[], bool] = lambda: False

    async def send(self, request: ClientRequest) -> ClientResponse:
        """The server's answer; raises ``AnswerLost`` when the network is in trouble."""
        self.last = request
        if self.trouble == "captured":
            raise Captured(request)
        is_cancelled = self.trouble in {"cancelled", "cancelled after"}
        if self.is_cut_off() and not is_cancelled:  # whoever is told to end waits for no answer; it was sent before
            self._stage.note(Requested(self._sender, request, None, "cut off"))
            raise ServerUnreachable(f"{request.method} {request.path}: the server cannot be reached")
        if self.trouble == "cancelled":
            self._stage.note(Requested(self._sender, request, None, self.trouble))
            raise asyncio.CancelledError
        if self.trouble == "refused":
            response = refused_with(self.refusal)
            self._stage.note(Requested(self._sender, request, response))
            return response
        if self.trouble == "request lost":
            self._stage.note(Requested(self._sender, request, None, self.trouble))
            raise AnswerLost(f"{request.method} {request.path}: no answer came")
        if self.trouble == "repeated":
            self._stage.note(Requested(self._sender, request, self._server.send(request)))
        response = self._server.send(request)
        self._stage.note(Requested(self._sender, request, response, self.trouble))
        if self.trouble == "cancelled after":
            raise asyncio.CancelledError
        if self.trouble == "answer lost":
            raise AnswerLost(f"{request.method} {request.path}: no answer came")
        return response

    async def open(self, request: ClientRequest) -> Any:
        """Nobody opens streams here: watches are slots."""
        raise SpecError(f"{request.target}: a reconcile cannot watch; declare what it watches")

    async def aclose(self) -> None:
        """Nothing is held."""


def refused_with(code: int) -> ClientResponse:
    """The answer of a server that does not want to."""
    status: JsonObject = {"code": code, "reason": REFUSALS[code], "message": REFUSED}
    return ClientResponse(code, refusal(ApiError.from_status(status)).encode())


def at_once(work: Awaitable[Any]) -> Any:
    """The result of a coroutine that never has to wait; what it raises comes out."""
    waiting = work.__await__()
    try:
        yielded = next(waiting)
    except StopIteration as stop:
        return stop.value
    raise SpecError(f"a part of the runtime waits for {yielded!r} inside one step of the world")


class Host:
    """One controller process."""

    def __init__(
        self,
        name: str,
        controllers: Sequence[Controller],
        server: ApiServer,
        stage: Stage,
        *,
        keys: Mapping[str, tuple[Key, ...]],
        workers: Mapping[str, int],
        lacks_workers: Callable[[Controller], bool],
        lag: Lag,
        own_writes: bool,
        externals: Mapping[type, object],
        reductions: Reductions,
    ) -> None:
        self.name, self.lacks_workers = name, lacks_workers
        self._stage, self._server = stage, server
        self.kinds: tuple[type[Resource], ...] = tuple(dict.fromkeys(kind for one in controllers for kind in one.kinds))
        self._lag, self.reductions = lag, reductions
        self.leaders: Cell | None = None
        """Where there is an election: the hosts that think they lead, the one that does last."""
        self.is_stopping: Callable[[], bool] = lambda: False
        self.conditions: list[Callable[[], bool]] = []
        """What must be true for the host to be up, where others decide that."""
        self.on_crash: list[Callable[[str], None]] = []
        """Who is told, by name, that this host dies."""
        self.unsynced: Cell = stage.slot("unsynced", name, len(self.kinds))
        """How many kinds were not listed since the process began."""
        self.transport = WorldTransport(server, stage, name)
        self.client = Client(self.transport, scheme=Scheme(*self.kinds), retry=NO_RETRY)
        make = partial(WorldInformer, slots=self._slots)
        self.cache = Cache(self.client, own_writes=own_writes, make=make)
        self.workers = [
            Worker(one, self, stage, keys=keys[one.name], workers=workers[one.name], externals=externals)
            for one in controllers
        ]
        self.informers: dict[type[Resource], WorldInformer] = {kind: self.workers_informer(kind) for kind in self.kinds}

    def workers_informer(self, kind: type[Resource]) -> WorldInformer:
        """The informer that controllers share for a kind."""
        found = next(one.views.informers[kind] for one in self.workers if kind in one.views.informers)
        assert isinstance(found, WorldInformer)
        return found

    def _slots(self, kind: Any) -> tuple[WatchSlots, Cell, Watch, str]:
        if isinstance(kind, MetadataOnly):
            kind = kind.of
        info = kind.resource_info
        if any(
            one is not kind and one.gvk.kind == kind.gvk.kind and one.gvk.group == kind.gvk.group for one in self.kinds
        ):
            raise SpecError(
                f"host {self.name} watches two versions of {kind.gvk.kind}; a process of a world has one view "
                "of a kind: let its controllers use one version, or give each version a host of its own (hosts=...)"
            )
        served = find_kind(self._server.transaction(), info.group, info.version, info.resource)
        assert served is not None, f"{kind.gvk} is not served"
        watch = Watch(served, served.prefix(), None, None, after=0, initial=False, bookmarks=False, marks_end=False)
        return WatchSlots(self._stage, self.name, kind.gvk.kind, self._lag), self.unsynced, watch, kind.gvk.kind

    def now(self) -> datetime:
        """The time that controllers are told."""
        return self._server.now()

    @property
    def clock_stands(self) -> bool:
        """Whether the time is always the same."""
        return self._server.clock_stands

    def may_write(self) -> bool:
        """Whether this process thinks that it leads."""
        return self.leaders is None or self.name in self.leaders.get()

    def is_up(self) -> bool:
        """Whether the process is there, or about to be started again."""
        return all(condition() for condition in self.conditions)

    def hear(self, event: Event) -> None:
        """The store changed."""
        for informer in self.informers.values():
            if event.key.startswith(informer.prefix):
                informer.hear(event)

    # Steps.

    def list(self, kind: type[Resource]) -> None:
        """Read a whole kind, after a start or when the watch was closed."""
        informer = self.informers[kind]
        watch = informer.slots.watch.get()
        if isinstance(watch, int) or self.transport.is_cut_off() or not self.is_up():
            raise Disabled
        informer.core.was_synced = watch is not None
        try:
            with informer.core.being_told():
                at_once(informer._list())  # noqa: SLF001 - the informer's own activity, without its loop
        finally:
            informer.core.was_synced = None
        informer.core.version = "0"
        informer.slots.begin_watch()

    def list_older(self, kind: type[Resource]) -> None:
        """Read a whole kind from a server that lags behind; the events since then come afterwards."""
        informer, storage = self.informers[kind], self._server.storage
        log = storage.log(informer.prefix).get()
        by = self._stage.view.choose(range(1, min(len(log), self._lag.events) + 1))
        informer.is_shown_the_past = True
        try:
            with storage.older(informer.prefix, by):
                self.list(kind)
        finally:
            informer.is_shown_the_past = False
        for event in storage.events_since(informer.prefix, by):
            informer.hear(event)

    def deliver(self, kind: type[Resource]) -> None:
        """Hand the next event of a kind to the cache and the controllers."""
        if self.transport.is_cut_off() or self.informers[kind].deliver() is None:
            raise Disabled

    def close_watch(self, kind: type[Resource]) -> None:
        """The watch of a kind ends; the kind must be listed again."""
        slots = self.informers[kind].slots
        if not isinstance(slots.watch.get(), int):
            raise Disabled
        slots.close_watch()

    def crash(self) -> None:
        """The process dies and is started again: everything that it knew is gone."""
        for informer in self.informers.values():
            informer.slots.forget()
        self.unsynced.set(len(self.kinds))
        for one in self.workers:
            one.forget()
        for told in self.on_crash:
            told(self.name)
