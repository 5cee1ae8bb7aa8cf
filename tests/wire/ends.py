"""Two ends of a connection in one process, and what each was told."""

import asyncio
import socket
import ssl
from collections.abc import Callable
from typing import Any

from attractor.wire.link import Link, Party
from attractor.wire.poller import Poller
from attractor.wire.tls import TlsSession

PATIENCE_S = 10
"""How long a test waits for something that must happen before it fails."""


class Told(Party):
    """Writes down what a link says."""

    def __init__(self, *, keeps_open: bool = False) -> None:
        self.data = b""
        self.events: list[str] = []
        self.error: Exception | None = None
        self._keeps_open = keeps_open
        self._changed = asyncio.Event()

    def _note(self, event: str) -> None:
        self.events.append(event)
        self._changed.set()

    def established(self) -> None:
        self._note("established")

    def received(self, data: bytes) -> None:
        self.data += data
        self._changed.set()

    def ended(self) -> bool:
        self._note("ended")
        return self._keeps_open

    def lost(self, error: Exception | None) -> None:
        self.error = error
        self._note("lost")

    def pause_writing(self) -> None:
        self._note("pause")

    def resume_writing(self) -> None:
        self._note("resume")

    async def until(self, holds: Callable[["Told"], Any]) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while not holds(self):
                self._changed.clear()
                await self._changed.wait()

    async def until_lost(self) -> None:
        await self.until(lambda told: "lost" in told.events)


class Ends:
    """A link, and the socket or the link at the other end."""

    def __init__(self, poller: Poller, **options: Any) -> None:
        self.near_socket, self.far_socket = socket.socketpair()
        self.near_socket.setblocking(False)
        self.far_socket.setblocking(False)
        self._poller, self._received = poller, memoryview(bytearray(1 << 16))
        self.told = Told(**options)
        self.link = Link(poller, self.near_socket, self._received)

    def start(self) -> "Ends":
        self.link.start(self.told)
        return self

    async def secured(self, server: ssl.SSLContext, client: ssl.SSLContext) -> tuple[Link, Told]:
        """Both ends over TLS: the link is the client's; answers the server's."""
        far, far_told = Link(self._poller, self.far_socket, self._received), Told()
        far.start(far_told, TlsSession(server, is_server=True))
        self.link.start(self.told, TlsSession(client, "localhost"))
        for told in (self.told, far_told):
            await told.until(lambda told: told.events)
        return far, far_told

    async def read(self, size: int = 1 << 20) -> bytes:
        return await asyncio.get_running_loop().sock_recv(self.far_socket, size)

    async def read_to_end(self) -> bytes:
        found = b""
        while more := await self.read():
            found += more
        return found

    def close(self) -> None:
        self.link.abort()
        self.far_socket.close()
