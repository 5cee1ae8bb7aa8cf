"""The audit trail of a running server: what happens to each request, told to a sink one line at a time.

A ``Trail`` follows one request from the moment its sender is known to the end of its answer, which for a watch is the
end of the stream. The router notes on it what it finds out; which lines that makes is decided by the policy, what is in
them by ``attractor.apiserver.audit``.
"""

from __future__ import annotations

import asyncio
import ipaddress
from functools import partial
from typing import TYPE_CHECKING, Protocol, TypeVar

import orjson

from attractor.apiserver.audit.event import Asked, Told, event_line
from attractor.apiserver.audit.policy import Level
from attractor.apiserver.auth.authorizer import attributes_of
from attractor.apiserver.request.bodies import PROTOBUF
from attractor.httpd.audit.ids import AuditIds
from attractor.httpd.formats.protobuf import to_json
from attractor.httpd.reply import JSON
from attractor.objects.errors import BadRequest
from attractor.objects.yaml_json import YamlError, parse_yaml
from attractor.wire.deferred import Deferred

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from attractor.apiserver.audit.policy import Policy, Stage, Verdict
    from attractor.apiserver.auth.authorizer import Decision
    from attractor.apiserver.request.caller import User
    from attractor.httpd.connection import Peer
    from attractor.httpd.parser import HttpRequest
    from attractor.httpd.reply import Reply, Stream, StreamWriter

T = TypeVar("T")

NOTHING_YET = Told()
MAX_FORWARDED = 16
"""How many addresses of proxies are written down."""


class AuditSink(Protocol):
    """Where lines go."""

    @property
    def lost(self) -> int:
        """How many lines could not be kept."""
        ...

    def write(self, line: bytes) -> None:
        """Take a line; never waits."""
        ...

    async def aclose(self) -> None:
        """Nothing more will come: keep what was taken, and give up what is held."""
        ...


class Auditor:
    """Follows the requests that a policy chooses."""

    def __init__(self, sink: AuditSink, policy: Policy, now: Callable[[], str]) -> None:
        self._sink = sink
        self._policy = policy
        self._now = now
        """The time, to the microsecond."""
        self._ids = AuditIds()

    def begin(
        self, request: HttpRequest, peer: Peer | None, user: User | None, query: Mapping[str, Sequence[str]]
    ) -> Trail | None:
        """A request whose sender is known, or is nobody known; None when it is not to be written down."""
        attributes = attributes_of(request.method, request.path, query)
        verdict = self._policy.decide(user, attributes)
        if verdict.level is Level.NONE:
            return None
        asked = Asked(
            self._ids.of(request).decode("ascii"),
            f"{request.path}?{request.query}" if request.query else request.path,
            attributes,
            self._now(),
            user,
            source_ips(request, peer),
            request.header(b"user-agent"),
            bool(request.body),
        )
        return Trail(asked, verdict, self._sink, self._now)

    def refused(self, request: HttpRequest, peer: Peer, query: Mapping[str, Sequence[str]], reply: Reply) -> Reply:
        """A request whose credentials are nobody's: one line at the stage where Kubernetes has it."""
        trail = self.begin(request, peer, None, query)
        if trail is not None:
            trail.unauthenticated(reply)
        return reply


def in_json(reply: Reply) -> bytes:
    """What an answer says, in JSON; nothing where it is an object neither in JSON nor in protobuf."""
    if reply.content_type.startswith(JSON):
        return reply.body
    if not reply.content_type.startswith(PROTOBUF):
        return b""
    try:
        return to_json(reply.body, "an answer")
    except BadRequest:  # a list of more values than are read at once
        return b""


class Trail:
    """The audit trail of one request."""

    def __init__(self, asked: Asked, verdict: Verdict, sink: AuditSink, now: Callable[[], str]) -> None:
        self._asked = asked
        self._verdict = verdict
        self._sink = sink
        self._now = now
        self._is_over = False
        self.impersonated: User | None = None
        self.decision: Decision | None = None
        self._body, self._content_type = b"", ""

    def read(self, body: bytes, content_type: str) -> None:
        """The request's body, which is within the limits."""
        self._body, self._content_type = body, content_type

    def follow(self, begin: Callable[[], Reply | Deferred[Reply]]) -> Reply | Deferred[Reply]:
        """The answer that ``begin`` brings; its line is written when it is there, or when its stream ends."""
        self._tell("RequestReceived", NOTHING_YET)
        answer = self._watched(begin)
        if isinstance(answer, Deferred):
            answer.ready.add_done_callback(self._given_up)
            return Deferred(answer.ready, partial(self._arrived, answer.result))
        return self._answered(answer)

    def _watched(self, make: Callable[[], T]) -> T:
        """What a function answers; a failure of the server's own is written down."""
        try:
            return make()
        except asyncio.CancelledError:
            raise  # told by ``_given_up``
        except Exception:
            self._is_over = True
            self._tell("Panic", self._told(500, message="internal error"))
            raise

    def _arrived(self, make: Callable[[], Reply]) -> Reply:
        return self._answered(self._watched(make))

    def _given_up(self, ready: asyncio.Future[Any]) -> None:
        if ready.cancelled():
            self._complete(self._told(504, message="the request was not answered in time"))

    def _answered(self, reply: Reply) -> Reply:
        if reply.stream is None:
            self._complete(self._told(reply.code, in_json(reply)))
        else:
            self._tell("ResponseStarted", self._told(reply.code))
            reply.stream = _FollowedStream(reply.stream, lambda: self._complete(self._told(reply.code)))
        return reply

    def refused(self, reply: Reply) -> None:
        """It was refused by its head, before anybody began to answer it."""
        self._tell("RequestReceived", NOTHING_YET)
        self._complete(self._told(reply.code, in_json(reply)))

    def unauthenticated(self, reply: Reply) -> None:
        """Nobody knows who sent it."""
        self._tell(
            "ResponseStarted", self._told(reply.code, in_json(reply), "Authentication failed, attempted: bearer")
        )

    def _told(self, code: int, answer: bytes = b"", message: str = "") -> Told:
        body = as_json(self._body, self._content_type)
        return Told(self.impersonated, self.decision, body, code, answer, message)

    def _complete(self, told: Told) -> None:
        if not self._is_over:
            self._is_over = True
            self._tell("ResponseComplete", told)

    def _tell(self, stage: Stage, told: Told) -> None:
        if stage not in self._verdict.omit_stages:
            self._sink.write(event_line(self._asked, told, stage, self._now(), self._verdict))


class _FollowedWriter:
    """The client's side of a stream, until it ends."""

    def __init__(self, writer: StreamWriter, ended: Callable[[], None]) -> None:
        self._writer = writer
        self._ended = ended
        self.write = writer.write

    @property
    def is_paused(self) -> bool:
        return self._writer.is_paused

    def end(self) -> None:
        self._ended()
        self._writer.end()


class _FollowedStream:
    """A stream whose end is noticed, whoever ends it."""

    def __init__(self, stream: Stream, ended: Callable[[], None]) -> None:
        self._stream = stream
        self._ended = ended
        self.resumed = stream.resumed
        self.finish = stream.finish

    def start(self, writer: StreamWriter) -> None:
        self._stream.start(_FollowedWriter(writer, self._ended))

    def lost(self) -> None:
        self._stream.lost()
        self._ended()


def as_json(body: bytes, content_type: str) -> bytes:
    """A body that was within the limits as JSON; empty when it cannot be read."""
    if "yaml" not in content_type.lower() or body.lstrip()[:1] == b"{":
        return body
    try:
        return orjson.dumps(parse_yaml(body))
    except (YamlError, orjson.JSONEncodeError):
        return b""


def source_ips(request: HttpRequest, peer: Peer | None) -> tuple[str, ...]:
    """Where a request comes from: what proxies say of it, then who is connected; empty within this process."""
    if peer is None:
        return ()
    own = peer.address.rpartition(":")[0]
    forwarded = request.headers.get(b"x-forwarded-for")
    if forwarded is None:
        return (own,)
    said = [part.strip() for part in forwarded.decode("latin-1").split(",")[:MAX_FORWARDED]]
    return (*filter(_is_address, said), own)


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True
