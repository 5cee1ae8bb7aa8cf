"""One client's connection: its requests in order, each answered exactly once, within the limits.

At any moment a connection is in one of these states:

    reading     nothing is being answered; a request may be on its way in
    answering   one request is with the handler, or its answer streams; later ones wait, the socket is not read
                further than ``Limits.pipelined`` requests ahead
    lingering   a refusal was sent; what still comes in is thrown away, so that the client gets to read it
    closed

``check`` is called about once a second and ends what takes too long; everything else happens on arrival.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import socket
import time
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from attractor.httpd.audit.ids import AuditIds
from attractor.httpd.fairness import Place
from attractor.httpd.parser import RequestParser
from attractor.httpd.reply import (
    CONTINUE,
    LAST_CHUNK,
    Clock,
    Reply,
    compressed,
    encode_head,
    frame,
    status_reply,
)
from attractor.objects.errors import ApiError, BadRequest, InternalError, RequestEntityTooLarge, Timeout
from attractor.wire.link import RECEIVE_BYTES, Link, Party
from attractor.wire.poller import poller
from attractor.wire.tls import TlsSession

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable

    from attractor.httpd.limits import Limits
    from attractor.httpd.parser import HttpRequest, Refusal
    from attractor.httpd.reply import Stream
    from attractor.wire.deferred import Deferred

    Handler = Callable[[HttpRequest, "Peer"], Reply | Deferred[Reply]]
    Gate = Callable[[HttpRequest, "Peer"], Reply | None]
    """Refuses a request by its head, before its body is read; None lets it pass."""

log = logging.getLogger("attractor.httpd")

PLAIN_HTTP = b"HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n"
"""What Go's servers say, and kubectl's users know."""
KEEPALIVE_IDLE_S, KEEPALIVE_INTERVAL_S, KEEPALIVE_PROBES = 60, 15, 4


class Peer(NamedTuple):
    """The client of a connection: an address, and under TLS the certificate that the client proved to own."""

    address: str
    certificate: dict[str, Any] | None = None


class Observer(Protocol):
    """Counts what happens, for metrics."""

    def answered(self, method: str, code: int, took_s: float) -> None:
        """A request was answered, or its stream has begun."""
        ...

    def disconnected(self, why: str) -> None:
        """A client was disconnected for a reason of the server's."""
        ...


class Shared:
    """State that all connections of a listener share."""

    def __init__(self, handler: Handler, limits: Limits, observer: Observer, *, gate: Gate | None = None) -> None:
        self.handler = handler
        self.gate = gate
        self.limits = limits
        self.observer = observer
        self.is_closing = False
        self.clock = Clock()
        self.connections: set[Connection] = set()
        self.last_gone = asyncio.Event()
        """Set whenever the last connection has gone."""
        self.audit_ids = AuditIds()
        self.poller = poller(asyncio.get_running_loop())
        self.received = memoryview(bytearray(RECEIVE_BYTES))
        """Where bytes come in. One for all, because what came is taken out before anybody else receives."""


class Connection(Party):
    """The server's end of one connection."""

    def __init__(self, shared: Shared, sock: socket.socket, address: str) -> None:
        self._shared = shared
        self._limits = shared.limits
        self._loop = shared.poller.loop
        self._parser = RequestParser(shared.limits)
        self._link = Link(shared.poller, sock, shared.received, shared.limits.write_buffer_bytes)
        self._peer = Peer(address)
        self._is_established = False
        self._passed: HttpRequest | None = None
        """The last request that the gate let pass while its body was on its way."""
        self._current: HttpRequest | None = None
        """The request being answered; None while reading."""
        self._awaited: asyncio.Future[Any] | None = None
        """The future of a deferred answer; then ``_current`` is set too."""
        self._stream: Stream | None = None
        """Set while an answer streams; then ``_current`` is set too."""
        self._is_paused = False
        self._is_lingering = False
        self._is_advancing = False
        self._reads_paused = False
        self._phase = (0, False)
        self._since = self._loop.time()
        """When the present phase (greeting, idle, in a head, in a body, answering, lingering, closing) began."""
        self._stalled_since = 0.0
        self._started = 0.0

    def start(self, context: ssl.SSLContext | None) -> None:
        """A client is there."""
        self._shared.connections.add(self)
        self._link.start(self, TlsSession(context, is_server=True) if context is not None else None)

    # The link calls these (``Party``).

    def established(self) -> None:
        """The client may ask."""
        self._is_established = True
        self._since = self._loop.time()
        if self._link.is_secure:
            self._peer = Peer(self._peer.address, self._link.peer_certificate())
        if len(self._shared.connections) > self._limits.connections:
            self._refuse(503, "the server has no room for another connection; try again later")

    def last_words(self, error: ssl.SSLError) -> bytes:
        """A client that speaks HTTP is told that TLS is spoken here."""
        return PLAIN_HTTP if error.reason == "HTTP_REQUEST" else b""

    def lost(self, error: Exception | None) -> None:
        """The client is gone; a write in progress is left to finish."""
        self._shared.connections.discard(self)
        if not self._shared.connections:
            self._shared.last_gone.set()
        stream, self._stream = self._stream, None
        if stream is not None:
            stream.lost()
        elif isinstance(self._awaited, Place):  # it has not begun, or writes nothing
            self._awaited.cancel()

    def ended(self) -> bool:
        """The client sends nothing more; what it asked for is still answered, but a stream has lost its reader."""
        self._parser.is_finished = True
        return self._stream is None and (self._current is not None or bool(self._parser.requests))

    def received(self, data: bytes) -> None:
        """Bytes came in."""
        if self._is_lingering:
            return
        parser = self._parser
        request = parser.take(data)
        if request is not None:
            if self._current is None and not (self._is_paused or parser.requests):  # it came whole, and alone
                self._is_advancing = True
                try:
                    self._serve(request)
                finally:
                    self._is_advancing = False
                return
            parser.requests.append(request)
        if self._current is None:
            self._advance()
        if parser.requests and self._is_far_ahead():
            self._reads_paused = True
            self._link.pause_reading()
        self._note_phase()

    def _is_far_ahead(self) -> bool:
        """Whether the requests that wait are as many, or as large, as may be read ahead."""
        waiting = self._parser.requests
        if len(waiting) >= self._limits.pipelined:
            return True
        return sum(len(request.body) for request in waiting) >= self._limits.body_bytes

    def pause_writing(self) -> None:
        """The client does not keep up."""
        self._is_paused = True
        self._stalled_since = self._loop.time()

    def resume_writing(self) -> None:
        """The client has caught up."""
        self._is_paused = False
        if self._stream is not None:
            self._stream.resumed()
        else:
            self._advance()

    # The listener calls these.

    def check(self, now: float) -> None:
        """End what takes too long."""
        limits = self._limits
        if self._is_lingering:
            if now - self._since > limits.linger_s:
                self.abort()
        elif self._is_paused and now - self._stalled_since > limits.stall_s:
            self._shared.observer.disconnected("slow_reader")
            log.warning("client disconnected: it does not read", extra={"client": self._peer.address})
            self.abort()
        elif self._link.is_closing:
            if now - self._since > limits.stall_s:
                self.abort()
        elif self._awaited is not None:
            if now - self._started > limits.handling_s:
                self._give_up()
        elif not self._is_established:
            if now - self._since > limits.head_s:
                self.abort()
        elif self._current is None:
            self._check_reading(now - self._since)

    def _check_reading(self, waited_s: float) -> None:
        limits = self._limits
        if self._parser.in_head:
            if waited_s > limits.head_s:
                self._refuse(408, "the request's headers did not arrive in time")
        elif self._parser.in_body:
            if waited_s > limits.body_s:
                self._refuse(408, "the request's body did not arrive in time")
        elif waited_s > limits.idle_s:
            self._close()

    def finish(self) -> None:
        """The server stops: end streams, let a running request end, close."""
        if self._stream is not None:
            self._stream.finish()
        elif self._current is None and not self._is_lingering:
            self._close()

    def abort(self) -> None:
        """Cut the client off."""
        self._link.abort()

    # Streams call these (``StreamWriter``).

    @property
    def is_paused(self) -> bool:
        """Whether the client reads so slowly that nothing more should be written now."""
        return self._is_paused

    def write(self, data: bytes, framed: bytes) -> None:
        """Send a piece of a streamed answer."""
        if self._current is not None:
            self._link.write(framed if self._current.version == "1.1" else data)

    def end(self) -> None:
        """The streamed answer is complete."""
        request, self._stream = self._current, None
        self._since = self._loop.time()
        if self._link.is_closing or request is None:
            return
        if request.version == "1.1":
            self._link.write(LAST_CHUNK)
        self._done(keep_alive=request.keep_alive and request.version == "1.1" and not self._shared.is_closing)

    # From here on: one request after the other.

    def _note_phase(self) -> None:
        """Remember since when a request is on its way in; while idle, ``_since`` is the last answer's time."""
        parser = self._parser
        if parser.in_head or parser.in_body:
            phase = (parser.begun, parser.in_head)
            if phase != self._phase:
                self._phase = phase
                self._since = self._loop.time()

    def _advance(self) -> None:
        """Answer what can be answered now. Not re-entered: a handler that ends at once just lets the loop go on."""
        if self._is_advancing or self._is_lingering:
            return
        self._is_advancing = True
        try:
            while self._current is None and not self._is_paused and self._parser.requests and not self._link.is_closing:
                self._serve(self._parser.requests.popleft())
        finally:
            self._is_advancing = False
        if self._current is not None or self._is_paused or self._link.is_closing:
            return
        if self._reads_paused:
            self._reads_paused = False
            self._link.resume_reading()
        parser = self._parser
        if parser.refusal is not None:
            self._refuse_input(parser.refusal)
        elif parser.in_body and parser.pending is not None and self._is_turned_away(parser.pending):
            return
        elif parser.in_body and parser.expects_continue:
            parser.continued()
            self._link.write(CONTINUE)
        elif parser.is_finished:
            self._close()

    def _is_turned_away(self, head: HttpRequest) -> bool:
        """Whether a request was refused by its head; the rest of it is then thrown away."""
        gate = self._shared.gate
        if gate is None or head is self._passed:
            return False
        try:
            reply = gate(head, self._peer)
        except Exception as error:  # the boundary: whatever went wrong is a 500 with a reference
            reply = internal_error(head, error)
        if reply is None:
            self._passed = head
            return False
        self._linger(reply, self._shared.audit_ids.of(head), head.method)
        return True

    def _serve(self, request: HttpRequest) -> None:
        self._current = request
        self._started = self._loop.time()
        try:
            answer = self._shared.handler(request, self._peer)
            if not isinstance(answer, Reply):
                self._awaited = answer.ready
                answer.ready.add_done_callback(partial(self._answered, reply=answer.result))
                return
        except Exception as error:  # the boundary: whatever went wrong is a 500 with a reference
            answer = internal_error(request, error)
        self._send(request, answer)

    def _answered(self, ready: asyncio.Future[Any], reply: Callable[[], Reply]) -> None:
        if ready is not self._awaited or self._current is None:
            return  # given up before
        self._awaited = None
        request = self._current
        if ready.cancelled():
            answer = status_reply(Timeout("the server stopped before the request was answered"))
        else:
            try:
                answer = reply()
            except Exception as error:  # the boundary: whatever went wrong is a 500 with a reference
                answer = internal_error(request, error)
        self._send(request, answer)
        self._advance()

    def _give_up(self) -> None:
        awaited, self._awaited = self._awaited, None
        assert awaited is not None
        assert self._current is not None
        awaited.cancel()
        self._shared.observer.disconnected("timeout")
        why = "the request was not answered in time; a write may or may not have happened"
        self._send(self._current, status_reply(Timeout(why)))
        self._advance()

    def _send(self, request: HttpRequest, reply: Reply) -> None:
        shared, link = self._shared, self._link
        self._since = since = self._loop.time()
        shared.observer.answered(request.method, reply.code, since - self._started)
        if link.is_closing:
            if reply.stream is not None:
                reply.stream.lost()
            self._current = None
            return
        keep_alive = request.keep_alive and not shared.is_closing
        stream = reply.stream
        if stream is None:
            if len(reply.body) > self._limits.gzip_bytes:
                reply = compressed(reply, request.headers.get(b"accept-encoding"))
        elif request.version == "1.0":
            keep_alive = False
        head = encode_head(
            reply,
            audit_id=shared.audit_ids.of(request),
            date=shared.clock.line(time.time()),
            keep_alive=keep_alive,
            version=request.version,
            more=request.flow.schema.headers if request.flow is not None else b"",
        )
        if stream is not None:
            link.write(head)
            self._stream = stream
            stream.start(self)
            return
        link.write(head if request.method == "HEAD" else head + reply.body)
        self._done(keep_alive=keep_alive)

    def _done(self, *, keep_alive: bool) -> None:
        self._current = None
        if not keep_alive:
            self._close()
        elif not self._is_advancing:
            self._advance()

    # Refusals: the input cannot be read any further.

    def _refuse_input(self, refusal: Refusal) -> None:
        self._refuse(refusal.code, refusal.message)

    def _refuse(self, code: int, message: str) -> None:
        self._linger(refusal_reply(code, message), secrets.token_hex(8).encode())

    def _linger(self, reply: Reply, audit_id: bytes, method: str = "") -> None:
        """Answer before the input is read to its end, and close once the client had time to read that."""
        link = self._link
        if link.is_closing or self._is_lingering:
            return
        self._shared.observer.answered(method, reply.code, 0.0)
        self._is_lingering = True
        self._since = self._loop.time()
        head = encode_head(
            reply,
            audit_id=audit_id,
            date=self._shared.clock.line(time.time()),
            keep_alive=False,
            version="1.1",
        )
        link.write(head + reply.body)
        if self._reads_paused:
            self._reads_paused = False
            link.resume_reading()
        link.write_eof()

    def _close(self) -> None:
        self._since = self._loop.time()
        self._link.close()


def keep_alive(connection: socket.socket) -> None:
    """Notice within two minutes that a silent client's machine is gone; a quiet watch would never find out."""
    if connection.family not in {socket.AF_INET, socket.AF_INET6}:
        return
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    if hasattr(socket, "TCP_KEEPIDLE"):  # Linux; elsewhere the system's own times hold
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, KEEPALIVE_IDLE_S)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, KEEPALIVE_INTERVAL_S)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, KEEPALIVE_PROBES)


def refusal_reply(code: int, message: str) -> Reply:
    """The Status for a request that could not be read."""
    match code:
        case 400:
            error: ApiError = BadRequest(message)
        case 413:
            error = RequestEntityTooLarge(message)
        case _:
            error = ApiError.from_status({"code": code, "message": message})
    return status_reply(error)


def internal_error(request: HttpRequest, error: BaseException) -> Reply:
    """A 500 that names a reference; the log has the rest under it, but nothing of what the client sent."""
    reference = secrets.token_hex(6)
    log.error(
        "internal error", exc_info=error, extra={"reference": reference, "method": request.method, "path": request.path}
    )
    return status_reply(InternalError(f"Internal error occurred: see the server's log for reference {reference}"))


__all__ = ["Connection", "Observer", "Peer", "Shared", "frame", "internal_error"]
