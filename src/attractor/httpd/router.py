"""What answers which path: authenticate, authorize, then health, metrics, pages, objects or watches.

A request that no page claims and that names no resource is answered as Go's HTTP server answers, with the plain text
``404 page not found``; what lies below an API group gets a Status.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import unquote_plus

from attractor.apiserver.authorization import MASTERS, attributes_of, forbidden
from attractor.apiserver.core import Request
from attractor.apiserver.watch import Watch
from attractor.httpd.jsonguard import check_json
from attractor.httpd.metrics import CONTENT_TYPE as METRICS_TYPE
from attractor.httpd.reply import TEXT, Reply, status_reply
from attractor.objects.errors import ApiError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from attractor.apiserver.authorization import Authorizer
    from attractor.apiserver.operation import User
    from attractor.apiserver.server import Server
    from attractor.httpd.authentication import Authenticator
    from attractor.httpd.connection import Peer
    from attractor.httpd.limits import Limits
    from attractor.httpd.metrics import Metrics
    from attractor.httpd.parser import HttpRequest
    from attractor.httpd.watchstreams import WatchHub
    from attractor.store.contract import Snapshot

    Query = Mapping[str, Sequence[str]]
    Page = Callable[[HttpRequest, Query, Snapshot], Reply | None]

_NO_QUERY: Query = {}
_HEALTH = frozenset({"/healthz", "/livez", "/readyz"})


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


def page_not_found() -> Reply:
    """The answer for paths that lead nowhere, as Go's HTTP server words it."""
    return Reply(404, b"404 page not found\n", TEXT, {"X-Content-Type-Options": "nosniff"})


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
        pages: Sequence[Page] = (),
    ) -> None:
        self._server = server
        self._hub = hub
        self._authenticator = authenticator
        self._authorizer = authorizer
        self._metrics = metrics
        self._limits = limits
        self._pages = tuple(pages)
        self.is_ready = True
        """Whether ``/readyz`` says ok; false while the server is stopping."""

    async def __call__(self, request: HttpRequest, peer: Peer) -> Reply:
        """Answer one request; a refusal is an answer too."""
        try:
            user = self._authenticator.authenticate(request, peer)
            query = parse_query(request.query)
            if MASTERS not in user.groups:
                self._authorize(user, request, query)
            if request.path.startswith(("/api/", "/apis/")):
                return await self._api(request, query, user)
            return self._page(request, query)
        except ApiError as error:
            return status_reply(error)

    def _authorize(self, user: User, request: HttpRequest, query: Query) -> None:
        attributes = attributes_of(request.method, request.path, query)
        decision = self._authorizer.decide(user, attributes, self._server.store.snapshot_nowait())
        if not decision.allowed:
            raise forbidden(user, attributes, decision.reason)

    def _page(self, request: HttpRequest, query: Query) -> Reply:
        path = request.path
        if path in _HEALTH or path.startswith(("/healthz/", "/livez/", "/readyz/")):
            return self._health(path)
        if path == "/metrics":
            return Reply(200, self._metrics.render(), METRICS_TYPE)
        snapshot = self._server.store.snapshot_nowait()
        for page in self._pages:
            reply = page(request, query, snapshot)
            if reply is not None:
                return reply
        return page_not_found()

    def _health(self, path: str) -> Reply:
        headers = {"X-Content-Type-Options": "nosniff"}
        if path.startswith("/readyz") and not self.is_ready:
            return Reply(500, b"[-]shutdown failed: the server is stopping\nreadyz check failed\n", TEXT, headers)
        if path not in _HEALTH:
            name = path.split("/", 2)[2]
            return Reply(200, b"ok", TEXT, headers) if name == "ping" else page_not_found()
        return Reply(200, b"ok", TEXT, headers)

    async def _api(self, request: HttpRequest, query: Query, user: User) -> Reply:
        if request.path.count("/") < 4 and self._pages:
            page = self._page(request, query)
            if page.code != 404:
                return page
        if request.body:
            check_json(request.body, self._limits)
        asked = Request(
            method=request.method,
            path=request.path,
            query=query,
            body=request.body,
            content_type=request.header(b"content-type"),
            user=user,
            user_agent=request.header(b"user-agent"),
        )
        if "watch" in query and request.method == "GET":
            reply = await self._watch(asked)
            if reply is not None:
                return reply
        response = await self._server.handle(asked)
        return Reply(response.code, response.encode(), warnings=response.warnings)

    async def _watch(self, asked: Request) -> Reply | None:
        """A stream; None when the request asks for something that is not watched, such as one object."""
        server = self._server
        snapshot = await server.store.snapshot()
        op, kind = server.core.understand(asked, server.transaction(snapshot))
        if op.verb != "watch":
            return None
        watch = Watch.open(op, kind, snapshot)
        key = (watch.prefix, kind.gvk, kind, op.list.label_selector, op.list.field_selector)
        return Reply(200, stream=self._hub.open(watch, key, snapshot, timeout_s=op.list.timeout_s))
