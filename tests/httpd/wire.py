"""Raw bytes to a listener and back, for tests."""

import asyncio
import gzip
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

from attractor.httpd.connection import Peer
from attractor.httpd.limits import DEFAULT_LIMITS, Limits
from attractor.httpd.listener import Listener
from attractor.httpd.pages.metrics import Metrics
from attractor.httpd.parser import HttpRequest
from attractor.httpd.reply import Reply
from attractor.wire.deferred import Deferred

PATIENCE_S = 10
"""How long a test waits for something that must happen before it fails."""


class Answer(NamedTuple):
    code: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        body = gzip.decompress(self.body) if self.headers.get("content-encoding") == "gzip" else self.body
        return json.loads(body)


class Wire:
    """One client connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    def send(self, data: bytes) -> None:
        self.writer.write(data)

    def request(self, method: str, path: str, body: bytes = b"", /, **headers: str) -> None:
        lines = [f"{method} {path} HTTP/1.1", "Host: test"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        if body:
            lines.append(f"Content-Length: {len(body)}")
        self.send("\r\n".join(lines).encode() + b"\r\n\r\n" + body)

    async def line(self) -> bytes:
        async with asyncio.timeout(PATIENCE_S):
            return await self.reader.readline()

    async def head(self) -> tuple[int, dict[str, str]]:
        status = await self.line()
        assert status.startswith(b"HTTP/1.1 "), f"no status line but {status!r}"
        headers: dict[str, str] = {}
        while (line := (await self.line()).decode("latin-1").strip()) != "":
            name, _, value = line.partition(": ")
            before = headers.get(name.lower())
            headers[name.lower()] = value if before is None else f"{before}, {value}"
        return int(status.split()[1]), headers

    async def answer(self, *, is_head: bool = False) -> Answer:
        code, headers = await self.head()
        if is_head or code == 100:
            return Answer(code, headers, b"")
        async with asyncio.timeout(PATIENCE_S):
            if headers.get("transfer-encoding") == "chunked":
                body = b"".join([piece async for piece in self.chunks()])
            else:
                body = await self.reader.readexactly(int(headers["content-length"]))
        return Answer(code, headers, body)

    async def chunks(self) -> AsyncIterator[bytes]:
        """The pieces of a chunked body, until its clean end."""
        while (piece := await self.chunk()) != b"":
            yield piece

    async def chunk(self) -> bytes:
        size = int(await self.line(), 16)
        async with asyncio.timeout(PATIENCE_S):
            data = await self.reader.readexactly(size)
            assert await self.reader.readexactly(2) == b"\r\n", "a chunk does not end where it says"
        return data

    async def event(self) -> Any:
        """The next event of a watch stream, None at its end; one that shares a chunk with others is kept for later."""
        self._events: list[bytes] = getattr(self, "_events", [])
        while not self._events:
            piece = await self.chunk()
            if not piece:
                return None
            self._events = piece.splitlines()
        return json.loads(self._events.pop(0))

    async def rest(self) -> bytes:
        """Everything until the server closes."""
        async with asyncio.timeout(PATIENCE_S):
            return await self.reader.read()


@asynccontextmanager
async def connected(port: int, tls: ssl.SSLContext | None = None, **options: Any) -> AsyncIterator[Wire]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=tls, **options)
    try:
        yield Wire(reader, writer)
    finally:
        writer.transport.abort()


@asynccontextmanager
async def listening(
    handler: Callable[[HttpRequest, Peer], Any], limits: Limits = DEFAULT_LIMITS, metrics: Metrics | None = None
) -> AsyncIterator[Listener]:
    def begin(request: HttpRequest, peer: Peer) -> Reply | Deferred[Reply]:
        answer = handler(request, peer)
        return Deferred.of(answer) if asyncio.iscoroutine(answer) else answer

    listener = Listener(begin, limits=limits, observer=metrics or Metrics())
    await listener.start("127.0.0.1", 0)
    try:
        yield listener
    finally:
        await listener.aclose(grace_s=0.5)


async def echo(request: HttpRequest, peer: Peer) -> Reply:
    """Tells what was understood."""
    heard = {"method": request.method, "path": request.path, "query": request.query, "body": request.body.decode()}
    return Reply(200, json.dumps(heard).encode())


async def eventually(check: Callable[[], bool | Awaitable[bool]]) -> None:
    """Let the event loop turn until something is so."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            found = check()
            if found if isinstance(found, bool) else await found:
                return
            await asyncio.sleep(0)
