"""Long lists as clients want them, made piece by piece: JSON, indented, YAML, protobuf, Tables, metadata, gzipped.

Generators that pause between pieces of about half a millisecond, so that others are answered meanwhile. The bytes are
those that ``presentation`` would make at once.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

import orjson

from attractor.apiserver.request.bodies import PROTOBUF, YAML
from attractor.httpd.formats import protobuf_answer
from attractor.httpd.formats.encoding import encode
from attractor.httpd.formats.tables import include_object
from attractor.httpd.formats.transform import TransformOptions, transform
from attractor.httpd.presentation import now, view_of
from attractor.httpd.reply import GZIP_LEVEL, JSON, Reply, accepts_gzip

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping, Sequence

    from attractor.apiserver.response import ListBody, LongListBody
    from attractor.apiserver.transaction import Transaction
    from attractor.httpd.parser import HttpRequest
    from attractor.httpd.presentation import Shape
    from attractor.objects.json_types import JsonObject

    Query = Mapping[str, Sequence[str]]
    Steps = Generator[None, None, bytes]

BATCH = 32
"""Objects that are decoded, shown or written between two pauses."""
GZIP_STEP = 64 * 1024
"""Bytes that are compressed between two pauses."""
_GZIP = 31
"""zlib's word for gzip with the largest window."""


def long_list(
    shape: Shape | None,
    request: HttpRequest,
    query: Query,
    body: LongListBody,
    txn: Transaction,
    *,
    gzip_bytes: int,
    warnings: tuple[str, ...],
) -> Generator[None, None, Reply]:
    """The reply; raises ``NotAcceptable``. ``gzip_bytes`` is the size beyond which it is compressed if it may be."""
    made = yield from body.steps()
    if shape is None:
        media_type, data = JSON, made.encode(b"\n")
    else:
        media_type, data = shape.agreed.media_type, (yield from _presented(shape, request, query, made, txn))
    if len(data) <= gzip_bytes or not accepts_gzip(request.headers.get(b"accept-encoding", b"")):
        return Reply(200, data, media_type, warnings=warnings)
    yield
    packed = yield from _gzipped(data)
    headers = {"Content-Encoding": "gzip", "Vary": "Accept-Encoding"}
    return Reply(200, packed, media_type, headers, warnings)


def _presented(shape: Shape, request: HttpRequest, query: Query, made: ListBody, txn: Transaction) -> Steps:
    agreed, head = shape.agreed, made.head()
    shown = view_of(request.path, head, txn) if agreed.transform is not None else None
    if shown is None or agreed.transform is None:
        return (yield from _spliced(head, "items", _decoded(made), agreed.media_type, pretty=shape.pretty))
    options = TransformOptions(agreed.transform, now(), include_object(query))
    name = "rows" if agreed.transform.kind == "Table" else "items"
    batches: Iterator[list[JsonObject]] = _decoded(made)
    if shown.printer.order and name == "rows":
        objects: list[JsonObject] = []
        for batch in batches:
            objects += batch
            yield
        objects.sort(key=shown.printer.order)
        batches = (objects[start : start + BATCH] for start in range(0, len(objects), BATCH))
    whole = transform(shown, {**head, "items": []}, options)
    every = (transform(shown, {**head, "items": batch}, options)[name] or [] for batch in batches)
    return (yield from _spliced(whole, name, every, agreed.media_type, pretty=shape.pretty))


def _decoded(made: ListBody) -> Iterator[list[JsonObject]]:
    for start in range(0, len(made.items), BATCH):
        yield [orjson.loads(one) for one in made.items[start : start + BATCH]]


def _spliced(
    whole: JsonObject, name: str, every: Iterator[list[JsonObject]], media_type: str, *, pretty: bool
) -> Steps:
    """``encode`` of a value whose last field is a long list that is not there yet."""
    whole = {**{key: value for key, value in whole.items() if key != name}, name: []}
    if media_type == PROTOBUF:
        return (yield from _protobuf(whole, every))
    text = encode(whole, media_type, pretty=pretty)
    if media_type == YAML:
        before, _, after = text.partition(b"\n%b: []\n" % name.encode())
        before, between = before + b"\n%b:\n" % name.encode(), b""
    elif pretty:
        before, after, between = text[: -len(b"]\n}")] + b"\n    ", b"\n  ]\n}", b",\n    "
    else:
        before, after, between = text[: -len(b"]}\n")], b"]}\n", b","
    pieces: list[bytes] = []
    for batch in every:
        if media_type == YAML:
            pieces.append(encode(batch, YAML))
        elif pretty:
            pieces += [encode(one, pretty=True).replace(b"\n", b"\n    ") for one in batch]
        else:
            pieces += [orjson.dumps(one) for one in batch]
        yield
    return b"".join((before, between.join(pieces), after))


def _protobuf(whole: JsonObject, every: Iterator[list[JsonObject]]) -> Steps:
    kind, api_version = str(whole["kind"]), str(whole["apiVersion"])
    pieces = [protobuf_answer.raw(kind, api_version, whole)]
    for batch in every:
        pieces.append(protobuf_answer.items(kind, api_version, batch))
        yield
    return protobuf_answer.envelope(kind, api_version, b"".join(pieces))


def _gzipped(data: bytes) -> Steps:
    packer = zlib.compressobj(GZIP_LEVEL, wbits=_GZIP)
    pieces: list[bytes] = []
    for start in range(0, len(data), GZIP_STEP):
        pieces.append(packer.compress(data[start : start + GZIP_STEP]))
        yield
    pieces.append(packer.flush())
    return b"".join(pieces)
