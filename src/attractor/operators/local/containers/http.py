"""HTTP over a unix socket, one connection for each request, as container runtimes serve it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlencode

import httptools
import orjson

from attractor.operators.local.containers.runtime import RuntimeUnreachable

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

PIECE_BYTES = 65536


class Answer(NamedTuple):
    """The answer to a request, whole."""

    status: int
    body: bytes

    @property
    def json(self) -> Any:
        """The body as a value; None when it is empty."""
        return orjson.loads(self.body) if self.body.strip() else None

    @property
    def problem(self) -> str:
        """What it says is wrong."""
        try:
            said = self.json
        except orjson.JSONDecodeError:
            said = None
        text = said.get("message") if isinstance(said, dict) else None
        return str(text or self.body.decode(errors="replace").strip() or f"status {self.status}")


class _Reader:
    """What a parser has found so far."""

    def __init__(self) -> None:
        self.pieces: list[bytes] = []
        self.is_over = False

    def on_body(self, piece: bytes) -> None:
        self.pieces.append(piece)

    def on_message_complete(self) -> None:
        self.is_over = True

    def taken(self) -> bytes:
        found, self.pieces = b"".join(self.pieces), []
        return found


class Socket:
    """A unix socket with a server behind it; raises ``RuntimeUnreachable`` where that does not answer."""

    def __init__(self, path: str, *, timeout_s: float = 60.0) -> None:
        self.path = path
        self._timeout_s = timeout_s

    async def ask(
        self,
        method: str,
        path: str,
        query: Mapping[str, Any] | None = None,
        body: bytes | dict[str, Any] | None = None,
        *,
        timeout_s: float | None = None,
    ) -> Answer:
        """Send a request and answer what comes back; the body is JSON, or the bytes of an archive."""
        wait_s = self._timeout_s if timeout_s is None else timeout_s
        try:
            async with asyncio.timeout(wait_s):
                stream = self.stream(method, path, query, body)
                status = int(await anext(stream))
                return Answer(status, b"".join([piece async for piece in stream]))
        except TimeoutError:
            raise RuntimeUnreachable(f"the container runtime at {self.path} did not answer in {wait_s:g} s") from None

    async def stream(
        self,
        method: str,
        path: str,
        query: Mapping[str, Any] | None = None,
        body: bytes | dict[str, Any] | None = None,
    ) -> AsyncIterator[bytes]:
        """The status of an answer, in digits, then its body piece by piece as it comes."""
        writer: asyncio.StreamWriter | None = None
        try:
            source, writer = await asyncio.open_unix_connection(self.path)
            writer.write(_request(method, path, query, body))
            await writer.drain()
            found = _Reader()
            parser = httptools.HttpResponseParser(found)
            is_told = False
            while not found.is_over:
                data = await source.read(PIECE_BYTES)
                if not data:
                    break
                parser.feed_data(data)
                if not is_told and parser.get_status_code():
                    is_told = True
                    yield b"%d" % parser.get_status_code()
                if is_told and (piece := found.taken()):
                    yield piece
            if not is_told:
                raise RuntimeUnreachable(f"the container runtime at {self.path} closed the connection")
        except (OSError, httptools.HttpParserError) as error:
            raise RuntimeUnreachable(f"the container runtime at {self.path} does not answer: {error}") from error
        finally:
            if writer is not None:
                writer.close()


def _request(method: str, path: str, query: Mapping[str, Any] | None, body: bytes | dict[str, Any] | None) -> bytes:
    said = {name: _text(value) for name, value in (query or {}).items()}
    target = f"{path}?{urlencode(said)}" if said else path
    lines = [f"{method} {target} HTTP/1.1", "Host: localhost", "Connection: close"]
    content = b""
    if body is not None:
        content = body if isinstance(body, bytes) else orjson.dumps(body)
        kind = "application/x-tar" if isinstance(body, bytes) else "application/json"
        lines += [f"Content-Type: {kind}", f"Content-Length: {len(content)}"]
    elif method == "POST":
        lines += ["Content-Length: 0"]
    return "\r\n".join([*lines, "", ""]).encode() + content


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else orjson.dumps(value).decode() if isinstance(value, dict) else str(value)
