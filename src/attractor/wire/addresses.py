"""From a name to sockets: where to listen, and a connection to whoever listens there."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

BACKLOG = 1024
"""Clients that wait to be accepted."""


async def addresses(host: str, port: int, flags: int = 0) -> list[tuple[int, Any]]:
    """The families and addresses of a name, in order of preference; numbers are not looked up. Raises ``OSError``."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=flags | socket.AI_NUMERICHOST)
    except socket.gaierror:
        loop = asyncio.get_running_loop()
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=flags)
    return list(dict.fromkeys((family, address) for family, _, _, _, address in found))


async def connected(host: str, port: int) -> socket.socket:
    """A socket that does not block, to the first address that answers; raises ``OSError`` with what each said."""
    loop = asyncio.get_running_loop()
    failures: list[OSError] = []
    for family, address in await addresses(host, port):
        sock = socket.socket(family, socket.SOCK_STREAM)
        try:
            sock.setblocking(False)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            await loop.sock_connect(sock, address)
        except OSError as error:
            sock.close()
            failures.append(error)
        except BaseException:
            sock.close()
            raise
        else:
            return sock
    if len({str(failure) for failure in failures}) == 1:
        raise failures[0]
    raise OSError("; ".join(map(str, failures)) or f"{host} has no address")


async def listening(host: str, port: int) -> list[socket.socket]:
    """Sockets that accept clients on every address of a name; raises ``OSError`` that names the one it cannot have."""
    found: list[socket.socket] = []
    try:
        for family, address in await addresses(host, port, socket.AI_PASSIVE):
            found.append(_bound(family, address))
    except OSError:
        for each in found:
            each.close()
        raise
    return found


def _bound(family: int, address: tuple[Any, ...]) -> socket.socket:
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
