"""All connections of one address: accept, look after, and end them in good order."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

from attractor.httpd.connection import Connection, Shared

if TYPE_CHECKING:
    import ssl

    from attractor.httpd.connection import Gate, Handler, Observer
    from attractor.httpd.limits import Limits

BACKLOG = 1024


class _Protocol(asyncio.BufferedProtocol):
    """What asyncio calls, which are a connection's own methods: the connection is compiled, so it cannot be this."""

    def __init__(self, connection: Connection) -> None:
        vars(self).update({name: getattr(connection, name) for name in _CALLBACKS})


_CALLBACKS = (
    "connection_made",
    "connection_lost",
    "get_buffer",
    "buffer_updated",
    "eof_received",
    "pause_writing",
    "resume_writing",
)


class Listener:
    """Serves a handler on one address until ``aclose``."""

    def __init__(
        self,
        handler: Handler,
        *,
        limits: Limits,
        observer: Observer,
        tls: ssl.SSLContext | None = None,
        is_eager: bool = True,
        gate: Gate | None = None,
    ) -> None:
        self._shared = Shared(handler, limits, observer, is_eager=is_eager, gate=gate)
        self._tls = tls
        self._server: asyncio.Server | None = None
        self._sweep: asyncio.TimerHandle | None = None
        limits_s = (limits.head_s, limits.body_s, limits.idle_s, limits.handling_s, limits.stall_s, limits.linger_s)
        self._sweep_s = min(1.0, *(limit / 2 for limit in limits_s))

    async def start(self, host: str, port: int) -> None:
        """Accept clients; port 0 takes a free one. Raises ``OSError`` when the address cannot be had."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(
            lambda: _Protocol(Connection(self._shared)), host, port, ssl=self._tls, backlog=BACKLOG, reuse_address=True
        )
        self._sweep = loop.call_later(self._sweep_s, self._check)

    @property
    def port(self) -> int:
        """The port that clients connect to."""
        assert self._server is not None, "the listener is not started"
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    @property
    def connections(self) -> int:
        """How many clients are connected."""
        return len(self._shared.connections)

    def _check(self) -> None:
        loop = asyncio.get_running_loop()
        now = loop.time()
        for connection in tuple(self._shared.connections):
            connection.check(now)
        self._sweep = loop.call_later(self._sweep_s, self._check)

    async def aclose(self, grace_s: float = 4.0) -> None:
        """Stop accepting, end streams, let running requests be answered; after ``grace_s`` cut off what is left."""
        if self._server is None:
            return
        self._server.close()
        self._shared.is_closing = True
        for connection in tuple(self._shared.connections):
            connection.finish()
        if self._shared.connections:
            self._shared.last_gone.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(grace_s):
                    await self._shared.last_gone.wait()
        for connection in tuple(self._shared.connections):
            connection.abort()
        if self._sweep is not None:
            self._sweep.cancel()
        self._server = None
