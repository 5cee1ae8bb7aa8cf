"""Health, readiness and metrics over HTTP: ``/healthz``, ``/readyz``, ``/metrics``; GET only, one answer a connection.

``/healthz`` answers 200 while the process works; ``/readyz`` 200 once every check passes, else 503 with the list of
checks, so that a controller whose watch is dead is seen to be unready.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

from attractor.wire.prometheus import CONTENT_TYPE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from attractor.runtime.observability.metrics import Metrics

MAX_HEAD_BYTES = 8192
TIMEOUT_S = 5.0
"""How long whoever asks may take to do so and to read the answer; stopping waits for it."""


class HealthServer:
    """Answers probes and scrapes. A check answers an empty text when all is well, or what is wrong."""

    def __init__(
        self, metrics: Metrics, health: Mapping[str, Callable[[], str]], ready: Mapping[str, Callable[[], str]]
    ) -> None:
        self._metrics = metrics
        self._checks = {"/healthz": health, "/livez": health, "/readyz": ready}
        self._server: asyncio.Server | None = None
        self.port = 0

    async def start(self, host: str, port: int) -> None:
        """Listen; port 0 takes a free one. Raises ``OSError``."""
        self._server = await asyncio.start_server(self._serve, host, port, limit=MAX_HEAD_BYTES)
        self.port = self._server.sockets[0].getsockname()[1]

    async def aclose(self) -> None:
        """Give the address up."""
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(TIMEOUT_S):
                head = await reader.readuntil(b"\r\n\r\n")
                writer.write(self._response(head))
                await writer.drain()
        except (TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError):
            pass  # whoever called has gone or sends nonsense
        finally:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()

    def _response(self, head: bytes) -> bytes:
        code, kind, body = self.answer(head.split(b"\r\n", 1)[0].decode("latin-1"))
        phrase = {200: "OK", 404: "Not Found", 405: "Method Not Allowed", 503: "Service Unavailable"}[code]
        lines = (f"HTTP/1.1 {code} {phrase}", f"Content-Type: {kind}", f"Content-Length: {len(body)}")
        return "\r\n".join((*lines, "Connection: close\r\n\r\n")).encode() + body

    def answer(self, request_line: str) -> tuple[int, str, bytes]:
        """Code, content type and body for a request line."""
        method, _, rest = request_line.partition(" ")
        path = rest.split(" ")[0].split("?")[0]
        text = "text/plain; charset=utf-8"
        if method not in {"GET", "HEAD"}:
            return 405, text, b"use GET\n"
        if path == "/metrics":
            return 200, CONTENT_TYPE, self._metrics.text().encode()
        checks = self._checks.get(path)
        if checks is None:
            return 404, text, b"there are /healthz, /readyz and /metrics\n"
        found = {name: check() for name, check in checks.items()}
        lines = [f"[+]{name} ok" if not wrong else f"[-]{name} failed: {wrong}" for name, wrong in found.items()]
        if not any(found.values()):
            return 200, text, b"ok"
        return 503, text, ("\n".join(lines) + "\n").encode()
