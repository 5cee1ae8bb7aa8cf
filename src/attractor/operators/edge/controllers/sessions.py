"""Sessions: the times in which an agent and the API server hear each other, and what was said in each.

A session begins with the first answer, at the start or after one was missed, and ends when a request or a watch
breaks. In each, the agent says first what it has, of everything (``Reports``); only then does it give signs of life. So
whoever sees a sign of life of a session knows that all that was reported in it is stored.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from attractor.client.errors import AnswerLost, GarbledAnswer, ServerUnreachable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from attractor.client import ByteStream, ClientRequest, ClientResponse, Transport
    from attractor.operators.edge.drivers.protocols import Ref

BROKEN = (ServerUnreachable, AnswerLost, GarbledAnswer)
"""What a request or a watch ends with when the two do not hear each other."""


class Sessions:
    """Counts sessions; ``identity`` tells this process from others."""

    def __init__(self, identity: str) -> None:
        self._identity = identity
        self._count = 0
        self.is_up = False
        self._changed = asyncio.Event()

    @property
    def current(self) -> str:
        """The session that is, or the last one."""
        return f"{self._identity}.{self._count}"

    def heard(self) -> None:
        """An answer came."""
        if not self.is_up:
            self.is_up = True
            self._count += 1
            self._changed.set()

    def broke(self) -> None:
        """None came, or one broke off."""
        if self.is_up:
            self.is_up = False
            self._changed.set()

    def wake(self) -> None:
        """Let whoever waits look again."""
        self._changed.set()

    async def wait_changed(self, within_s: float) -> None:
        """Wait until a session begins or ends, or ``wake``, but no longer than this."""
        try:
            async with asyncio.timeout(within_s):
                await self._changed.wait()
        except TimeoutError:
            return
        self._changed.clear()


class Reports:
    """Reports that are still due in a session; ``completed`` is called when all were made."""

    def __init__(self, completed: Callable[[], None]) -> None:
        self.session = ""
        """In which reports are made now."""
        self._owed: set[Ref] = set()
        self._completed = completed

    def begin(self, session: str, refs: Iterable[Ref]) -> None:
        """In a new session, all this is to be said."""
        self.session, self._owed = session, set(refs)

    def told(self, ref: Ref, session: str) -> None:
        """Something was said; in an older session that does not count."""
        if session == self.session and ref in self._owed:
            self._owed.discard(ref)
            if not self._owed:
                self._completed()

    @property
    def owed(self) -> frozenset[Ref]:
        """Return the reports that are still due."""
        return frozenset(self._owed)


class SessionTransport:
    """Carries requests, and notes in which of them the two heard each other."""

    def __init__(self, inner: Transport, sessions: Sessions) -> None:
        self.inner = inner
        self._sessions = sessions

    async def send(self, request: ClientRequest) -> ClientResponse:
        """Carry a request."""
        try:
            response = await self.inner.send(request)
        except BROKEN:
            self._sessions.broke()
            raise
        self._sessions.heard()
        return response

    async def open(self, request: ClientRequest) -> ByteStream:
        """Open a stream."""
        try:
            stream = await self.inner.open(request)
        except BROKEN:
            self._sessions.broke()
            raise
        self._sessions.heard()
        return _SessionStream(stream, self._sessions)

    async def aclose(self) -> None:
        """Close the transport below."""
        await self.inner.aclose()


class _SessionStream:
    def __init__(self, inner: ByteStream, sessions: Sessions) -> None:
        self._inner = inner
        self._sessions = sessions

    @property
    def code(self) -> int:
        """The status code of the head."""
        return self._inner.code

    async def receive(self) -> bytes:
        """The next bytes."""
        try:
            return await self._inner.receive()
        except BROKEN:
            self._sessions.broke()
            raise

    def close(self) -> None:
        """Stop listening."""
        self._inner.close()
