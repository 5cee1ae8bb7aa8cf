"""Logs of pods on the wire: the text that the store knows, or a stream from whoever runs the container."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from attractor.httpd.reply import Reply, status_reply
from attractor.httpd.watch.task_stream import TaskStream

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from attractor.apiserver.response import LogBody

PLAIN = "text/plain"


class PodLogs(Protocol):
    """Somebody who knows what containers print."""

    def open(self, log: LogBody) -> AsyncIterator[bytes] | None:
        """The pieces of a log, as ``log.options`` asks for; None when this pod is somebody else's."""
        ...


class _LogStream(TaskStream):
    def __init__(self, pieces: AsyncIterator[bytes]) -> None:
        super().__init__()
        self._pieces = pieces

    async def write_all(self) -> None:
        """Pass on what comes."""
        async for piece in self._pieces:
            await self.write(piece)


def log_reply(code: int, log: LogBody, logs: PodLogs | None) -> Reply:
    """The answer to a request for a log; ``code`` is the store's, if nobody knows better."""
    pieces = logs.open(log) if logs is not None else None
    if pieces is None:
        return status_reply(log.unknown) if log.unknown is not None else Reply(code, log.text, PLAIN)
    return Reply(200, content_type=PLAIN, stream=_LogStream(pieces))
