"""A client's transport into a server of the same process: the router answers, no byte touches a socket.

Requests take the same way as over HTTP from the router on (authorization, formats, discovery, watches), so that a
controller cannot tell the difference; only sockets, credentials and their failures are missing.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING

from attractor.client.errors import AnswerLost
from attractor.client.transport import ClientResponse
from attractor.httpd.heads import Head
from attractor.httpd.parser import HttpRequest

if TYPE_CHECKING:
    from collections.abc import Callable

    from attractor.apiserver.request.caller import User
    from attractor.client.transport import ClientRequest
    from attractor.httpd.reply import Reply, Stream
    from attractor.httpd.router import Router

USER_AGENT = b"attractor"
PAUSE_BYTES = 256 * 1024
"""A watcher that has not read this much is told no more until it has."""


class InProcessTransport:
    """Carries requests to a ``Router`` on behalf of one user."""

    def __init__(self, router: Router, user: User) -> None:
        self._router = router
        self._user = user
        self._streams: set[InProcessStream] = set()

    async def send(self, request: ClientRequest) -> ClientResponse:
        """The router's answer."""
        if request.timeout_s is None:
            reply = await self._router.answer(_http_request(request), self._user)
        else:
            reply = await self._answer_within(request, request.timeout_s)
        if reply.stream is not None:
            reply.stream.finish()
            raise TypeError(f"{request.target} answers with a stream; open it instead")
        return ClientResponse(reply.code, reply.body, _headers(reply))

    async def _answer_within(self, request: ClientRequest, timeout_s: float) -> Reply:
        try:
            async with asyncio.timeout(timeout_s):
                return await self._router.answer(_http_request(request), self._user)
        except TimeoutError as error:
            raise AnswerLost(f"{request.method} {request.path}: no answer within {timeout_s} s") from error

    async def open(self, request: ClientRequest) -> InProcessStream:
        """The router's answer as a stream; an answer in one piece is a stream of one piece."""
        reply = await self._router.answer(_http_request(request), self._user)
        opened = InProcessStream(reply.code, self._streams.discard)
        if reply.stream is None:
            opened.write(reply.body, b"")
            opened.end()
        else:
            self._streams.add(opened)
            opened.attach(reply.stream)
        return opened

    async def aclose(self) -> None:
        """End the watches that are still open."""
        for stream in tuple(self._streams):
            stream.close()


class InProcessStream:
    """Both ends of a watch: the server writes (``StreamWriter``), the client receives (``ByteStream``)."""

    def __init__(self, code: int, closed: Callable[[InProcessStream], None]) -> None:
        self.code = code
        self._closed = closed
        self._pieces: deque[bytes] = deque()
        self._waiting_bytes = 0
        self._is_ended = False
        self._is_closed = False
        self._source: Stream | None = None
        self._wakeup: asyncio.Future[None] | None = None

    def attach(self, source: Stream) -> None:
        """Let the server begin."""
        self._source = source
        source.start(self)

    # The server's end.

    @property
    def is_paused(self) -> bool:
        """Whether the client has enough to read."""
        return self._waiting_bytes >= PAUSE_BYTES

    def write(self, data: bytes, framed: bytes) -> None:
        """Take a piece; how it would be framed on a wire does not matter here."""
        if data and not self._is_closed:
            self._pieces.append(data)
            self._waiting_bytes += len(data)
            self._wake()

    def end(self) -> None:
        """Nothing more will come."""
        self._is_ended = True
        self._closed(self)
        self._wake()

    # The client's end.

    async def receive(self) -> bytes:
        """All that has come; empty at the end."""
        while not self._pieces:
            if self._is_closed:
                raise AnswerLost("the stream was closed by this client")
            if self._is_ended:
                return b""
            self._wakeup = asyncio.get_running_loop().create_future()
            await self._wakeup
        was_paused = self.is_paused
        data = b"".join(self._pieces)
        self._pieces.clear()
        self._waiting_bytes = 0
        if was_paused and self._source is not None and not self._is_ended:
            self._source.resumed()
        return data

    def close(self) -> None:
        """Stop listening."""
        if not self._is_closed:
            self._is_closed = True
            self._pieces.clear()
            self._closed(self)
            if self._source is not None and not self._is_ended:
                self._source.lost()
            self._wake()

    def _wake(self) -> None:
        if self._wakeup is not None and not self._wakeup.done():
            self._wakeup.set_result(None)


def _http_request(request: ClientRequest) -> HttpRequest:
    headers = {b"accept": request.accept.encode("latin-1"), b"user-agent": USER_AGENT}
    if request.body:
        headers[b"content-type"] = request.content_type.encode("latin-1")
    return HttpRequest(request.method, request.target, Head(headers), request.body)


def _headers(reply: Reply) -> dict[str, str]:
    return {name.lower(): value for name, value in (reply.headers or {}).items()}
