"""A network that can be cut: a TCP proxy that breaks every connection, or swallows what goes one way."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Self

REQUESTS, ANSWERS = "requests", "answers"


class CuttableProxy:
    """Passes bytes to a port of this machine.

    ``cut`` breaks all connections and takes no new ones, as a pulled cable with a helpful switch. ``swallow`` loses what
    goes one way and breaks nothing: with requests, the server hears nothing; with answers, it hears and acts, and the
    other side does not learn of it. ``heal`` breaks those connections that lost something, as a router does that has
    forgotten them, and lets everything through again.
    """

    def __init__(self, port: int, scheme: str = "https") -> None:
        self._target = port
        self._scheme = scheme
        self._open: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self.is_cut = False
        self._swallowed = ""
        self._server: asyncio.Server | None = None
        self.swallowed_bytes = 0

    @property
    def url(self) -> str:
        assert self._server is not None
        return f"{self._scheme}://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        self.cut()
        if self._tasks:
            await asyncio.wait(self._tasks)

    def cut(self) -> None:
        """Break everything."""
        self.is_cut = True
        self._break()

    def swallow(self, what: str) -> None:
        """Lose ``requests`` or ``answers`` from now on."""
        self._swallowed = what

    def heal(self) -> None:
        """Let connections through again."""
        if self._swallowed:
            self._break()
        self._swallowed = ""
        self.is_cut = False

    def _lets_through(self) -> bool:
        return not self.is_cut

    def _break(self) -> None:
        for writer in list(self._open):
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        if not self._lets_through():
            writer.transport.abort()
            return
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._target)
        self._open |= {writer, far_writer}
        if not self._lets_through():  # it was cut meanwhile
            self._break()
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._pass(reader, far_writer, REQUESTS))
                group.create_task(self._pass(far_reader, writer, ANSWERS))
        finally:
            self._open -= {writer, far_writer}
            writer.transport.abort()
            far_writer.transport.abort()

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, what: str) -> None:
        with suppress(ConnectionError):
            while data := await reader.read(65536):
                if self._swallowed == what:
                    self.swallowed_bytes += len(data)
                    continue
                writer.write(data)
                await writer.drain()
        writer.transport.abort()
