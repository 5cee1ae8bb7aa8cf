"""gRPC over one connection, as much of it as etcd's API needs.

A call is a few bytes around a message: headers that are the same each time, five bytes of length, and headers at the
end that say how it went. So this is a protocol of the event loop that takes about as long for it as for the message
itself, instead of the general library with threads of its own (docs/adr/0004 has the reasons).

Guarantees: a call ends with an answer or with ``CallFailed``, at the latest after its time or when the connection is
lost. There is no second attempt and no reconnecting here: whoever opened the channel decides that. Answers are taken in
as fast as they come; what we send respects the peer's windows.
"""

from __future__ import annotations

import asyncio
import enum
from collections import deque
from functools import partial
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import unquote

from attractor.store.etcd import frames
from attractor.store.etcd.frames import frame

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable
    from typing import Self

KEEPALIVE_S = 10.0
"""Notice a peer that is gone without a word. Etcd cuts off who pings more often than every 5 s."""
KEEPALIVE_TIMEOUT_S = 5.0

PONG_DELAY_S = 0.01
"""An answer to a ping goes with whatever is sent next, or after this time. Etcd pings with nearly every call, to find
out how much it may send; sending is a third of what a call takes us."""

_BUFFER_BYTES = 1 << 18
_REPLENISH = 1 << 29
"""After so many bytes the peer is allowed to send as many again; the windows are four times as large."""
_LAST_STREAM = frames.MAX_WINDOW
_MESSAGE_HEAD = 5


class Code(enum.IntEnum):
    """gRPC's codes, those that mean something to us."""

    OK = 0
    CANCELLED = 1
    UNKNOWN = 2
    INVALID_ARGUMENT = 3
    DEADLINE_EXCEEDED = 4
    PERMISSION_DENIED = 7
    RESOURCE_EXHAUSTED = 8
    OUT_OF_RANGE = 11
    UNIMPLEMENTED = 12
    INTERNAL = 13
    UNAVAILABLE = 14
    UNAUTHENTICATED = 16


_CODES = frozenset(Code)

Then: TypeAlias = "Callable[[bytes, CallFailed | None], None]"
"""What to do with an answer, or with the failure to get one; called once."""


class CallFailed(Exception):
    """A call that was refused, or of which nobody knows how it went."""

    def __init__(self, code: Code, details: str) -> None:
        self.code, self.details = code, details
        super().__init__(f"{code.name}: {details}")


class _Call:
    """A call under way; ``Unary`` and ``Stream`` say what becomes of it."""

    __slots__ = ("data", "id", "to_send", "unread", "window")

    def __init__(self) -> None:
        self.id = 0
        self.data: bytes | bytearray = b""
        self.unread = 0
        """Bytes that came since the peer was last allowed to send more of it."""
        self.window = 0
        """How much the peer takes of it now."""
        self.to_send = b""
        """What is left of the request."""

    def received(self, data: bytes) -> None:
        """Take in a piece; most answers have only one."""
        if not self.data:
            self.data = data
        elif isinstance(self.data, bytearray):
            self.data += data
        else:
            self.data = bytearray(self.data + data)

    def ended(self, failure: CallFailed | None) -> None:
        """Tell how it went."""
        raise NotImplementedError


class _Unary(_Call):
    """One message there, one back."""

    __slots__ = ("then", "timer")

    def __init__(self, then: Then) -> None:
        super().__init__()
        self.then = then
        self.timer: asyncio.TimerHandle | None = None

    def ended(self, failure: CallFailed | None) -> None:
        """Hand over the message."""
        if self.timer is not None:
            self.timer.cancel()
        if failure is None and (len(self.data) < _MESSAGE_HEAD or self.data[0]):
            failure = CallFailed(Code.INTERNAL, "an answer without a message that we understand")
        self.then(b"" if failure is not None else bytes(self.data[_MESSAGE_HEAD:]), failure)


class Stream(_Call):
    """Messages there, messages back, as they come."""

    __slots__ = ("_channel", "_failure", "_is_ended", "_messages", "_waiter")

    def __init__(self, channel: Channel) -> None:
        super().__init__()
        self._channel = channel
        self._messages: list[bytes] = []
        self._failure: CallFailed | None = None
        self._is_ended = False
        self._waiter: asyncio.Future[None] | None = None

    def write(self, message: bytes) -> None:
        """Send one message."""
        self._channel.send_message(self, message)

    async def read(self) -> list[bytes]:
        """All messages that have come, at least one; none at the end. Raises ``CallFailed``."""
        while not self._messages:
            if self._failure is not None:
                raise self._failure
            if self._is_ended:
                return []
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter
        messages, self._messages = self._messages, []
        return messages

    def cancel(self) -> None:
        """End it, whatever comes."""
        self._channel.forget(self)

    def received(self, data: bytes) -> None:
        """Hand over the messages that are whole now."""
        super().received(data)
        at, end = 0, len(self.data)
        while end - at >= _MESSAGE_HEAD:
            stop = at + _MESSAGE_HEAD + int.from_bytes(self.data[at + 1 : at + _MESSAGE_HEAD], "big")
            if stop > end:
                break
            self._messages.append(bytes(self.data[at + _MESSAGE_HEAD : stop]))
            at = stop
        if at:
            self.data = self.data[at:]
        if self._messages:
            self._wake()

    def ended(self, failure: CallFailed | None) -> None:
        """Nothing more will come."""
        self._is_ended, self._failure = True, failure
        self._wake()

    def _wake(self) -> None:
        waiter, self._waiter = self._waiter, None
        if waiter is not None and not waiter.done():
            waiter.set_result(None)


class Channel(asyncio.BufferedProtocol):
    """One connection; make it with ``open``."""

    def __init__(self, authority: str, *, is_tls: bool) -> None:
        self._loop = asyncio.get_running_loop()
        self._common = (
            (":method", "POST"),
            (":scheme", "https" if is_tls else "http"),
            (":authority", authority),
            ("te", "trailers"),
            ("content-type", "application/grpc"),
            ("user-agent", "attractor"),
        )
        self._transport: asyncio.Transport | None = None
        self._buffer = memoryview(bytearray(_BUFFER_BYTES))
        self._splitter = frames.Splitter()
        self._out: list[bytes] = []
        """What is written at the end of this step of the event loop, in one go."""
        self._is_taking = False
        """Whether this is such a step, at the end of which it is written anyway."""
        self._pongs = b""
        """Answers to pings, which wait for something to go with."""
        self._calls: dict[int, _Call] = {}
        self._waiting: deque[tuple[_Call, bytes, int]] = deque()
        """Calls for which there is no room among the peer's streams yet, with their headers and flags."""
        self._blocked: list[_Call] = []
        """Calls that have more to send than the peer takes now."""
        self._next_id = 1
        self._max_calls = 2**31
        self._max_frame = 16_384
        self._window = self._first_window = frames.DEFAULT_WINDOW
        self._unread = 0
        """Bytes that came since the peer was last allowed to send more."""
        self._block: tuple[int, int, bytes] | None = None
        """Headers that go on in the next frame."""
        self._is_quiet = False
        """Whether nothing has come since the keepalive looked last."""
        self._keepalive: asyncio.TimerHandle | None = None
        self._lost = ""
        """Why the connection is of no use any more."""
        self._closed: asyncio.Future[None] = self._loop.create_future()

    @classmethod
    async def open(cls, endpoint: str, context: ssl.SSLContext | None, timeout_s: float) -> Self:
        """Connect to ``HOST:PORT``; raises ``CallFailed``."""
        host, _, port = endpoint.rpartition(":")
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(timeout_s):
                _, channel = await loop.create_connection(
                    lambda: cls(endpoint, is_tls=context is not None), host.strip("[]"), int(port), ssl=context
                )
        except TimeoutError:
            raise CallFailed(Code.UNAVAILABLE, f"{endpoint} did not answer in {timeout_s} s") from None
        except (OSError, OverflowError, UnicodeError) as error:  # the latter two: no such port, no such name
            raise CallFailed(Code.UNAVAILABLE, f"{endpoint} cannot be connected to: {error}") from error
        return channel

    def headers(self, path: str, metadata: tuple[tuple[str, str], ...], timeout_s: float | None) -> bytes:
        """The header block of a call; it may be used again and again."""
        limit = () if timeout_s is None else (("grpc-timeout", f"{max(round(timeout_s * 1000), 1)}m"),)
        return frames.header_block((*self._common[:3], (":path", path), *self._common[3:], *limit, *metadata))

    def post(self, headers: bytes, message: bytes, timeout_s: float, then: Then) -> _Unary:
        """One message there, one back; ``then`` is called as soon as it is here, or it is known that it will not be."""
        call = _Unary(then)
        call.timer = self._loop.call_later(timeout_s, self._time_is_up, call)
        self._start(call, headers, message, frames.END_STREAM)
        return call

    async def call(self, headers: bytes, message: bytes, timeout_s: float) -> bytes:
        """The same for whoever waits; raises ``CallFailed``."""
        answer: asyncio.Future[bytes] = self._loop.create_future()
        call = self.post(headers, message, timeout_s, partial(_hand_over, answer))
        try:
            return await answer
        finally:
            if answer.cancelled():
                self.forget(call)

    def stream(self, headers: bytes) -> Stream:
        """Open a stream."""
        stream = Stream(self)
        self._start(stream, headers, b"", 0)
        return stream

    async def aclose(self) -> None:
        """End all calls and the connection."""
        self._lose("the connection was closed")
        await self._closed

    # What is sent

    def _start(self, call: _Call, headers: bytes, message: bytes, flags: int) -> None:
        if self._lost:
            call.ended(CallFailed(Code.UNAVAILABLE, self._lost))
            return
        if flags:
            call.to_send = bytes(1) + len(message).to_bytes(4, "big") + message
        if len(self._calls) < self._max_calls:
            self._begin(call, headers, flags)
        else:
            self._waiting.append((call, headers, flags))

    def _begin(self, call: _Call, headers: bytes, flags: int) -> None:
        call.id, self._next_id = self._next_id, self._next_id + 2
        if call.id > _LAST_STREAM:
            call.ended(CallFailed(Code.UNAVAILABLE, "the connection has had all the calls that it can have"))
            self._lose("the connection has had all the calls that it can have")
            return
        self._calls[call.id] = call
        call.window = self._first_window
        self._write(frame(frames.HEADERS, frames.END_HEADERS, call.id, headers))
        if flags:
            self._send_rest(call)

    def send_message(self, stream: Stream, message: bytes) -> None:
        """Send one more message of a stream."""
        stream.to_send += bytes(1) + len(message).to_bytes(4, "big") + message
        if stream.id in self._calls:
            self._send_rest(stream)

    def _send_rest(self, call: _Call) -> None:
        """Send as much as the windows allow."""
        ends = frames.END_STREAM if isinstance(call, _Unary) else 0
        while call.to_send:
            size = min(len(call.to_send), call.window, self._window, self._max_frame)
            if size <= 0:
                if call not in self._blocked:
                    self._blocked.append(call)
                return
            piece, call.to_send = call.to_send[:size], call.to_send[size:]
            call.window -= size
            self._window -= size
            self._write(frame(frames.DATA, 0 if call.to_send else ends, call.id, piece))

    def _unblock(self) -> None:
        if self._blocked:
            blocked, self._blocked = self._blocked, []
            for call in blocked:
                if call.id in self._calls:
                    self._send_rest(call)

    def _write(self, data: bytes) -> None:
        if not self._out and not self._is_taking:
            self._loop.call_soon(self._flush)
        self._out.append(data)

    def _flush(self) -> None:
        out, self._out = self._out, []
        if self._pongs and (out or not self._is_taking):
            out.append(self._pongs)
            self._pongs = b""
        if out and self._transport is not None and not self._transport.is_closing():
            self._transport.write(b"".join(out))

    def _time_is_up(self, call: _Call) -> None:
        self.forget(call)
        call.ended(CallFailed(Code.DEADLINE_EXCEEDED, "no answer in time"))

    def forget(self, call: _Call) -> None:
        """Whatever comes for a call from now on is nobody's business."""
        if isinstance(call, _Unary) and call.timer is not None:
            call.timer.cancel()
        if self._calls.pop(call.id, None) is not None:
            self._write(frame(frames.RST_STREAM, 0, call.id, frames.CANCEL.to_bytes(4, "big")))
            self._let_in()
        elif not call.id:
            self._waiting = deque(waiting for waiting in self._waiting if waiting[0] is not call)

    # What comes

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Say how we talk."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        ours = {frames.HEADER_TABLE_SIZE: 0, frames.ENABLE_PUSH: 0, frames.INITIAL_WINDOW_SIZE: frames.MAX_WINDOW}
        grown = frames.window_update(0, frames.MAX_WINDOW - frames.DEFAULT_WINDOW)
        transport.write(frames.PREFACE + frames.settings(ours) + grown)
        self._keepalive = self._loop.call_later(KEEPALIVE_S, self._look)

    def get_buffer(self, sizehint: int) -> memoryview:
        """Where to receive into."""
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        """Take in what came."""
        self._is_quiet = False
        self._is_taking = True
        try:
            for kind, flags, stream, payload in self._splitter.feed(bytes(self._buffer[:nbytes])):
                self._take(kind, flags, stream, payload)
            self._flush()
        except frames.ProtocolError as error:
            self._lose(f"{error}; is it etcd?")
        finally:
            self._is_taking = False

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell all callers."""
        self._lose(str(exc) if exc else "the connection was closed by the peer")
        if not self._closed.done():
            self._closed.set_result(None)

    def _take(self, kind: int, flags: int, stream: int, payload: bytes) -> None:
        if kind == frames.DATA:
            self._take_data(flags, stream, payload)
        elif kind == frames.HEADERS:
            self._take_headers(flags, stream, payload)
        elif kind == frames.WINDOW_UPDATE:
            grown = int.from_bytes(payload, "big")
            if not stream:
                self._window += grown
            elif (call := self._calls.get(stream)) is not None:
                call.window += grown
            self._unblock()
        elif kind == frames.PING and not flags & frames.ACK:
            if not self._pongs:
                self._loop.call_later(PONG_DELAY_S, self._flush)
            self._pongs += frame(frames.PING, frames.ACK, 0, payload)
        elif kind == frames.SETTINGS and not flags & frames.ACK:
            self._take_settings(payload)
        elif kind == frames.RST_STREAM:
            code = int.from_bytes(payload, "big")
            self._end(stream, CallFailed(Code.UNAVAILABLE, f"the call was reset with code {code}"))
        elif kind == frames.GOAWAY:
            reason = payload[8:].decode(errors="replace")
            self._lose(f"the peer has ended the connection{': ' if reason else ''}{reason}")
        elif kind == frames.CONTINUATION and self._block is not None:
            begun_flags, begun_stream, block = self._block
            self._take_headers(begun_flags | flags & frames.END_HEADERS, begun_stream, block + payload)

    def _take_data(self, flags: int, stream: int, payload: bytes) -> None:
        call = self._calls.get(stream)
        if call is not None:
            call.received(payload)
            call.unread += len(payload)
            if flags & frames.END_STREAM:
                self._end(stream, CallFailed(Code.INTERNAL, "the answer ended without a status"))
            elif call.unread > _REPLENISH:
                self._write(frames.window_update(stream, call.unread))
                call.unread = 0
        self._unread += len(payload)
        if self._unread > _REPLENISH:
            self._write(frames.window_update(0, self._unread))
            self._unread = 0

    def _take_headers(self, flags: int, stream: int, block: bytes) -> None:
        if not flags & frames.END_HEADERS:
            self._block = (flags, stream, block)
            return
        self._block = None
        call = self._calls.get(stream)
        if call is None:
            return
        headers = frames.headers_of(block)
        status = headers.get("grpc-status")
        if status is None:
            code = headers.get(":status", "200")
            if code != "200":
                self._end(stream, CallFailed(Code.UNAVAILABLE, f"the peer answered with HTTP status {code}"))
                return
        if flags & frames.END_STREAM:
            if status == "0":
                self._end(stream, None)
            else:
                self._end(stream, CallFailed(_code(status), unquote(headers.get("grpc-message", ""))))

    def _take_settings(self, payload: bytes) -> None:
        for name, value in frames.read_settings(payload):
            if name == frames.INITIAL_WINDOW_SIZE:
                for call in self._calls.values():
                    call.window += value - self._first_window
                self._first_window = value
            elif name == frames.MAX_FRAME_SIZE:
                self._max_frame = value
            elif name == frames.MAX_CONCURRENT_STREAMS:
                self._max_calls = value
        self._write(frame(frames.SETTINGS, frames.ACK, 0))
        self._unblock()
        self._let_in()

    def _end(self, stream: int, failure: CallFailed | None) -> None:
        call = self._calls.pop(stream, None)
        if call is not None:
            call.ended(failure)
            self._let_in()

    def _let_in(self) -> None:
        while self._waiting and len(self._calls) < self._max_calls:
            self._begin(*self._waiting.popleft())

    def _lose(self, why: str) -> None:
        """The connection is of no use any more."""
        if not self._lost:
            self._lost = why
            if self._keepalive is not None:
                self._keepalive.cancel()
            for call in [*self._calls.values(), *(waiting[0] for waiting in self._waiting)]:
                call.ended(CallFailed(Code.UNAVAILABLE, why))
            self._calls.clear()
            self._waiting.clear()
            if self._transport is not None:
                self._transport.abort()

    def _look(self) -> None:
        """Ask a peer that has been quiet whether it is there, and give it up if it stays so."""
        if self._is_quiet and self._calls:
            self._write(frame(frames.PING, 0, 0, bytes(8)))
            self._keepalive = self._loop.call_later(KEEPALIVE_TIMEOUT_S, self._give_up)
        else:
            self._is_quiet = True
            self._keepalive = self._loop.call_later(KEEPALIVE_S, self._look)

    def _give_up(self) -> None:
        if self._is_quiet:
            self._lose(f"the peer has been quiet for {KEEPALIVE_S + KEEPALIVE_TIMEOUT_S} s")
        else:
            self._keepalive = self._loop.call_later(KEEPALIVE_S, self._look)


def _code(status: str | None) -> Code:
    """The code of a status; those that mean nothing to us are unknown."""
    number = int(status) if status is not None and status.isdecimal() else Code.UNKNOWN
    return Code(number) if number in _CODES else Code.UNKNOWN


def _hand_over(answer: asyncio.Future[bytes], message: bytes, failure: CallFailed | None) -> None:
    if not answer.done():
        if failure is None:
            answer.set_result(message)
        else:
            answer.set_exception(failure)
