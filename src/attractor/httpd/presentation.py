"""Content negotiation of answers: JSON as it is or indented, YAML, protobuf, a Table, or metadata alone.

Most clients take JSON as it is; for them nothing is decoded. Everything else goes through ``formats``.
"""

from __future__ import annotations

import time
from contextlib import suppress
from functools import cache
from http import HTTPStatus
from typing import TYPE_CHECKING, NamedTuple

import orjson

from attractor.apiserver.auth.reviews import is_review
from attractor.apiserver.kinds.registry import builtin_kind, find_kind
from attractor.apiserver.request.bodies import JSON, PROTOBUF
from attractor.apiserver.request.routing import parse_path
from attractor.apiserver.response import JsonBody
from attractor.apiserver.verbs.watch import WatchEvent
from attractor.httpd.formats import protobuf_answer
from attractor.httpd.formats.catalog import catalog
from attractor.httpd.formats.encoding import encode, is_for_people
from attractor.httpd.formats.negotiate import (
    STREAMS,
    SUPPORTED,
    negotiate,
    negotiate_untabled,
    no_representation,
    not_acceptable,
)
from attractor.httpd.formats.tables import include_object, view
from attractor.httpd.formats.transform import TransformOptions, WatchTransform, transform
from attractor.httpd.reply import Reply, status_reply
from attractor.k8s import catalog as builtin
from attractor.objects.errors import NotAcceptable
from attractor.objects.gvk import GroupVersionKind
from attractor.objects.timestamps import Moment

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping, Sequence

    from attractor.apiserver.kinds.served_kind import Kind
    from attractor.apiserver.response import Response
    from attractor.apiserver.transaction import Transaction
    from attractor.httpd.formats.negotiate import Negotiated
    from attractor.httpd.formats.tables import View
    from attractor.httpd.parser import HttpRequest
    from attractor.objects.errors import ApiError

    Query = Mapping[str, Sequence[str]]

REFUSALS = HTTPStatus.BAD_REQUEST.value
"""Codes from here on refuse."""
_PLAIN = frozenset({b"application/json", b"*/*", b"application/json, */*", b""})


class Shape(NamedTuple):
    """The format that was agreed with the client."""

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
        if b"protobuf" in accept and is_custom(request.path):
            agreed = _negotiate_custom(request, accept.decode("latin-1"))
        else:
            agreed = (negotiate_untabled if _has_no_rows(request) else negotiate)(accept.decode("latin-1"))
    except NotAcceptable as error:
        raise _refusal(request, accept.decode("latin-1")) or error from None
    pretty = pretty or agreed.pretty
    if agreed.media_type == JSON and agreed.transform is None and not pretty:
        return None
    return Shape(agreed, pretty)


def _negotiate_custom(request: HttpRequest, accept: str) -> Negotiated:
    try:
        return negotiate(accept, is_custom=True)
    except NotAcceptable:
        target = parse_path(request.path)
        if target is None or target.group not in _built_in_groups():
            raise
        return negotiate(accept)  # there is hardly such a resource, and that is what the client is to be told


def is_custom(path: str) -> bool:
    """Whether a path leads to objects of a custom kind, if to any."""
    target = parse_path(path)
    return target is not None and builtin_kind(target.group, target.version, target.resource) is None


def _has_no_rows(request: HttpRequest) -> bool:
    """Whether what a request makes is answered and not stored, so that Kubernetes has no columns for it."""
    if request.method != "POST" or b"Table" not in request.headers.get(b"accept", b""):
        return False
    target = parse_path(request.path)
    kind = builtin_kind(target.group, target.version, target.resource) if target is not None else None
    return kind is not None and is_review(kind) and not (target and target.subresource)


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
        shown = view_of(request.path, value, txn)
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


def view_of(path: str, value: Mapping[str, object], txn: Transaction) -> View | None:
    """How the objects of a path are shown; None where nothing is known of them."""
    target = parse_path(path)
    kind = find_kind(txn, target.group, target.version, target.resource) if target is not None else None
    if kind is None:
        return None
    gvk = kind.gvk
    if value.get("kind") not in {gvk.kind, kind.list_kind}:
        gvk = GroupVersionKind.of(str(value.get("apiVersion", "")), str(value.get("kind", "")))
    return view(catalog(txn.snapshot), gvk, kind.resource, kind.list_kind)


class WatchFormat(NamedTuple):
    """The encoding of a watch's events."""

    encode: Callable[[WatchEvent], bytes]
    shared_by: Hashable
    """Equal for watchers who may be sent the same bytes; those of Tables may not, for each is told the columns once."""
    content_type: str = JSON


_JSON_LINES = WatchFormat(WatchEvent.encode, None)


def _encode_frame(event: WatchEvent) -> bytes:
    return protobuf_answer.event(event.type, protobuf_answer.encode(orjson.loads(event.object)))


_PROTOBUF_FRAMES = WatchFormat(_encode_frame, PROTOBUF, f"{PROTOBUF};stream=watch")


def watch_format(request: HttpRequest, query: Query, kind: Kind, txn: Transaction) -> WatchFormat:
    """How this client is to be told of events; raises ``NotAcceptable``."""
    accept = request.header(b"accept")
    try:
        agreed = negotiate(accept, (JSON, PROTOBUF), is_custom="protobuf" in accept and is_custom(request.path))
    except NotAcceptable:
        raise not_acceptable(STREAMS) from None
    plain = _PROTOBUF_FRAMES if agreed.media_type == PROTOBUF else _JSON_LINES
    if agreed.transform is None:
        return plain
    shown = view(catalog(txn.snapshot), kind.gvk, kind.resource, kind.list_kind)
    transformed = WatchTransform(shown, agreed.transform, include_object(query))

    def encode_event(event: WatchEvent) -> bytes:
        obj = transformed.event(event.type, orjson.loads(event.object), now())
        return plain.encode(WatchEvent(event.type, orjson.dumps(obj)))

    shared_by = object() if agreed.transform.kind == "Table" else (agreed.transform, plain.shared_by)
    return WatchFormat(encode_event, shared_by, plain.content_type)


def refusal(request: HttpRequest, error: ApiError) -> Reply:
    """The Status of a refusal, in the format that was asked for, if it is one of those for objects."""
    reply = status_reply(error)
    accept = request.headers.get(b"accept", b"")
    if accept in _PLAIN:
        return reply
    with suppress(NotAcceptable):
        agreed = negotiate(accept.decode("latin-1"))
        if agreed.transform is None and agreed.media_type != JSON:
            return Reply(error.code, encode(error.status(), agreed.media_type), agreed.media_type, reply.headers)
    return reply


def now() -> Moment:
    """The present, for ages."""
    nanos = time.time_ns()
    return Moment(nanos // 1_000_000_000, nanos % 1_000_000_000)
