"""In which shape a client gets its answer: as it is, indented, as YAML, as a Table, or as metadata alone.

Most clients take JSON as it is; for them nothing is decoded. Everything else goes through ``formats``.
"""

from __future__ import annotations

import time
from functools import cache
from http import HTTPStatus
from typing import TYPE_CHECKING, NamedTuple

import orjson

from attractor.apiserver.registry import find_kind
from attractor.apiserver.response import JsonBody
from attractor.apiserver.routing import parse_path
from attractor.apiserver.watch import WatchEvent
from attractor.httpd.formats.catalog import catalog
from attractor.httpd.formats.encoding import JSON, encode, is_for_people
from attractor.httpd.formats.negotiate import STREAMS, SUPPORTED, negotiate, no_representation, not_acceptable
from attractor.httpd.formats.tables import include_object, view
from attractor.httpd.formats.transform import TransformOptions, WatchTransform, transform
from attractor.httpd.reply import Reply, status_reply
from attractor.objects import builtin
from attractor.objects.errors import NotAcceptable
from attractor.objects.gvk import GroupVersionKind
from attractor.objects.timestamps import Moment

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping, Sequence

    from attractor.apiserver.kinds import Kind
    from attractor.apiserver.response import Response
    from attractor.apiserver.transaction import Transaction
    from attractor.httpd.formats.negotiate import Negotiated
    from attractor.httpd.formats.tables import View
    from attractor.httpd.parser import HttpRequest

    Query = Mapping[str, Sequence[str]]

REFUSALS = HTTPStatus.BAD_REQUEST.value
"""Codes from here on refuse."""
_PLAIN = frozenset({b"application/json", b"*/*", b"application/json, */*", b""})


class Shape(NamedTuple):
    """What was agreed with the client."""

    agreed: Negotiated
    pretty: bool


def shape_of(request: HttpRequest, query: Query) -> Shape | None:
    """What the client wants; None for JSON as it is. Raises ``NotAcceptable``."""
    if request.head.is_plain and not query:
        return None
    accept = request.headers.get(b"accept", b"")
    pretty = is_for_people(query, request.head.user_agent)
    if accept in _PLAIN and not pretty:
        if not query:
            request.head.is_plain = True
        return None
    try:
        agreed = negotiate(accept.decode("latin-1"))
    except NotAcceptable as error:
        raise _refusal(request, accept.decode("latin-1")) or error from None
    pretty = pretty or agreed.pretty
    if agreed.media_type == JSON and agreed.transform is None and not pretty:
        return None
    return Shape(agreed, pretty)


def _refusal(request: HttpRequest, accept: str) -> NotAcceptable | None:
    """How Kubernetes' router refuses a format; it knows the routes of built-in kinds only."""
    target = parse_path(request.path)
    if target is None or target.group not in _built_in_groups():
        return None
    return no_representation(accept, SUPPORTED, *(STREAMS if request.method == "GET" and not target.name else ()))


@cache
def _built_in_groups() -> frozenset[str]:
    return frozenset(group.name for group in builtin.groups())


def present(shape: Shape, request: HttpRequest, query: Query, response: Response, txn: Transaction) -> bytes:
    """The body in the agreed shape; raises ``NotAcceptable``."""
    value = response.json()
    agreed = shape.agreed
    if agreed.transform is not None and response.code < REFUSALS:
        shown = _view(request.path, value, txn)
        if shown is not None:
            options = TransformOptions(agreed.transform, now(), include_object(query))
            value = transform(shown, value, options)
    return encode(value, presented_as(shape, response), pretty=shape.pretty)


def presented_as(shape: Shape, response: Response) -> str:
    """The media type of the answer: a refusal is no Table, so to a client that wants one in YAML it is plain JSON."""
    is_refused = response.code >= REFUSALS and shape.agreed.transform is not None
    return JSON if is_refused else shape.agreed.media_type


def retry_after(response: Response) -> dict[str, str] | None:
    """The header by which a refusal asks to come back later, as its Status does."""
    if response.code < REFUSALS or not isinstance(response.body, JsonBody):
        return None
    seconds = (response.body.value.get("details") or {}).get("retryAfterSeconds")
    return {"Retry-After": str(seconds)} if seconds else None


def _view(path: str, value: Mapping[str, object], txn: Transaction) -> View | None:
    target = parse_path(path)
    kind = find_kind(txn, target.group, target.version, target.resource) if target is not None else None
    if kind is None:
        return None
    gvk = kind.gvk
    if value.get("kind") not in {gvk.kind, kind.list_kind}:
        gvk = GroupVersionKind.of(str(value.get("apiVersion", "")), str(value.get("kind", "")))
    return view(catalog(txn.snapshot), gvk, kind.resource, kind.list_kind)


class WatchFormat(NamedTuple):
    """How a watch's events become bytes."""

    encode: Callable[[WatchEvent], bytes]
    shared_by: Hashable
    """Equal for watchers who may be sent the same bytes; those of Tables may not, for each is told the columns once."""


_JSON_LINES = WatchFormat(WatchEvent.encode, None)


def watch_format(request: HttpRequest, query: Query, kind: Kind, txn: Transaction) -> WatchFormat:
    """How this client is to be told of events; raises ``NotAcceptable``."""
    accept = request.header(b"accept")
    try:
        agreed = negotiate(accept, (JSON,))
    except NotAcceptable:
        raise not_acceptable(accept, STREAMS) from None
    if agreed.transform is None:
        return _JSON_LINES
    shown = view(catalog(txn.snapshot), kind.gvk, kind.resource, kind.list_kind)
    transformed = WatchTransform(shown, agreed.transform, include_object(query))

    def encode_event(event: WatchEvent) -> bytes:
        obj = transformed.event(event.type, orjson.loads(event.object), now())
        return WatchEvent(event.type, orjson.dumps(obj)).encode()

    return WatchFormat(encode_event, object() if agreed.transform.kind == "Table" else agreed.transform)


def refused_format(request: HttpRequest, error: NotAcceptable) -> Reply:
    """The refusal of a watch's format, in the format that was asked for, if it is one of those for objects."""
    shape = shape_of(request, {})
    if shape is None or shape.agreed.transform is not None:
        return status_reply(error)
    return Reply(error.code, encode(error.status(), shape.agreed.media_type), shape.agreed.content_type)


def now() -> Moment:
    """The present, for ages."""
    nanos = time.time_ns()
    return Moment(nanos // 1_000_000_000, nanos % 1_000_000_000)
