"""A transport in which each request of a worker and each list of an informer waits for its turn, and so does each event
of a watch.

Other requests (discovery) pass; Events for people never arrive. Bookmarks of a running watch are left out: a server may
always do so, and the world has none.
"""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import orjson

from attractor.check.world.simulation.process.host import refused_with
from attractor.client import AnswerLost, ClientResponse, ServerUnreachable
from attractor.client.verbs.watch import LineSplitter
from attractor.objects.gvk import GroupResource
from attractor.testing.request_log import describe

if TYPE_CHECKING:
    from collections.abc import Callable

    from attractor.client import ByteStream, ClientRequest, Transport
    from attractor.objects.json_types import JsonObject
    from attractor.testing.directed.gates import Gate, Worker, Workers

Outcome = Literal[
    "answered",
    "request lost",
    "answer lost",
    "repeated",
    "unreachable",
    "refused 403",
    "refused 422",
    "refused 429",
    "refused 500",
]
_BOOKMARK = b'{"type":"BOOKMARK"'


@dataclass(frozen=True)
class Performed:
    """A request, and what the server answered; None when it never saw the request."""

    request: ClientRequest
    response: ClientResponse | None


class GatedTransport:
    """One host's way to the server."""

    def __init__(
        self,
        inner: Transport,
        requests: Gate[Worker, ClientRequest, Outcome],
        lists: Gate[GroupResource, None, None],
        workers: Workers,
        group: asyncio.TaskGroup,
    ) -> None:
        self._inner = inner
        self._requests = requests
        self._lists = lists
        self._workers = workers
        self._group = group
        self._is_cut_off = False
        self.lagging: Callable[[ClientRequest], ClientResponse] | None = None
        """While it is set, reads are answered by a server that lags behind."""
        self.left_over: list[ClientRequest] = []
        """Requests that were on their way when the host crashed."""
        self.performed: deque[Performed] = deque()
        self.streams: dict[GroupResource, GatedStream] = {}

    def cut_off(self) -> None:
        """The host is gone: nothing that it still tries reaches the server."""
        self._is_cut_off = True

    async def send(self, request: ClientRequest) -> ClientResponse:
        """The server's answer, in this worker's turn and with what the director makes of it."""
        if self._is_cut_off:
            raise ServerUnreachable("the host has crashed")
        worker, asked = self._workers.current(), describe(request)
        if worker is None or asked is None:
            if asked is not None and asked.resource == "events":
                await asyncio.get_running_loop().create_future()  # Events are for people: none of them ever arrives
            if asked is not None and asked.verb == "list" and not _goes_on(request):
                await self._lists.wait(GroupResource(asked.group, asked.resource), None)
            return await self._ask(request)
        try:
            outcome = await self._requests.wait(worker, request)
        except asyncio.CancelledError:
            self.left_over.append(request)
            raise
        return await self._with(outcome, request)

    async def _ask(self, request: ClientRequest) -> ClientResponse:
        if self.lagging is not None and request.is_read:
            return self.lagging(request)
        return await self._inner.send(request)

    async def _with(self, outcome: Outcome, request: ClientRequest) -> ClientResponse:
        if outcome in {"request lost", "unreachable"}:
            self.performed.append(Performed(request, None))
            raise (AnswerLost if outcome == "request lost" else ServerUnreachable)("the connection broke")
        if outcome.startswith("refused"):
            response = refused_with(int(outcome.removeprefix("refused ")))
            self.performed.append(Performed(request, response))
            return response
        response = await self._ask(request)
        self.performed.append(Performed(request, response))
        if outcome == "answer lost":
            raise AnswerLost("the connection broke")
        if outcome == "repeated":
            response = await self._inner.send(request)
            self.performed.append(Performed(request, response))
        return response

    async def open(self, request: ClientRequest) -> ByteStream:
        """A watch whose events wait for their turn."""
        if self._is_cut_off:
            raise ServerUnreachable("the host has crashed")
        asked = describe(request)
        assert asked is not None, "only collections are watched"
        stream = GatedStream(await self._inner.open(request))
        self._group.create_task(stream.pump())
        self.streams[GroupResource(asked.group, asked.resource)] = stream
        return stream

    async def aclose(self) -> None:
        """Close the transport below."""
        await self._inner.aclose()


def _goes_on(request: ClientRequest) -> bool:
    """Return whether this is a further page of a list."""
    return any(name == "continue" for name, _ in request.query)


class GatedStream:
    """A watch: what the server sends is held until the director lets it go, event by event."""

    def __init__(self, inner: ByteStream) -> None:
        self._inner = inner
        self._splitter = LineSplitter()
        self._passed: deque[bytes] = deque()
        self._wake = asyncio.Event()
        self._is_cut = False
        self._is_over = False
        self.is_closed = False
        """Whether the server has closed it, which the cache finds out when it next looks."""
        self.held: deque[bytes] = deque()
        """Events that the server has sent and the cache has not got."""

    @property
    def code(self) -> int:
        """The status code of the head."""
        return self._inner.code

    async def pump(self) -> None:
        """Take from the server what it sends, until the watch is over."""
        try:
            while piece := await self._inner.receive():
                if self.code >= 400:
                    self._passed.append(piece)
                lines = self._splitter.feed(piece)
                if not self.is_closed:
                    self.held.extend(line for line in lines if not line.startswith(_BOOKMARK))
                self._wake.set()
        except AnswerLost:
            self._is_cut = True
        self._is_over = True
        self._wake.set()

    def deliver(self) -> JsonObject | None:
        """Let the oldest event go; answers it, or None when there is none."""
        if not self.held:
            return None
        line = self.held.popleft()
        self.inject(line)
        event: JsonObject = orjson.loads(line)
        return event

    def inject(self, line: bytes) -> None:
        """Let the reader have a line, whoever wrote it."""
        self._passed.append(line + b"\n")
        self._wake.set()

    def lose(self) -> None:
        """The server closes the watch: what is held, and what would come, never arrives."""
        self.is_closed = True
        self.held.clear()

    async def receive(self) -> bytes:
        """Return the bytes that were let go; raises ``AnswerLost`` when the connection was cut."""
        while not self._passed:
            if self._is_cut:
                raise AnswerLost("the watch was cut")
            if self._is_over and not self.held:
                return b""
            self._wake.clear()
            await self._wake.wait()
        return self._passed.popleft()

    def close(self) -> None:
        """Stop listening."""
        self._is_cut = True
        self._inner.close()
