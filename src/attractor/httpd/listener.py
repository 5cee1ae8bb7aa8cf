"""All connections of one address: accept, look after, and end them in good order."""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
from contextlib import suppress
from typing import TYPE_CHECKING

from attractor.httpd.connection import Connection, Shared, keep_alive
from attractor.wire.addresses import BACKLOG, listening

if TYPE_CHECKING:
    import ssl

    from attractor.httpd.connection import Gate, Handler, Observer
    from attractor.httpd.limits import Limits

BREATH_S = 1.0
"""How long nobody is accepted when the process has no room for another socket."""
NO_ROOM = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})

log = logging.getLogger("attractor.httpd")


class Listener:
    """Serves a handler on one address until ``aclose``."""

    def __init__(
        self,
        handler: Handler,
        *,
        limits: Limits,
        observer: Observer,
        tls: ssl.SSLContext | None = None,
        gate: Gate | None = None,
    ) -> None:
        self._shared = Shared(handler, limits, observer, gate=gate)
        self._tls = tls
        self._sockets: list[socket.socket] = []
        self._sweep: asyncio.TimerHandle | None = None
        limits_s = (limits.head_s, limits.body_s, limits.idle_s, limits.handling_s, limits.stall_s, limits.linger_s)
        self._sweep_s = min(1.0, *(limit / 2 for limit in limits_s))

    async def start(self, host: str, port: int) -> None:
        """Accept clients; port 0 takes a free one. Raises ``OSError`` when the address cannot be had."""
        loop = asyncio.get_running_loop()
        self._sockets = await listening(host, port)
        for each in self._sockets:
            loop.add_reader(each, self._accept, each)
        self._sweep = loop.call_later(self._sweep_s, self._check)

    def _accept(self, entrance: socket.socket) -> None:
        """Take everybody who waits."""
        for _ in range(BACKLOG):
            try:
                sock, address = entrance.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                if error.errno not in NO_ROOM:
                    raise
                self._rest(entrance, error)
                return
            sock.setblocking(False)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            keep_alive(sock)
            Connection(self._shared, sock, f"{address[0]}:{address[1]}").start(self._tls)

    def _rest(self, entrance: socket.socket, error: OSError) -> None:
        """There is no room for another socket: try again when some may have been closed."""
        log.error("no client is accepted for a while", extra={"why": str(error)})
        loop = asyncio.get_running_loop()
        loop.remove_reader(entrance)
        loop.call_later(BREATH_S, self._accept_again, entrance)

    def _accept_again(self, entrance: socket.socket) -> None:
        if entrance in self._sockets:
            asyncio.get_running_loop().add_reader(entrance, self._accept, entrance)

    def _stop_accepting(self) -> None:
        while self._sockets:
            entrance = self._sockets.pop()
            asyncio.get_running_loop().remove_reader(entrance)
            entrance.close()

    @property
    def port(self) -> int:
        """The port that clients connect to."""
        assert self._sockets, "the listener is not started"
        port: int = self._sockets[0].getsockname()[1]
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
        if not self._sockets:
            return
        self._stop_accepting()
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
