"""Connections to one server, kept open and used again.

The connection that was used last is used next, so that the others can grow old and be closed. A connection that was
idle longer than servers usually allow is not trusted with a request. Streams take a connection of their own for good.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING

from attractor.client.errors import ServerUnreachable

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from attractor.client.http.connection import Connection

IDLE_S = 60.0
FRESH_S = 0.02


class Pool:
    """At most ``size`` connections for requests; who comes when all are busy waits in line."""

    def __init__(self, connect: Callable[[], Awaitable[Connection]], size: int) -> None:
        self._connect = connect
        self._size = size
        self._idle: list[Connection] = []
        self._used: set[Connection] = set()
        self._connecting = 0
        self._line: deque[asyncio.Future[None]] = deque()
        self._streams: set[Connection] = set()
        self.is_closed = False
        """Whether connections are closed as their requests end."""
        self._is_shut = False

    def check_invariants(self) -> None:
        """Assert the invariants, which hold between any two steps of the event loop."""
        assert not (set(self._idle) & self._used), "an idle connection is in use"
        assert len(self._used) + self._connecting <= self._size, "there are more connections than allowed"

    async def acquire(self) -> tuple[Connection, bool]:
        """A connection for one request, and whether it was used before; ``release`` must follow."""
        while len(self._used) + self._connecting >= self._size:
            place = asyncio.get_running_loop().create_future()
            self._line.append(place)
            try:
                await place
            except BaseException:
                if place.done() and not place.cancelled():
                    self._call_next()
                raise
            finally:
                if place in self._line:
                    self._line.remove(place)
        if self._is_shut:
            raise ServerUnreachable("the client is closed")
        known = self.acquire_nowait()
        if known is not None:
            return known, True
        self._connecting += 1
        try:
            connection = await self._connect()
            self._used.add(connection)
        finally:
            self._connecting -= 1
            if len(self._used) + self._connecting < self._size:
                self._call_next()
        return connection, False

    def acquire_nowait(self) -> Connection | None:
        """A connection that was used before and is free now, if there is one; ``release`` must follow."""
        if not self._idle or len(self._used) + self._connecting >= self._size:
            return None
        now = asyncio.get_running_loop().time()
        while self._idle:
            connection = self._idle.pop()
            if _is_usable(connection, now):
                self._used.add(connection)
                return connection
            connection.close()
        return None

    def release(self, connection: Connection) -> None:
        """The request is over, well or not."""
        self._used.discard(connection)
        if connection.is_open and not self.is_closed:
            connection.idle_since = asyncio.get_running_loop().time()
            self._idle.append(connection)
        else:
            connection.close()
        self._call_next()

    async def acquire_for_stream(self) -> Connection:
        """A connection that never comes back."""
        self._streams = {stream for stream in self._streams if not stream.is_closed}
        connection = await self._connect()
        self._streams.add(connection)
        return connection

    def retire(self) -> None:
        """Take no more requests; those under way, and streams, go on to their end."""
        self.is_closed = True
        for connection in self._idle:
            connection.close()
        self._idle.clear()

    def close(self) -> None:
        """Close every connection; requests under way fail."""
        self.is_closed = self._is_shut = True
        for connection in (*self._idle, *self._used, *self._streams):
            connection.close()
        self._idle.clear()
        while self._line:
            self._call_next()

    def _call_next(self) -> None:
        while self._line:
            place = self._line.popleft()
            if not place.done():
                place.set_result(None)
                return


def _is_usable(connection: Connection, now: float) -> bool:
    """Return whether a connection may be trusted with a request; one that was used just now is not looked at twice."""
    idle_s = now - connection.idle_since
    return connection.is_open and idle_s <= IDLE_S and (idle_s < FRESH_S or not connection.has_input())
