"""Dialing of connections: straight, over TLS, or through a proxy."""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
from typing import TYPE_CHECKING, NamedTuple

from attractor.client.errors import ServerUnreachable
from attractor.client.http import socks
from attractor.client.http.connection import Connection
from attractor.wire.addresses import connected
from attractor.wire.link import RECEIVE_BYTES, Link, Party
from attractor.wire.poller import poller
from attractor.wire.tls import TlsInTls, TlsSession

if TYPE_CHECKING:
    from attractor.client.http.proxies import Proxy
    from attractor.wire.poller import Poller

CONNECT_TIMEOUT_S = 10.0
MAX_TUNNEL_HEAD_BYTES = 64 * 1024


class Endpoint(NamedTuple):
    """Address to connect to, and how."""

    host: str
    port: int
    tls: ssl.SSLContext | None
    server_name: str
    """The name that the server's certificate must have."""
    proxy: Proxy | None = None

    def __str__(self) -> str:
        at = f"{self.host}:{self.port}"
        return f"{at} through proxy {self.proxy.host}:{self.proxy.port}" if self.proxy else at


class Dialer:
    """Makes connections to one endpoint, which share what an event loop needs only once."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._poller: Poller | None = None
        self._received = memoryview(bytearray(RECEIVE_BYTES))

    async def dial(self) -> Connection:
        """An open connection; raises ``ServerUnreachable``."""
        endpoint = self._endpoint
        try:
            async with asyncio.timeout(CONNECT_TIMEOUT_S):
                return await self._dial()
        except TimeoutError as error:
            raise ServerUnreachable(f"no connection to {endpoint} within {CONNECT_TIMEOUT_S:.0f} s") from error
        except ssl.SSLCertVerificationError as error:
            raise ServerUnreachable(
                f"the certificate of {endpoint} is not trusted: {error.verify_message}; check the certificate "
                "authority and tls-server-name of the configuration"
            ) from error
        except (OSError, ssl.SSLError) as error:
            raise ServerUnreachable(f"no connection to {endpoint}: {_reason(error)}") from error

    async def _dial(self) -> Connection:
        endpoint = self._endpoint
        proxy = endpoint.proxy
        if proxy is None or proxy.is_socks:
            tls = TlsSession(endpoint.tls, endpoint.server_name) if endpoint.tls is not None else None
            return await self._established(await self._linked(*(proxy or endpoint)[:2]), tls)
        to_proxy = TlsSession(ssl.create_default_context(), proxy.host) if proxy.is_tls else None
        link = await self._linked(proxy.host, proxy.port)
        if endpoint.tls is None:
            return await self._established(link, to_proxy)
        await self._tunnel(link, to_proxy)
        if to_proxy is None:
            return await self._established(link, TlsSession(endpoint.tls, endpoint.server_name))
        return await self._established(link, TlsInTls(to_proxy, endpoint.tls, endpoint.server_name))

    async def _linked(self, host: str, port: int) -> Link:
        loop = asyncio.get_running_loop()
        if self._poller is None or self._poller.loop is not loop:
            self._poller = poller(loop)
        sock = await connected(host, port)
        _keep_alive(sock)
        endpoint = self._endpoint
        if endpoint.proxy is not None and endpoint.proxy.is_socks:
            try:
                await socks.ask(sock, endpoint.host, endpoint.port, endpoint.proxy.login)
            except BaseException:
                sock.close()
                raise
        return Link(self._poller, sock, self._received)

    async def _established(self, link: Link, tls: TlsSession | None) -> Connection:
        connection = Connection(link)
        await _greeted(link, connection, connection.established_soon, tls)
        return connection

    async def _tunnel(self, link: Link, tls: TlsSession | None) -> None:
        """Ask the proxy to pass bytes on."""
        endpoint = self._endpoint
        tunnel = _Tunnel()
        await _greeted(link, tunnel, tunnel.established_soon, tls)
        try:
            link.write(self._question())
            head = (await tunnel.answer).split(b"\r\n", 1)[0]
            parts = head.split(b" ", 2)
            if len(parts) < 2 or not parts[0].startswith(b"HTTP/1.") or parts[1] != b"200":
                said = head.decode("latin-1") or "nothing"
                raise ServerUnreachable(f"no connection to {endpoint}: the proxy answered {said!r}")
        except BaseException:
            link.abort()
            raise

    def _question(self) -> bytes:
        endpoint, proxy = self._endpoint, self._endpoint.proxy
        assert proxy is not None
        host = f"[{endpoint.host}]" if ":" in endpoint.host else endpoint.host
        target = f"{host}:{endpoint.port}"
        authorization = f"Proxy-Authorization: {proxy.authorization}\r\n" if proxy.authorization else ""
        return f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n{authorization}\r\n".encode("latin-1")


async def _greeted(link: Link, party: Party, established: asyncio.Future[None], tls: TlsSession | None) -> None:
    """Over TLS, make sure who the other end is before anything is sent; raises ``OSError``, as ``SSLError`` is one."""
    try:
        link.start(party, tls)
        await established
    except BaseException:
        established.cancel()
        link.abort()
        raise


def _reason(error: OSError) -> str:
    """Return the system's name of an error, such as ``Connection refused``; asyncio only says that a call failed."""
    number = 0 if isinstance(error, ssl.SSLError) else error.errno or 0
    return os.strerror(number) if number > 0 else error.strerror or str(error)


class _Tunnel(Party):
    """Waits for a proxy's answer to CONNECT."""

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        self.established_soon: asyncio.Future[None] = loop.create_future()
        self.answer: asyncio.Future[bytes] = loop.create_future()
        self._head = b""

    def established(self) -> None:
        self.established_soon.set_result(None)

    def received(self, data: bytes) -> None:
        self._head += data
        if b"\r\n\r\n" in self._head or len(self._head) > MAX_TUNNEL_HEAD_BYTES:
            self._settle(self._head)

    def lost(self, error: Exception | None) -> None:
        if not self.established_soon.done():
            self.established_soon.set_exception(error or ConnectionResetError("the proxy closed the connection"))
        self._settle(b"")

    def _settle(self, head: bytes) -> None:
        if not self.answer.done():
            self.answer.set_result(head)


def _keep_alive(sock: socket.socket) -> None:
    """Let the kernel notice a peer that is gone, also while nothing is sent."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3), ("TCP_USER_TIMEOUT", 60_000)):
        if hasattr(socket, name):
            sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
