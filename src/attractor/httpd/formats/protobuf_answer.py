"""Answers in protobuf: JSON values of built-in kinds, Statuses and metadata as the bytes that Kubernetes would send.

How a value is written follows from the Go types, as when reading (``protobuf``). The rules are those of Kubernetes'
generated code: fields in the order of their numbers; a field that is no pointer, list or map is always there, zero or
not; maps sorted by key. So each struct has a template, the bytes of its zero value in pieces, and an object replaces
the pieces that it has.

>>> encode({"kind": "ConfigMap", "apiVersion": "v1", "data": {"a": "b"}})[-14:]
b'\\x12\\x06\\n\\x01a\\x12\\x01b\\x1a\\x00"\\x00'

Refuses (``NotAcceptable``) kinds that have no protobuf form, which are custom ones and Tables.
"""

from __future__ import annotations

import struct
from base64 import b64decode
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Final

import orjson

from attractor.httpd.formats.protobuf import MAGIC, SCHEMA, is_wrapped, schema_choice
from attractor.k8s import catalog
from attractor.objects.errors import NotAcceptable
from attractor.objects.gvk import GroupVersionKind
from attractor.objects.timestamps import parse_duration, parse_time

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from attractor.k8s.catalog import GoType
    from attractor.objects.json_types import JsonObject

    Write = Callable[[Any], bytes]

_VARINT, _FIXED64, _BYTES = 0, 1, 2
_U64 = (1 << 64) - 1
_META = "io.k8s.apimachinery.pkg.apis.meta.v1"
_PARTIAL = frozenset({"PartialObjectMetadata", "PartialObjectMetadataList"})
_OF_META = {
    "": frozenset({"APIVersions", "APIResourceList"}),
    "v1": frozenset({"Status", "APIGroupList", "APIGroup", "APIResourceList"}),
    "meta.k8s.io/v1": _PARTIAL,
    "meta.k8s.io/v1beta1": _PARTIAL,
}
"""By apiVersion: kinds that are no resources."""
_NOTHING: JsonObject = {}
_FRAME_HEAD = struct.Struct(">I")


def varint(value: int) -> bytes:
    """A number as protobuf writes it; negative ones in 64 bits."""
    if 0 <= value < len(_LENGTHS):
        return _LENGTHS[value]
    return _varint(value)


def _varint(value: int) -> bytes:
    value &= _U64
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


_LENGTHS: Final = [_varint(number) for number in range(4096)]


def _tag(number: int, wire: int) -> bytes:
    return _varint(number << 3 | wire)


def _framed(tag: bytes, data: bytes) -> bytes:
    return tag + varint(len(data)) + data


def encode(value: JsonObject) -> bytes:
    """An object, a list or a Status with its envelope; raises ``NotAcceptable``."""
    kind, api_version = str(value.get("kind", "")), str(value.get("apiVersion", ""))
    return envelope(kind, api_version, raw(kind, api_version, value))


def raw(kind: str, api_version: str, value: JsonObject) -> bytes:
    """An object's own bytes, without kind and apiVersion; raises ``NotAcceptable``."""
    return _message_of(kind, api_version)(value)


def envelope(kind: str, api_version: str, data: bytes) -> bytes:
    """A ``runtime.Unknown``: what says of which kind an object's bytes are."""
    meta = _framed(b"\n", api_version.encode()) + _framed(b"\x12", kind.encode())
    return b"".join((MAGIC, _framed(b"\n", meta), b"\x12", varint(len(data)), data, b"\x1a\x00\x22\x00"))


def event(event_type: str, obj: bytes) -> bytes:
    """A piece of a watch stream: the length in four bytes, then the event; ``obj`` has its envelope."""
    data = _framed(b"\n", event_type.encode()) + _framed(b"\x12", _framed(b"\n", obj))
    return _FRAME_HEAD.pack(len(data)) + data


def items(kind: str, api_version: str, some: list[JsonObject]) -> bytes:
    """Some of a list's items, which follow its metadata; raises ``NotAcceptable``."""
    write = _message_of(kind, api_version)
    return write({"items": some})[len(write(_NOTHING)) :]


@lru_cache(maxsize=1024)
def _message_of(kind: str, api_version: str) -> _Message:
    if kind in _OF_META.get(api_version, ()):
        definition: str | None = f"{_META}.{kind}"
    else:
        definition = catalog.definition_of(GroupVersionKind.of(api_version, kind))
    if definition is None:
        raise NotAcceptable(
            f"object *{kind} does not implement the protobuf marshalling interface"
            " and cannot be encoded to a protobuf message"
        )
    return _message(catalog.go_type(definition))


class _Message:
    """Writes the fields of a struct, or of what is nested in it where Go inlines."""

    __slots__ = ("_fields", "_groups", "_path", "_template", "go")

    def __init__(self, go: GoType, path: tuple[int, ...] = ()) -> None:
        self.go = go
        self._path = path
        """The numbers of the messages that these fields are nested in."""
        self._fields: dict[str, tuple[int, Write]] | None = None
        """By JSON name: which piece of the template a field is, and how it is written."""
        self._template: list[bytes] = []
        self._groups: list[tuple[int, bytes, _Message]] = []
        """Inlined structs: which piece they are, their tag, and what writes them."""

    def __call__(self, value: Mapping[str, Any]) -> bytes:
        """The message without its length."""
        fields = self._fields
        if fields is None:
            fields = self._prepared()
        pieces = self._template.copy()
        for name, one in value.items():
            if one is not None:
                found = fields.get(name)
                if found is not None:
                    pieces[found[0]] = found[1](one)
        for at, tag, group in self._groups:
            data = group(value)
            pieces[at] = tag + varint(len(data)) + data
        return b"".join(pieces)

    def _prepared(self) -> dict[str, tuple[int, Write]]:
        """Look at the type: late, because some types contain themselves."""
        depth = len(self._path)
        inside = [field for field in self.go.fields.values() if field.protobuf_path[:depth] == self._path]
        numbers = sorted({field.protobuf_path[depth] for field in inside if len(field.protobuf_path) > depth})
        template: list[bytes] = [b""] * len(numbers)
        fields: dict[str, tuple[int, Write]] = {}
        for field in inside:
            if len(field.protobuf_path) == depth + 1:
                number = field.protobuf_path[depth]
                fields[field.json_name] = numbers.index(number), _writer(number, field.type)
                template[numbers.index(number)] = _zero(number, field.type)
        for number in sorted({field.protobuf_path[depth] for field in inside if len(field.protobuf_path) > depth + 1}):
            group = _Message(self.go, (*self._path, number))
            self._groups.append((numbers.index(number), _tag(number, _BYTES), group))
        self._template = template
        self._fields = fields
        return fields


@cache
def _message(go: GoType) -> _Message:
    return _Message(go)


def _zero(number: int, go: GoType) -> bytes:
    """A field that is not there: nothing for pointers, lists and maps, the zero value for all else."""
    match go.cls:
        case "pointer" | "slice" | "map" | "bytes" | "interface":
            return b""
        case "int" | "uint" | "bool":
            return _tag(number, _VARINT) + b"\x00"
        case "float":
            return _tag(number, _FIXED64) + bytes(8)
        case "struct":
            return _framed(_tag(number, _BYTES), _message(go)({}))
        case "string" | "time" | "microtime" | "raw":
            return _tag(number, _BYTES) + b"\x00"
    return _writer(number, go)(go.zero())


@cache
def _writer(number: int, go: GoType) -> Write:
    """How a field is written, tag and all; its value is not None."""
    if go.cls == "pointer" and go.elem is not None:
        return _writer(number, go.elem)
    if go.cls in {"int", "uint", "bool"}:
        return _whole(_tag(number, _VARINT))
    if go.cls == "float":
        return _real(_tag(number, _FIXED64))
    tag = _tag(number, _BYTES)
    if go.cls == "string":
        return _text(tag)
    if go.cls == "map" and go.elem is not None:
        return _entries(tag, _writer(2, go.elem), go.elem)
    if go.cls == "slice" and go.elem is not None:
        if is_wrapped(go):
            return _sized(tag, _items(1, _text(b"\n"), go.elem))
        return _items(number, _writer(number, go.elem), go.elem)
    if go.cls == "raw":
        return _sized(tag, _choice(schema_choice(go)))
    return _sized(tag, _message(go) if go.cls == "struct" else _SPECIAL[go.cls])


def _sized(tag: bytes, body: Write) -> Write:
    def write(value: Any) -> bytes:
        data = body(value)
        return tag + varint(len(data)) + data

    return write


def _whole(tag: bytes) -> Write:
    return lambda value: tag + varint(int(value))


def _real(tag: bytes) -> Write:
    return lambda value: tag + struct.pack("<d", value)


def _text(tag: bytes) -> Write:
    def write(value: str) -> bytes:
        data = value.encode()
        return tag + varint(len(data)) + data

    return write


def _items(number: int, write: Write, go: GoType) -> Write:
    return lambda values: b"".join([_zero(number, go) if one is None else write(one) for one in values])


def _entries(tag: bytes, write: Write, go: GoType) -> Write:
    def entries(values: Mapping[str, Any]) -> bytes:
        pieces: list[bytes] = []
        for name in sorted(values):
            key, value = name.encode(), values[name]
            data = b"\n" + varint(len(key)) + key + (_zero(2, go) if value is None else write(value))
            pieces += (tag, varint(len(data)), data)
        return b"".join(pieces)

    return entries


@lru_cache(maxsize=4096)
def _time(value: str) -> bytes:
    """Whole seconds: so Kubernetes writes times, as its JSON does."""
    return b"\x08" + varint(parse_time(value).seconds) + b"\x10\x00"


@lru_cache(maxsize=4096)
def _micro_time(value: str) -> bytes:
    moment = parse_time(value)
    return b"\x08" + varint(moment.seconds) + b"\x10" + varint(moment.nanos // 1000 * 1000)


def _duration(value: str) -> bytes:
    return b"\x08" + varint(parse_duration(value))


def _int_or_string(value: int | str) -> bytes:
    if isinstance(value, str):
        return b"\x08\x01\x10\x00" + _framed(b"\x1a", value.encode())
    return b"\x08\x00\x10" + varint(value) + b"\x1a\x00"


_SPECIAL: Mapping[str, Write] = {
    "bytes": b64decode,
    "time": _time,
    "microtime": _micro_time,
    "duration": _duration,
    "quantity": _text(b"\n"),
    "intorstring": _int_or_string,
}


def _choice(name: str) -> Write:
    """Any JSON; or one of the alternatives that a schema has where JSON allows several types."""
    if not name:
        return lambda value: _framed(b"\n", orjson.dumps(value))

    def write(value: Any) -> bytes:
        if isinstance(value, bool):
            return b"\x08\x01" if value else b"\x08\x00"
        schema = _message(catalog.go_type(SCHEMA))
        if isinstance(value, list):
            several = _text(b"\x12") if name == "JSONSchemaPropsOrStringArray" else _sized(b"\x12", schema)
            return b"".join(map(several, value))
        if name == "JSONSchemaPropsOrBool":
            return b"\x08\x01" + _framed(b"\x12", schema(value))
        return _framed(b"\n", schema(value))

    return write
