"""A small client of Redis' protocol, for demonstrations and tests: one connection, one command at a time."""

from __future__ import annotations

import asyncio
import ssl
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self


class RedisError(Exception):
    """The server refused a command; the text is the server's."""


class RedisConnection:
    """An authenticated connection.

    An ``OSError`` or ``asyncio.IncompleteReadError`` means that the connection broke, and that what was asked may or
    may not have happened.
    """

    def __init__(self, host: str, port: int, password: str, *, certificate: str = "") -> None:
        self._host, self._port, self._password = host, port, password
        self._tls: ssl.SSLContext | None = None
        if certificate:
            self._tls = ssl.create_default_context(cadata=certificate)
            self._tls.check_hostname = False
        self._writer: asyncio.StreamWriter | None = None

    async def __aenter__(self) -> Self:
        self._reader, self._writer = await asyncio.open_connection(self._host, self._port, ssl=self._tls)
        await self.call("AUTH", self._password)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._writer is not None:
            self._writer.close()

    async def call(self, *words: str) -> Any:
        """One command's answer: text, a number, a list, or None. Raises ``RedisError``."""
        assert self._writer is not None, "the connection is not open: use `async with`"
        encoded = [word.encode() for word in words]
        self._writer.write(b"*%d\r\n" % len(encoded) + b"".join(b"$%d\r\n%s\r\n" % (len(one), one) for one in encoded))
        await self._writer.drain()
        return await self._answer()

    async def _answer(self) -> Any:
        line = (await self._reader.readuntil(b"\r\n"))[:-2]
        kind, rest = line[:1], line[1:]
        if kind == b"+":
            return rest.decode()
        if kind == b"-":
            raise RedisError(rest.decode())
        if kind == b":":
            return int(rest)
        if kind == b"$":
            length = int(rest)
            return None if length < 0 else (await self._reader.readexactly(length + 2))[:-2].decode()
        if kind == b"*":
            return [await self._answer() for _ in range(int(rest))]
        raise RedisError(f"cannot read an answer that begins with {kind!r}")
