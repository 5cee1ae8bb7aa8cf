"""How a connection comes about: straight, over TLS, or through a proxy's tunnel."""

from __future__ import annotations

import asyncio
import socket
import ssl
from typing import TYPE_CHECKING, NamedTuple

from attractor.client.errors import ServerUnreachable
from attractor.client.http.connection import Connection
from attractor.client.http.tls import TlsSession

if TYPE_CHECKING:
    from attractor.client.http.proxies import Proxy

CONNECT_TIMEOUT_S = 10.0
MAX_TUNNEL_HEAD_BYTES = 64 * 1024


class Endpoint(NamedTuple):
    """Where to connect, and how."""

    host: str
    port: int
    tls: ssl.SSLContext | None
    server_name: str
    """The name that the server's certificate must have."""
    proxy: Proxy | None = None

    def __str__(self) -> str:
        at = f"{self.host}:{self.port}"
        return f"{at} through proxy {self.proxy.host}:{self.proxy.port}" if self.proxy else at

    @property
    def is_tunnelled(self) -> bool:
        """Whether a proxy passes bytes on unseen; over plain HTTP it reads the requests instead."""
        return self.proxy is not None and self.tls is not None


async def dial(endpoint: Endpoint) -> Connection:
    """An open connection; raises ``ServerUnreachable``."""
    try:
        async with asyncio.timeout(CONNECT_TIMEOUT_S):
            return await _dial(endpoint)
    except TimeoutError as error:
        raise ServerUnreachable(f"no connection to {endpoint} within {CONNECT_TIMEOUT_S:.0f} s") from error
    except ssl.SSLCertVerificationError as error:
        raise ServerUnreachable(
            f"the certificate of {endpoint} is not trusted: {error.verify_message}; check the certificate authority "
            "and tls-server-name of the configuration"
        ) from error
    except (OSError, ssl.SSLError) as error:
        raise ServerUnreachable(f"no connection to {endpoint}: {error.strerror or error}") from error


async def _dial(endpoint: Endpoint) -> Connection:
    loop = asyncio.get_running_loop()
    if endpoint.is_tunnelled:
        return await _tunnelled(endpoint)
    if endpoint.proxy is not None:
        proxy = endpoint.proxy
        to_proxy = ssl.create_default_context() if proxy.is_tls else None
        transport, connection = await loop.create_connection(Connection, proxy.host, proxy.port, ssl=to_proxy)
    else:
        tls = TlsSession(endpoint.tls, endpoint.server_name) if endpoint.tls is not None else None
        transport, connection = await loop.create_connection(lambda: Connection(tls), endpoint.host, endpoint.port)
        await _established(connection)
    _keep_alive(transport)
    return connection


async def _established(connection: Connection) -> None:
    try:
        await connection.establish()
    except BaseException:
        connection.close()
        raise


class _Tunnel(asyncio.Protocol):
    """Waits for a proxy's answer to CONNECT."""

    def __init__(self) -> None:
        self.answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._head = b""

    def data_received(self, data: bytes) -> None:
        self._head += data
        if b"\r\n\r\n" in self._head or len(self._head) > MAX_TUNNEL_HEAD_BYTES:
            self._settle(self._head)

    def connection_lost(self, exc: Exception | None) -> None:
        self._settle(b"")

    def _settle(self, head: bytes) -> None:
        if not self.answer.done():
            self.answer.set_result(head)


async def _tunnelled(endpoint: Endpoint) -> Connection:
    proxy, tls = endpoint.proxy, endpoint.tls
    assert proxy is not None
    assert tls is not None
    loop = asyncio.get_running_loop()
    outer = ssl.create_default_context() if proxy.is_tls else None
    transport, tunnel = await loop.create_connection(_Tunnel, proxy.host, proxy.port, ssl=outer)
    try:
        host = f"[{endpoint.host}]" if ":" in endpoint.host else endpoint.host
        target = f"{host}:{endpoint.port}"
        authorization = f"Proxy-Authorization: {proxy.authorization}\r\n" if proxy.authorization else ""
        transport.write(f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n{authorization}\r\n".encode("latin-1"))
        head = await tunnel.answer
        parts = head.split(b"\r\n", 1)[0].split(b" ", 2)
        if len(parts) < 2 or not parts[0].startswith(b"HTTP/1.") or parts[1] != b"200":
            said = head.split(b"\r\n", 1)[0].decode("latin-1") or "nothing"
            raise ServerUnreachable(f"no connection to {endpoint}: the proxy answered {said!r}")
        connection = Connection(TlsSession(tls, endpoint.server_name))
        _keep_alive(transport)
        transport.set_protocol(connection)
        connection.connection_made(transport)
        await connection.establish()
    except BaseException:
        transport.abort()
        raise
    return connection


def _keep_alive(transport: asyncio.BaseTransport) -> None:
    """Let the kernel notice a peer that is gone, also while nothing is sent."""
    sock: socket.socket | None = transport.get_extra_info("socket")
    if sock is None:
        return
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3), ("TCP_USER_TIMEOUT", 60_000)):
        if hasattr(socket, name):
            sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
