"""All connections of one address: accept, look after, and end them in good order."""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from attractor.httpd.connection import Connection, Shared, keep_alive

if TYPE_CHECKING:
    import ssl

    from attractor.httpd.connection import Gate, Handler, Observer
    from attractor.httpd.limits import Limits

BACKLOG = 1024
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
        is_eager: bool = True,
        gate: Gate | None = None,
    ) -> None:
        self._shared = Shared(handler, limits, observer, is_eager=is_eager, gate=gate)
        self._tls = tls
        self._sockets: list[socket.socket] = []
        self._sweep: asyncio.TimerHandle | None = None
        limits_s = (limits.head_s, limits.body_s, limits.idle_s, limits.handling_s, limits.stall_s, limits.linger_s)
        self._sweep_s = min(1.0, *(limit / 2 for limit in limits_s))

    async def start(self, host: str, port: int) -> None:
        """Accept clients; port 0 takes a free one. Raises ``OSError`` when the address cannot be had."""
        loop = asyncio.get_running_loop()
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        try:
            for family, _, _, _, address in dict.fromkeys(found):
                self._sockets.append(bound(family, address))
        except OSError:
            self._stop_accepting()
            raise
        for each in self._sockets:
            loop.add_reader(each, self._accept, each)
        self._sweep = loop.call_later(self._sweep_s, self._check)

    def _accept(self, listening: socket.socket) -> None:
        """Take everybody who waits."""
        for _ in range(BACKLOG):
            try:
                sock, address = listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                if error.errno not in NO_ROOM:
                    raise
                self._rest(listening, error)
                return
            sock.setblocking(False)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            keep_alive(sock)
            Connection(self._shared, sock, f"{address[0]}:{address[1]}", self._tls).start()

    def _rest(self, listening: socket.socket, error: OSError) -> None:
        """There is no room for another socket: try again when some may have been closed."""
        log.error("no client is accepted for a while", extra={"why": str(error)})
        loop = asyncio.get_running_loop()
        loop.remove_reader(listening)
        loop.call_later(BREATH_S, self._accept_again, listening)

    def _accept_again(self, listening: socket.socket) -> None:
        if listening in self._sockets:
            asyncio.get_running_loop().add_reader(listening, self._accept, listening)

    def _stop_accepting(self) -> None:
        while self._sockets:
            listening = self._sockets.pop()
            asyncio.get_running_loop().remove_reader(listening)
            listening.close()

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


def bound(family: int, address: tuple[Any, ...]) -> socket.socket:
    """A socket on which clients can be accepted; raises ``OSError`` that says which address it could not have."""
    found = socket.socket(family, socket.SOCK_STREAM)
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            found.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        found.setblocking(False)
        found.bind(address)
        found.listen(BACKLOG)
    except OSError as error:
        found.close()
        text = (error.strerror or str(error)).lower()
        raise OSError(error.errno, f"error while attempting to bind on address {address!r}: {text}") from error
    return found
