"""SOCKS5 (RFC 1928 and 1929): asking a proxy, such as ``ssh -D 1080``, for a way to a server.

``conversation`` is what is said, without I/O; ``ask`` says it over a socket. Names are looked up by the proxy.
"""

from __future__ import annotations

import asyncio
import ipaddress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import socket
    from collections.abc import Generator

VERSION, NO_LOGIN, LOGIN, CONNECT = 5, 0, 2, 1
IPV4, NAME, IPV6 = 1, 3, 4
REFUSALS = {
    1: "it failed",
    2: "it is not allowed",
    3: "the network is unreachable",
    4: "the host is unreachable",
    5: "the connection was refused",
    6: "it took too long",
}


class SocksError(OSError):
    """The proxy does not lead to the server; the text says why."""


def conversation(host: str, port: int, login: tuple[str, str] | None) -> Generator[tuple[bytes, int], bytes, None]:
    """Yields what to send and how many bytes to wait for; is sent those bytes. Raises ``SocksError``."""
    offered = bytes([NO_LOGIN, LOGIN] if login is not None else [NO_LOGIN])
    version, method = yield bytes([VERSION, len(offered)]) + offered, 2
    if version != VERSION:
        raise SocksError("the proxy does not speak SOCKS5")
    if method == LOGIN and login is not None:
        _, refused = yield b"\x01" + b"".join(_counted(word.encode()) for word in login), 2
        if refused:
            raise SocksError("the proxy does not accept the user and the password")
    elif method != NO_LOGIN:
        raise SocksError("the proxy wants a user and a password")
    answer = yield bytes([VERSION, CONNECT, 0]) + _address(host) + port.to_bytes(2, "big"), 4
    if answer[1]:
        raise SocksError(f"the proxy has no way there: {REFUSALS.get(answer[1], f'error {answer[1]}')}")
    bound = {IPV4: 4, IPV6: 16}.get(answer[3])
    if bound is None:
        (bound,) = yield b"", 1
    yield b"", bound + 2


def _counted(word: bytes) -> bytes:
    if len(word) > 255:
        raise SocksError("a name, a user or a password is longer than the 255 bytes that SOCKS5 allows")
    return bytes([len(word)]) + word


def _address(host: str) -> bytes:
    try:
        found = ipaddress.ip_address(host)
    except ValueError:
        try:
            return bytes([NAME]) + _counted(host.encode("idna"))
        except UnicodeError as error:
            raise SocksError(f"{host!r} is no name of a host") from error
    return bytes([IPV4 if found.version == 4 else IPV6]) + found.packed


async def ask(sock: socket.socket, host: str, port: int, login: tuple[str, str] | None) -> None:
    """Have a proxy lead a socket, which does not block, to a server; raises ``OSError``."""
    loop = asyncio.get_running_loop()
    talk = conversation(host, port, login)
    question, wanted = next(talk)
    while True:
        await loop.sock_sendall(sock, question)
        answer = b""
        while len(answer) < wanted:
            piece = await loop.sock_recv(sock, wanted - len(answer))
            if not piece:
                raise SocksError("the proxy closed the connection")
            answer += piece
        try:
            question, wanted = talk.send(answer)
        except StopIteration:
            return
