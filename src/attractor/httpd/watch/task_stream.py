"""Streams that have to wait for somebody else, each driven by a task of its own."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from attractor.httpd.reply import frame

if TYPE_CHECKING:
    from attractor.httpd.reply import StreamWriter


class TaskStream:
    """A ``Stream`` whose pieces come from ``pieces``; ends when it returns, when the client goes, or when told to."""

    def __init__(self) -> None:
        self._writer: StreamWriter | None = None
        self._can_write = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def write_all(self) -> None:
        """Write every piece with ``write``; errors of the server's own are for the caller's log."""
        raise NotImplementedError

    def start(self, writer: StreamWriter) -> None:
        """The head is sent."""
        self._writer = writer
        self._task = asyncio.get_running_loop().create_task(self._run(), name=type(self).__name__)

    def resumed(self) -> None:
        """The client reads again."""
        self._can_write.set()

    def finish(self) -> None:
        """The server stops: a clean end."""
        self._end()

    def lost(self) -> None:
        """The client is gone."""
        self._writer = None
        self._end()

    async def write(self, data: bytes) -> None:
        """Send a piece as soon as the client can take it; nothing when it is gone."""
        while self._writer is not None and self._writer.is_paused:
            self._can_write.clear()
            await self._can_write.wait()
        if self._writer is not None and data:
            self._writer.write(data, frame(data))

    async def _run(self) -> None:
        try:
            await self.write_all()
        finally:
            self._task = None
            self._end()

    def _end(self) -> None:
        writer, self._writer = self._writer, None
        if self._task is not None:
            self._task.cancel()
        if writer is not None:
            writer.end()
