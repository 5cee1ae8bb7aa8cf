"""One connection to a server: requests out, one answer at a time back.

The answer is collected whole, or handed on in pieces as it comes (``BodyStream``). A connection knows whether it may
be used again, and tells apart a request that was never sent from one whose answer was lost.
"""

from __future__ import annotations

import asyncio
import zlib
from collections import deque
from functools import lru_cache
from typing import TYPE_CHECKING

import httptools

from attractor.client.errors import AnswerLost, GarbledAnswer
from attractor.client.http.answers import whole
from attractor.client.transport import ClientResponse
from attractor.wire.link import Party

if TYPE_CHECKING:
    from collections.abc import Callable

    from attractor.objects.errors import ApiError
    from attractor.wire.link import Link

MAX_HEADERS = 500
PAUSE_BYTES = 1 << 20
"""A stream whose reader lags by this much stops reading from the socket, so that the server feels it."""


@lru_cache(maxsize=256)
def _name(name: bytes) -> str:
    """A header's name in lower case; servers send the same ones with every answer."""
    return name.decode("latin-1").lower()


class _Parser:
    """Callbacks of httptools for the answers of one connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.headers: dict[str, str] = {}

    def on_message_begin(self) -> None:
        self.headers = {}

    def on_header(self, name: bytes, value: bytes) -> None:
        if len(self.headers) < MAX_HEADERS:
            self.headers[_name(name)] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        self._connection.head_received(self.headers)

    def on_body(self, data: bytes) -> None:
        self._connection.body_received(data)

    def on_message_complete(self) -> None:
        self._connection.message_completed()


class Connection(Party):
    """One connection. ``send`` one request after the other; ``open`` turns it into a stream for good."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._loop = asyncio.get_running_loop()
        self.established_soon: asyncio.Future[None] = self._loop.create_future()
        """Waits until the server is known to be who it should be."""
        self._parser = httptools.HttpResponseParser(_Parser(self))
        self._whole: asyncio.Future[ClientResponse] | None = None
        """Waits for the answer in one piece."""
        self._opened: asyncio.Future[BodyStream] | None = None
        """Waits for the head of a stream."""
        self._stream: BodyStream | None = None
        self._code = 0
        self._headers: dict[str, str] = {}
        self._body: list[bytes] = []
        self._room_bytes = 0
        """How much more the body may have, where that is limited."""
        self._is_limited = False
        self._is_informational = False
        self._got_bytes = False
        self.is_reusable = True
        """Whether another request may be sent after this one."""
        self.idle_since = 0.0

    @property
    def is_open(self) -> bool:
        """Return whether the connection can take a request."""
        return self.is_reusable and not self._link.is_closing

    def has_input(self) -> bool:
        """Return whether the socket has unread input: on an idle connection, its end.

        A write on such a connection would be lost and could not be repeated, so that it pays to look.
        """
        return self._link.has_input()

    @property
    def is_closed(self) -> bool:
        """Return whether the connection is gone, or going."""
        return self._link.is_closing

    @property
    def got_bytes(self) -> bool:
        """Return whether any byte of an answer to the last request has come."""
        return self._got_bytes

    async def send(self, data: bytes, *, max_body_bytes: int = 0) -> ClientResponse:
        """Send a request and wait for its whole answer; raises ``AnswerLost`` or ``GarbledAnswer``.

        Raises ``TimeoutError`` after ``expire``. A body that comes in pieces may be limited in size.
        """
        self._is_limited, self._room_bytes = max_body_bytes > 0, max_body_bytes
        self._whole = self._loop.create_future()
        self._write(data)
        try:
            return await self._whole
        finally:
            if not self._whole.done() or self._whole.cancelled():
                self.close()
            self._whole = None

    async def open(self, data: bytes) -> BodyStream:
        """Send a request and wait for the head of its answer; the connection then belongs to the stream."""
        self._opened = self._loop.create_future()
        self.is_reusable = False
        self._write(data)
        try:
            return await self._opened
        finally:
            if not self._opened.done() or self._opened.cancelled():
                self.close()
            self._opened = None

    def _write(self, data: bytes) -> None:
        self._got_bytes = False
        self._body = []
        if self._link.is_closing:
            self._fail(AnswerLost("the connection to the server broke before the request was sent"))
        self._link.write(data)

    def close(self) -> None:
        """Give the connection up."""
        self.is_reusable = False
        self._link.abort()

    def expire(self) -> None:
        """Wait no longer for the answer, which may still come: the connection is of no use for another request."""
        if self._whole is not None and not self._whole.done():
            self._whole.set_exception(TimeoutError())
        self.close()

    def pause(self, *, is_paused: bool) -> None:
        """Stop or resume reading from the socket."""
        if is_paused:
            self._link.pause_reading()
        else:
            self._link.resume_reading()

    # The link calls these.

    def established(self) -> None:
        """The server is who it should be."""
        if not self.established_soon.done():
            self.established_soon.set_result(None)

    def received(self, data: bytes) -> None:
        """Bytes of an answer; bytes that nobody asked for end the connection."""
        is_first, self._got_bytes = not self._got_bytes, True
        if self._whole is None and self._opened is None and self._stream is None:
            self.close()
            return
        answer = whole(data) if is_first and self._whole is not None else None
        if answer is not None:
            self._answer(answer)
            return
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError as error:
            self._fail(GarbledAnswer(f"the server's answer is not HTTP: {error}: {data[:60]!r}"))
            self.close()

    def _answer(self, answer: ClientResponse) -> None:
        if self._whole is not None and not self._whole.done():
            self._whole.set_result(answer)

    def lost(self, error: Exception | None) -> None:
        """The connection is gone; an answer that ends with it is complete, any other is lost."""
        self.is_reusable = False
        ends_with_close = self._code and "content-length" not in self._headers and not self._is_chunked()
        if error is None and ends_with_close and (self._whole is not None or self._stream is not None):
            self.message_completed()
            return
        if not self.established_soon.done():
            self.established_soon.set_exception(error or ConnectionResetError("the server closed the connection"))
        why = f": {error}" if error is not None else ""
        self._fail(AnswerLost(f"the connection to the server broke before the answer was complete{why}"))

    # The parser calls these.

    def head_received(self, headers: dict[str, str]) -> None:
        """Status line and headers are there."""
        code = self._parser.get_status_code()
        self._is_informational = 100 <= code < 200
        if self._is_informational:
            return
        self._code, self._headers = code, headers
        if not self._parser.should_keep_alive():
            self.is_reusable = False
        if self._opened is not None and not self._opened.done():
            self._stream = BodyStream(self, code, headers)
            self._opened.set_result(self._stream)

    def body_received(self, data: bytes) -> None:
        """A piece of the body."""
        if self._stream is not None:
            self._stream.feed(data)
            return
        self._body.append(data)
        if self._is_limited:
            self._room_bytes -= len(data)
            if self._room_bytes < 0:
                self._fail(GarbledAnswer("the answer is larger than allowed"))
                self.close()

    def message_completed(self) -> None:
        """The answer is whole."""
        if self._is_informational:
            return
        code, self._code = self._code, 0
        if self._stream is not None:
            self._stream.end()
            return
        if self._whole is not None and not self._whole.done():
            try:
                body = _decompressed(b"".join(self._body), self._headers)
            except zlib.error as error:
                self._fail(GarbledAnswer(f"the server's answer says gzip and is not: {error}"))
                return
            self._answer(ClientResponse(code, body, self._headers))

    def _is_chunked(self) -> bool:
        return "chunked" in self._headers.get("transfer-encoding", "")

    def _fail(self, error: ApiError) -> None:
        if self._whole is not None and not self._whole.done():
            self._whole.set_exception(error)
        if self._opened is not None and not self._opened.done():
            self._opened.set_exception(error)
        if self._stream is not None:
            self._stream.fail(error)


def _decompressed(body: bytes, headers: dict[str, str]) -> bytes:
    if headers.get("content-encoding", "") != "gzip":
        return body
    return zlib.decompress(body, wbits=31)


class BodyStream:
    """The body of an answer as it comes."""

    def __init__(self, connection: Connection, code: int, headers: dict[str, str]) -> None:
        self.code = code
        self.headers = headers
        self._connection = connection
        self._inflate: Callable[[bytes], bytes] | None = None
        if headers.get("content-encoding") == "gzip":
            self._inflate = zlib.decompressobj(wbits=31).decompress
        self._pieces: deque[bytes] = deque()
        self._bytes = 0
        self._is_paused = False
        self._is_ended = False
        self._error: ApiError | None = None
        self._wakeup: asyncio.Future[None] | None = None

    def feed(self, data: bytes) -> None:
        """A piece has come."""
        if self._inflate is not None:
            try:
                data = self._inflate(data)
            except zlib.error as error:
                self.fail(GarbledAnswer(f"the server's answer says gzip and is not: {error}"))
                self._connection.close()
                return
        self._pieces.append(data)
        self._bytes += len(data)
        if self._bytes > PAUSE_BYTES and not self._is_paused:
            self._is_paused = True
            self._connection.pause(is_paused=True)
        self._wake()

    def end(self) -> None:
        """The body is complete."""
        self._is_ended = True
        self._connection.close()
        self._wake()

    def fail(self, error: ApiError) -> None:
        """Nothing more will come, and that is not how it should have ended."""
        if not self._is_ended and self._error is None:
            self._error = error
            self._wake()

    def _wake(self) -> None:
        if self._wakeup is not None and not self._wakeup.done():
            self._wakeup.set_result(None)

    async def receive(self) -> bytes:
        """All that has come; empty at the end. Raises what went wrong, after what came before it."""
        while not self._pieces:
            if self._error is not None:
                raise self._error
            if self._is_ended:
                return b""
            self._wakeup = asyncio.get_running_loop().create_future()
            await self._wakeup
        data = b"".join(self._pieces)
        self._pieces.clear()
        self._bytes = 0
        if self._is_paused:
            self._is_paused = False
            self._connection.pause(is_paused=False)
        return data

    def close(self) -> None:
        """Stop listening."""
        self.fail(AnswerLost("the stream was closed by this client"))
        self._connection.close()
