"""The router: authenticate, authorize, then answer with health, metrics, pages, objects or watches.

Who asks, and whether that is allowed, is told from a request's head. Where the body comes after the head, it is not
read before that is known: who may not write cannot make the server keep three megabytes.

A request that no page claims and that names no resource is answered as Go's HTTP server answers, with the plain text
``404 page not found``; what lies below an API group gets a Status.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import unquote, unquote_plus

from attractor.apiserver.auth.authorizer import MASTERS, Decision, attributes_of, forbidden
from attractor.apiserver.core import Request, deprecations
from attractor.apiserver.fairness.estimates import list_seats
from attractor.apiserver.kinds.registry import builtin_groups, builtin_kind
from attractor.apiserver.request.routing import WATCH_SEGMENT, method_not_allowed, parse_path, without_watch_prefix
from attractor.apiserver.response import LogBody, LongListBody, Response
from attractor.apiserver.verbs.watch import Watch
from attractor.httpd.auth.impersonation import impersonated, needed
from attractor.httpd.body_limits import check_body, check_json
from attractor.httpd.formats.protobuf import request_as_json
from attractor.httpd.long_lists import long_list
from attractor.httpd.pages.fairness import debug_page
from attractor.httpd.pages.health import SHUTDOWN, STORE, STORE_READY, health_reply, is_about_health
from attractor.httpd.pages.page import PAGES, Ask, answers_any_method
from attractor.httpd.pages.zpages import ServerFacts
from attractor.httpd.parser import HttpRequest
from attractor.httpd.pod_logs import log_reply
from attractor.httpd.presentation import (
    REFUSALS,
    present,
    presented_as,
    refusal,
    retry_after,
    shape_of,
    watch_format,
)
from attractor.httpd.reply import Reply, page_not_found
from attractor.httpd.watch.converted import ConvertedWatch
from attractor.httpd.watch.future_versions import WaitingWatch
from attractor.objects.errors import ApiError, BadRequest, NotAcceptable
from attractor.objects.timestamps import TimestampError, parse_duration
from attractor.store.contract import StoreError
from attractor.wire.deferred import Deferred
from attractor.wire.prometheus import CONTENT_TYPE as METRICS_TYPE

if TYPE_CHECKING:
    from collections.abc import Awaitable, Generator, Mapping, Sequence

    from attractor.apiserver.auth.authorizer import Attributes, Authorizer
    from attractor.apiserver.kinds.served_kind import Kind
    from attractor.apiserver.request.caller import User
    from attractor.apiserver.request.operation import Operation
    from attractor.apiserver.server import Server
    from attractor.httpd.audit.trail import Auditor, Trail
    from attractor.httpd.auth.authentication import Authenticator
    from attractor.httpd.connection import Peer
    from attractor.httpd.fairness import Fairness
    from attractor.httpd.limits import Limits
    from attractor.httpd.pages.metrics import Metrics
    from attractor.httpd.pod_logs import PodLogs
    from attractor.httpd.presentation import Shape, WatchFormat
    from attractor.httpd.reply import Stream
    from attractor.httpd.watch.streams import WatchHub
    from attractor.objects.json_types import JsonObject
    from attractor.store.contract import Snapshot

    Query = Mapping[str, Sequence[str]]

_NO_QUERY: Query = {}
ALLOWED = Decision(allowed=True)
NOT_FOUND = 404
MAX_DIGITS = 10
"""A longer limit is none that matters."""
MAX_DISCOVERY_SLASHES = 4
"""``/apis/GROUP/VERSION/`` has as many; a longer path is never discovery's."""


def parse_query(text: str) -> Query:
    """The parameters of a query, in order."""
    if not text:
        return _NO_QUERY
    query: dict[str, list[str]] = {}
    for pair in text.split("&"):
        if pair:
            name, _, value = pair.partition("=")
            if "%" in pair or "+" in pair:
                name, value = unquote_plus(name), unquote_plus(value)
            query.setdefault(name, []).append(value)
    return query


def _check_timeout(said: str) -> None:
    """Refuse a time that is none; one that is, is not kept: nothing here takes a minute."""
    try:
        parse_duration(said or "0")
    except TimestampError as error:
        raise BadRequest(f"invalid timeout specified in the request URL - {error}") from None


def _watching(request: HttpRequest, query: Query) -> tuple[HttpRequest, Query]:
    """A request by the old path for watches, as one by the parameter ``watch``; any other as it is."""
    found = without_watch_prefix(request.path) if request.path.startswith(("/api/", "/apis/")) else None
    if found is None:
        return request, query
    path, name = found
    if request.method != "GET":
        target = parse_path(path)
        if target is not None and builtin_kind(target.group, target.version, target.resource) is not None:
            raise method_not_allowed()
        return request, query
    asked = {**query, "watch": ["true"]}
    if name:
        asked["fieldSelector"] = [",".join([f"metadata.name={unquote(name)}", *query.get("fieldSelector", ())])]
    moved = HttpRequest(request.method, path, request.head, request.body, version=request.version)
    moved.query, moved.audit_id, moved.keep_alive = request.query, request.audit_id, request.keep_alive
    return moved, asked


class Router:
    """The handler of a listener."""

    def __init__(
        self,
        server: Server,
        hub: WatchHub,
        *,
        authenticator: Authenticator,
        authorizer: Authorizer,
        metrics: Metrics,
        limits: Limits,
        pod_logs: PodLogs | None = None,
        auditor: Auditor | None = None,
        facts: ServerFacts | None = None,
        fairness: Fairness | None = None,
    ) -> None:
        self._server = server
        self._is_exclusive = server.store.is_exclusive
        """Whether reads need not ask the store first: nobody else writes to it."""
        self._hub = hub
        self._authenticator = authenticator
        self._authorizer = authorizer
        self._metrics = metrics
        self._limits = limits
        self._pod_logs = pod_logs
        self._auditor = auditor
        self._facts = facts or ServerFacts({})
        self._fairness = fairness
        self.is_ready = True
        """Whether ``/readyz`` says ok; false while the server is stopping."""

    def __call__(self, request: HttpRequest, peer: Peer) -> Reply | Deferred[Reply]:
        """Answer one request; a refusal is an answer too."""
        user = request.user
        if user is None:
            try:
                user = self._authenticator.authenticate(request, peer)
            except ApiError as error:
                return self._unknown(request, peer, error)
        return self.begin(request, user, peer)

    def turned_away(self, request: HttpRequest, peer: Peer) -> Reply | None:
        """The refusal for which a request's head is enough, as in Kubernetes; None when its body is wanted.

        Who sent it is noted on the request. What they may do is asked again when the body is there: it may take a
        minute to come, and rights may be withdrawn meanwhile.
        """
        try:
            user = request.user = self._authenticator.authenticate(request, peer)
        except ApiError as error:
            return self._unknown(request, peer, error)
        query = parse_query(request.query)
        trail = None if self._auditor is None else self._auditor.begin(request, peer, user, query)
        try:
            if request.head.is_impersonating:
                user = self._impersonate(user, request, trail)
            self._permit(request, query, user, trail)
        except ApiError as error:
            reply = refusal(request, error)
            if trail is not None:
                trail.refused(reply)
            return reply
        return None

    def _unknown(self, request: HttpRequest, peer: Peer, error: ApiError) -> Reply:
        reply = refusal(request, error)
        if self._auditor is not None:
            self._auditor.refused(request, peer, parse_query(request.query), reply)
        return reply

    async def answer(self, request: HttpRequest, user: User, peer: Peer | None = None) -> Reply:
        """``begin`` for whoever waits in a task."""
        answer = self.begin(request, user, peer)
        return answer if isinstance(answer, Reply) else await answer

    def begin(self, request: HttpRequest, user: User, peer: Peer | None) -> Reply | Deferred[Reply]:
        """Answer one request of a user who is known; ``peer`` is None within this process."""
        if self._auditor is not None:
            trail = self._auditor.begin(request, peer, user, parse_query(request.query))
            if trail is not None:
                return trail.follow(partial(self._begin, request, user, trail))
        return self._begin(request, user, None)

    def _begin(self, request: HttpRequest, user: User, trail: Trail | None) -> Reply | Deferred[Reply]:
        try:
            query = parse_query(request.query) if request.query else _NO_QUERY
            if "timeout" in query and "watch" not in query:
                _check_timeout(query["timeout"][0])
            asked = None
            if WATCH_SEGMENT in request.path:
                asked = attributes_of(request.method, request.path, query)
                request, query = _watching(request, query)
            if request.head.is_impersonating:
                user = self._impersonate(user, request, trail)
            if self._fairness is None:
                return self._carried_out(request, query, user, trail, asked)
            return self._when_seated(self._fairness, request, query, user, trail, asked)
        except ApiError as error:
            return refusal(request, error)

    def _when_seated(
        self,
        fairness: Fairness,
        request: HttpRequest,
        query: Query,
        user: User,
        trail: Trail | None,
        asked: Attributes | None,
    ) -> Reply | Deferred[Reply]:
        """The answer to a request when its flow gets a seat: at once where the flow is exempt."""
        flow = fairness.flow_of_all(user)
        if flow is None or not flow.schema.is_exempt:
            asked = asked or attributes_of(request.method, request.path, query)
            flow = flow or fairness.flow_of(user, asked)
        request.flow = flow
        if asked is None or flow.schema.is_exempt:
            fairness.exempt(flow)
            return self._carried_out(request, query, user, trail, asked)
        seats = self._seats(asked, query, fairness.nominal(flow)) if asked.verb == "list" else 1
        return fairness.run(flow, seats, partial(self._carried_out, request, query, user, trail, asked))

    def _seats(self, asked: Attributes, query: Query, nominal: int) -> int:
        """The number of seats that a list takes."""
        if asked.name:
            return 1
        where = f"{asked.namespace}/" if asked.namespace else ""
        objects = self._server.store.snapshot_nowait().count(f"{asked.group or 'core'}/{asked.resource}/{where}")
        said = (query.get("limit") or ("",))[0]
        limit = int(said) if said.isascii() and said.isdigit() and len(said) < MAX_DIGITS else 0
        is_selective = "labelSelector" in query or "fieldSelector" in query
        return list_seats(objects, limit, is_selective=is_selective, nominal=nominal)

    def _carried_out(
        self, request: HttpRequest, query: Query, user: User, trail: Trail | None, asked: Attributes | None = None
    ) -> Reply | Deferred[Reply]:
        """The answer to a request of a known user; raises ``ApiError``."""
        self._permit(request, query, user, trail, asked)
        if request.path.startswith(("/api/", "/apis/")):
            return self._api(request, query, user, trail)
        if is_about_health(request.path):
            return Deferred.of(self._health(request.path, query))
        return self._page(request, query) or page_not_found()

    def _permit(
        self, request: HttpRequest, query: Query, user: User, trail: Trail | None, asked: Attributes | None = None
    ) -> None:
        """Raise ``ApiError`` unless the user may do what is asked."""
        if MASTERS not in user.groups:
            self._authorize(user, asked or attributes_of(request.method, request.path, query), trail)
        elif trail is not None:
            trail.decision = ALLOWED

    def _impersonate(self, user: User, request: HttpRequest, trail: Trail | None) -> User:
        other = impersonated(request)
        if MASTERS not in user.groups:
            for attributes in needed(request, other):
                self._authorize(user, attributes, trail)
        if trail is not None:
            trail.impersonated = other
        return other

    def _authorize(self, user: User, attributes: Attributes, trail: Trail | None) -> None:
        decision = self._authorizer.decide(user, attributes, self._server.store.snapshot_nowait())
        if trail is not None:
            trail.decision = decision
        if not decision.allowed:
            raise forbidden(user, attributes, decision.reason)

    def _page(self, request: HttpRequest, query: Query) -> Reply | None:
        path = request.path
        if path == "/metrics":
            return Reply(200, self._metrics.render(), METRICS_TYPE)
        if self._fairness is not None and (page := debug_page(self._fairness, path)) is not None:
            return page
        zpage = self._facts.reply(path, request.header(b"accept"))
        if zpage is not None:
            return zpage
        ask = Ask(request, query, self._server.store.snapshot_nowait())
        for shown in PAGES:
            reply = shown(ask)
            if reply is not None:
                if request.method != "GET" and reply.code != NOT_FOUND and not answers_any_method(path):
                    raise method_not_allowed()
                return reply
        return None

    async def _health(self, path: str, query: Query) -> Reply:
        failing = {} if self.is_ready else {SHUTDOWN: "process is shutting down"}
        try:
            await self._server.store.snapshot()
        except StoreError as error:
            failing |= dict.fromkeys((STORE, STORE_READY), str(error))
        self._facts.checked(path, failing)
        return health_reply(path, query, failing)

    def _api(self, request: HttpRequest, query: Query, user: User, trail: Trail | None) -> Reply | Deferred[Reply]:
        if request.path.count("/") <= MAX_DISCOVERY_SLASHES:
            page = self._page(request, query)
            if page is not None:
                return page
        body, content_type = request.body, request.head.content_type
        if body:
            if request.head.is_json:
                check_json(body, self._limits)
            else:
                body, content_type = request_as_json(request.method, request.path, content_type, body)
                check_body(content_type, body, self._limits)
            if trail is not None:
                trail.read(body, content_type)
        shape = shape_of(request, query) if query or not request.head.is_plain else None
        asked = Request(request.method, request.path, query, body, content_type, user, request.head.user_agent)
        if request.method == "GET":
            if not self._is_exclusive:
                return Deferred.of(self._read(request, query, shape, asked))
            if "watch" in query:
                stream = self._watch(request, asked, self._server.store.snapshot_nowait())
                if stream is not None:
                    return stream
        answer = self._server.begin(asked)
        if isinstance(answer, Response):
            return self._replied(request, query, shape, answer)
        if request.method == "GET":
            return Deferred.of(self._awaited(request, query, shape, answer))
        return answer.then(partial(self._written, request, query, shape))

    async def _read(self, request: HttpRequest, query: Query, shape: Shape | None, asked: Request) -> Reply:
        """The answer to a read that has to ask the store first."""
        if "watch" in query:
            stream = self._watch(request, asked, await self._server.store.snapshot())
            if stream is not None:
                return stream
        return await self._awaited(request, query, shape, self._server.handle(asked))

    async def _awaited(
        self, request: HttpRequest, query: Query, shape: Shape | None, answer: Awaitable[Response]
    ) -> Reply:
        try:
            reply = self._replied(request, query, shape, await answer)
            return reply if isinstance(reply, Reply) else await reply
        except ApiError as error:
            return self._refused(request, error)

    def _written(self, request: HttpRequest, query: Query, shape: Shape | None, response: Response) -> Reply:
        try:
            return self._reply(request, query, shape, response)
        except ApiError as error:
            return self._refused(request, error)

    def _replied(
        self, request: HttpRequest, query: Query, shape: Shape | None, response: Response
    ) -> Reply | Deferred[Reply]:
        """A response as it goes out; a long list is made in pieces, so that others need not wait for it."""
        if isinstance(response.body, LongListBody) and self._fairness is not None:
            place = self._fairness.in_pieces(request.flow, self._long_list(request, query, shape, response))
            return Deferred(place, place.result)
        return self._reply(request, query, shape, response)

    def _long_list(
        self, request: HttpRequest, query: Query, shape: Shape | None, response: Response
    ) -> Generator[None, None, Reply]:
        assert isinstance(response.body, LongListBody)
        txn = self._server.transaction(self._server.store.snapshot_nowait())
        gzip_bytes, warnings = self._limits.gzip_bytes, response.warnings
        return long_list(shape, request, query, response.body, txn, gzip_bytes=gzip_bytes, warnings=warnings)

    def _refused(self, request: HttpRequest, error: ApiError) -> Reply:
        is_nowhere = error.code == 404 and self._is_nowhere(request.path, error.status())
        return page_not_found() if is_nowhere else refusal(request, error)

    def _reply(self, request: HttpRequest, query: Query, shape: Shape | None, response: Response) -> Reply:
        if response.code == 404 and self._is_nowhere(request.path, response.json()):
            return page_not_found()
        if isinstance(response.body, LogBody):
            return log_reply(response.code, response.body, self._pod_logs)
        if shape is None:
            headers = retry_after(response) if response.code >= REFUSALS else None
            return Reply(response.code, response.body.encode() + b"\n", headers=headers, warnings=response.warnings)
        txn = self._server.transaction(self._server.store.snapshot_nowait())
        shaped = present(shape, request, query, response, txn)
        return Reply(response.code, shaped, presented_as(shape, response), retry_after(response), response.warnings)

    @staticmethod
    def _is_nowhere(path: str, status: JsonObject) -> bool:
        """Whether a refusal says that nothing is served at a path, and no built-in group stands for it."""
        if path.startswith("/api/") or status.get("details"):
            return False
        group = unquote(path.split("/", 3)[2])
        return not group or group not in builtin_groups()

    def _watch(self, request: HttpRequest, asked: Request, snapshot: Snapshot) -> Reply | None:
        """A stream; None when the request asks for something that is not watched, such as one object."""
        try:
            return self._stream(request, asked, snapshot)
        except ApiError as error:
            return self._refused(request, error)

    def _stream(self, request: HttpRequest, asked: Request, snapshot: Snapshot) -> Reply | None:
        server = self._server
        txn = server.transaction(snapshot)
        op, kind = server.core.understand(asked, txn)
        if op.verb != "watch":
            return None
        try:
            told = watch_format(request, asked.query, kind, txn)
        except NotAcceptable as error:
            return refusal(request, error)
        version = int(op.list.resource_version or 0)
        if version <= snapshot.revision:
            stream: Stream = self._opened(op, kind, snapshot, told)
            return Reply(200, b"", told.content_type, warnings=deprecations(op, kind), stream=stream)

        async def begin() -> Stream:
            later = await server.store.snapshot()
            return self._opened(*server.core.understand(asked, server.transaction(later)), later, told)

        patience_s, timeout_s = self._limits.future_s, op.list.timeout_s
        waiting = WaitingWatch(server.store, version, begin, told.encode, patience_s=patience_s, timeout_s=timeout_s)
        return Reply(200, b"", told.content_type, warnings=deprecations(op, kind), stream=waiting)

    def _opened(self, op: Operation, kind: Kind, snapshot: Snapshot, told: WatchFormat) -> Stream:
        """The stream of a watch; raises ``ApiError``."""
        watch = Watch.open(op, kind, snapshot)
        if kind.remote is not None:
            return ConvertedWatch(self._server, watch, snapshot, told.encode, op.list.timeout_s)
        key = (watch.prefix, kind, op.list.label_selector, op.list.field_selector, told.shared_by)
        return self._hub.open(watch, key, snapshot, timeout_s=op.list.timeout_s, encode=told.encode)
