"""Protobuf request bodies of built-in kinds, read into the JSON that they stand for.

A body is the four bytes ``k8s\\0`` and a ``runtime.Unknown`` that holds the object's type and its bytes. How the bytes
are read follows from the Go types of the kind (their protobuf numbers are published with them), so every built-in
kind is read alike and no schema compiler is needed. What comes out is what Kubernetes' JSON encoding of the same
object looks like, up to fields that are absent.

Guarantee: any bytes either give an object or raise ``BadRequest``; memory is bounded by a budget of values.
"""

from __future__ import annotations

import struct
from base64 import b64encode
from functools import cache
from math import isfinite
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from attractor.apiserver.request.bodies import JSON, PROTOBUF, media_type
from attractor.apiserver.request.routing import parse_path
from attractor.httpd.formats.wire import (
    BYTES,
    FIXED32,
    FIXED64,
    MAX_DEPTH,
    MAX_VALUES,
    VARINT,
    Value,
    WireError,
    signed,
    values,
    varint,
)
from attractor.k8s import archive, catalog
from attractor.objects.budget import Budget, OverBudget
from attractor.objects.errors import BadRequest
from attractor.objects.gvk import GroupVersion, GroupVersionKind
from attractor.objects.quantity import QuantityError, canonical
from attractor.objects.timestamps import Moment, format_duration, format_micro_time, format_time

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from attractor.k8s.catalog import GoField, GoType
    from attractor.objects.json_types import JsonObject

MAGIC = b"k8s\x00"
_NO_MAGIC = "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]"
_SCHEME = 'in scheme "pkg/api/legacyscheme/scheme.go:30"'
_APIEXTENSIONS = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1"
SCHEMA = f"{_APIEXTENSIONS}.JSONSchemaProps"
_DELETE_OPTIONS = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions"
"""Registered for every version of every group."""
_WRAPPED_LISTS = frozenset({"ExtraValue", "Verbs"})
"""Lists of text that are messages of their own, because maps cannot hold lists."""
_FIRST_SECOND, _LAST_SECOND = -62167219200, 253402300799
_SUMMARY_BYTES = 30


def request_as_json(method: str, path: str, content_type: str, body: bytes) -> tuple[bytes, str]:
    """A request's body and content type, in JSON when they were protobuf for a built-in kind; raises ``BadRequest``.

    Patches and custom resources know no protobuf: their bodies come back as they are, for the core to refuse.
    """
    if media_type(content_type) != PROTOBUF or not body or method not in {"POST", "PUT", "DELETE"}:
        return body, content_type
    target = parse_path(path)
    info = catalog.find(target.group, target.version, target.resource) if target is not None else None
    if target is None or info is None:
        return body, content_type
    kind = info.subresources[target.subresource].kind if target.subresource in info.subresources else info.kind
    return to_json(body, "DeleteOptions" if method == "DELETE" else kind), JSON


def to_json(data: bytes, must_be: str) -> bytes:
    """A protobuf body as the JSON body that says the same; ``must_be`` is the kind that the resource expects."""
    return orjson.dumps(decode(data, must_be))


def decode(data: bytes, must_be: str) -> JsonObject:
    """The object in a protobuf body, with its kind and apiVersion; raises ``BadRequest``."""
    try:
        envelope = _open(data)
    except (WireError, OverBudget) as error:
        start = data[:_SUMMARY_BYTES]
        shown = start.decode(errors="replace") if start.startswith(b"{") else start.hex()
        summary = shown + (" ..." if len(data) > _SUMMARY_BYTES else "") or "<empty>"
        message = f"the object provided is unrecognized (must be of type {must_be}): {error} ({summary})"
        raise BadRequest(message) from None
    try:
        return _decode(envelope, Budget(MAX_VALUES), 0)
    except OverBudget:
        why = f"message has more than {MAX_VALUES} values"
        raise BadRequest(_cannot(envelope, must_be, why)) from None
    except WireError as error:
        raise BadRequest(_cannot(envelope, must_be, str(error))) from None


def _cannot(envelope: _Envelope, must_be: str, why: str) -> str:
    version = envelope.api_version.rpartition("/")[2]
    return f'{envelope.kind} in version "{version}" cannot be handled as a {must_be}: {why}'


class _Envelope(NamedTuple):
    """A ``runtime.Unknown``."""

    api_version: str
    kind: str
    raw: bytes
    content_type: str


def _open(data: bytes) -> _Envelope:
    if not data:
        raise WireError("empty data")
    if not data.startswith(MAGIC):
        raise WireError(_NO_MAGIC)
    api_version = kind = content_type = ""
    raw = b""
    budget = Budget(100)
    for value in values(data, len(MAGIC), len(data), budget):
        if value.number == 1 and value.wire == BYTES:
            for part in values(data, value.start, value.end, budget):
                if part.number == 1:
                    api_version = _text(data, part)
                elif part.number == 2:
                    kind = _text(data, part)
        elif value.number == 2:
            raw = _span(data, value, "Raw")
        elif value.number == 3 and _text(data, value):
            raise WireError(f"unable to decode an object with content encoding {_text(data, value)!r}")
        elif value.number == 4:
            content_type = _text(data, value)
    return _Envelope(api_version, kind, raw, content_type)


def _decode(envelope: _Envelope, budget: Budget, depth: int) -> JsonObject:
    if envelope.content_type not in {"", PROTOBUF}:
        raise WireError(f"unable to decode an object of content type {envelope.content_type!r}")
    try:
        group, version = GroupVersion.parse(envelope.api_version)
    except ValueError as error:
        raise WireError(str(error)) from None
    gvk = GroupVersionKind(group, version, envelope.kind)
    definition = _DELETE_OPTIONS if gvk.kind == "DeleteOptions" else catalog.definition_of(gvk)
    if definition is None:
        raise WireError(f'no kind "{gvk.kind}" is registered for version "{envelope.api_version}" {_SCHEME}')
    reader = _Reader(envelope.raw, budget)
    whole = Value(0, BYTES, 0, 0, len(envelope.raw))
    obj = reader.message(whole, catalog.go_type(definition), {}, depth)
    return {"kind": envelope.kind, "apiVersion": envelope.api_version, **obj}


def _span(data: bytes, value: Value, name: str) -> bytes:
    if value.wire != BYTES:
        raise WireError(f"proto: wrong wireType = {value.wire} for field {name}")
    return data[value.start : value.end]


def _text(data: bytes, value: Value) -> str:
    return _span(data, value, "String").decode("utf-8", "replace")


@cache
def _fields(go: GoType) -> Mapping[int, GoField | Mapping[int, Any]]:
    """The fields of a struct by number; where Go inlines what protobuf nests, a mapping stands for the nested one."""
    tree: dict[int, Any] = {}
    for field in go.fields.values():
        if field.protobuf_path:
            level = tree
            for number in field.protobuf_path[:-1]:
                level = level.setdefault(number, {})
            level[field.protobuf_path[-1]] = field
    return tree


class _Reader:
    """Reads one object's bytes."""

    def __init__(self, data: bytes, budget: Budget) -> None:
        self.data = data
        self.budget = budget

    def message(self, value: Value, go: GoType, into: JsonObject, depth: int) -> JsonObject:
        """A struct; a second message for the same field adds to the first."""
        self._fill(value, _fields(go), into, depth)
        for name in [name for name, item in into.items() if _is_dropped(go.fields[name], item)]:
            del into[name]
        return into

    def _fill(self, value: Value, fields: Mapping[int, Any], into: JsonObject, depth: int) -> None:
        if depth > MAX_DEPTH:
            raise WireError("exceeded max depth")
        for part in self._parts(value, "message"):
            field = fields.get(part.number)
            if field is None:
                continue
            if isinstance(field, dict):
                self._fill(part, field, into, depth + 1)
            else:
                into[field.json_name] = self._field(part, field, into.get(field.json_name), depth + 1)

    def _parts(self, value: Value, name: str) -> Any:
        if value.wire != BYTES:
            raise WireError(f"proto: wrong wireType = {value.wire} for field {name}")
        return values(self.data, value.start, value.end, self.budget)

    def _field(self, value: Value, field: GoField, before: Any, depth: int) -> Any:
        go = field.type
        if go.cls == "pointer" and go.elem is not None:
            go = go.elem
        if go.cls == "slice" and go.elem is not None and not is_wrapped(go):
            return self._items(value, go.elem, before or [], depth)
        if go.cls == "map" and go.elem is not None:
            return self._entry(value, go.elem, before or {}, depth)
        return self._one(value, go, before, depth, field.go_name)

    def _items(self, value: Value, elem: GoType, found: list[Any], depth: int) -> list[Any]:
        if value.wire == BYTES and elem.cls in {"int", "uint", "bool"}:  # packed
            at = value.start
            while at < value.end:
                scalar, at = varint(self.data, at, value.end)
                self.budget.charge()
                found.append(self._one(Value(value.number, VARINT, scalar), elem, None, depth, "Items"))
        else:
            found.append(self._one(value, elem, None, depth, "Items"))
        return found

    def _entry(self, value: Value, elem: GoType, found: JsonObject, depth: int) -> JsonObject:
        key, item = "", elem.zero()
        for part in self._parts(value, "entry"):
            if part.number == 1:
                key = _text(self.data, part)
            elif part.number == 2:
                item = self._one(part, elem, None, depth + 1, "Value")
        found[key] = item
        return found

    def _one(self, value: Value, go: GoType, before: Any, depth: int, name: str) -> Any:
        match go.cls:
            case "struct":
                return self.message(value, go, before if isinstance(before, dict) else {}, depth)
            case "pointer" if go.elem is not None:
                return self._one(value, go.elem, before, depth, name)
            case "string":
                return _span(self.data, value, name).decode("utf-8", "replace")
            case "bytes":
                return b64encode(_span(self.data, value, name)).decode()
            case "int" | "uint" | "bool" | "float":
                return _number(value, go, name)
            case "slice" if go.elem is not None and is_wrapped(go):
                return [_text(self.data, part) for part in self._parts(value, name) if part.number == 1]
            case "raw":
                return self._raw(value, go, depth, name)
        special = _SPECIAL.get(go.cls)
        if special is None:
            raise WireError(f"proto: field {name} has no protobuf form")
        found = {part.number: part for part in self._parts(value, name)}
        return special(self.data, found)

    def _raw(self, value: Value, go: GoType, depth: int, name: str) -> Any:
        choice = schema_choice(go)
        if not choice:
            spans = [_span(self.data, part, name) for part in self._parts(value, name) if part.number == 1]
            return self._json(spans[-1] if spans else b"", depth)
        parts = list(self._parts(value, name))
        schema = catalog.go_type(SCHEMA)
        if choice == "JSONSchemaPropsOrBool":
            for part in parts:
                if part.number == 2:
                    return self.message(part, schema, {}, depth + 1)
            return any(part.number == 1 and part.scalar for part in parts)
        if choice == "JSONSchemaPropsOrStringArray":
            several: list[Any] = [_text(self.data, part) for part in parts if part.number == 2]
        else:
            several = [self.message(part, schema, {}, depth + 1) for part in parts if part.number == 2]
        first = next((part for part in parts if part.number == 1), None)
        return several if several or first is None else self.message(first, schema, {}, depth + 1)

    def _json(self, raw: bytes, depth: int) -> Any:
        if not raw:
            return None
        if raw.startswith(MAGIC):
            return _decode(_open(raw), self.budget, depth + 1)
        try:
            return orjson.loads(raw)
        except orjson.JSONDecodeError as error:
            raise WireError(f"raw JSON in the message cannot be read: {error}") from None


def is_wrapped(go: GoType) -> bool:
    """Whether a list is a message of its own."""
    return go.definition.rpartition(".")[2] in _WRAPPED_LISTS


def schema_choice(go: GoType) -> str:
    """The name of a type that is a schema or something else; empty for those that are any JSON."""
    name = go.definition.removeprefix(f"{_APIEXTENSIONS}.")
    return name if name.startswith("JSONSchemaPropsOr") else ""


def _is_dropped(field: GoField, item: Any) -> bool:
    """Whether Go's JSON leaves the field out; a pointer that is there is written whatever it points to."""
    if not field.is_dropped_when_zero or field.cls == "pointer":
        return False
    return item is None or item in ("", 0, False) or (isinstance(item, dict | list) and not item)


def _number(value: Value, go: GoType, name: str) -> int | float | bool:
    if go.cls == "float":
        if value.wire not in {FIXED64, FIXED32}:
            raise WireError(f"proto: wrong wireType = {value.wire} for field {name}")
        form, size = ("<d", 8) if value.wire == FIXED64 else ("<f", 4)
        number: float = struct.unpack(form, value.scalar.to_bytes(size, "little"))[0]
        if not isfinite(number):
            raise WireError(f"json: unsupported value: {number} in field {name}")
        return int(number) if number.is_integer() and abs(number) < 2**53 else number
    if value.wire != VARINT:
        raise WireError(f"proto: wrong wireType = {value.wire} for field {name}")
    if go.cls == "bool":
        return value.scalar != 0
    bits = 32 if _basic(go).endswith("32") else 64
    return value.scalar & ((1 << bits) - 1) if go.cls == "uint" else signed(value.scalar, bits)


@cache
def _basic(go: GoType) -> str:
    """The basic type behind a named number."""
    spelling = go.spelling
    while "." in spelling:
        declared = archive.entry("go", spelling)
        assert isinstance(declared, str), "a number is declared as another type"
        spelling = declared
    return spelling


def _scalar(found: Mapping[int, Value], number: int, bits: int = 64) -> int:
    part = found.get(number)
    if part is None:
        return 0
    if part.wire != VARINT:
        raise WireError(f"proto: wrong wireType = {part.wire} for field {number}")
    return signed(part.scalar, bits)


def _moment(found: Mapping[int, Value]) -> Moment | None:
    """A time; the empty message is Go's zero time."""
    if not found:
        return None
    moment = Moment(_scalar(found, 1), _scalar(found, 2, 32))
    if not (_FIRST_SECOND <= moment.seconds <= _LAST_SECOND and 0 <= moment.nanos < 10**9):
        raise WireError(f"time {moment.seconds}.{moment.nanos} is outside of the years 0 to 9999")
    return None if moment.is_zero else moment


def _time(_data: bytes, found: Mapping[int, Value]) -> str | None:
    moment = _moment(found)
    return None if moment is None else format_time(moment)


def _micro_time(_data: bytes, found: Mapping[int, Value]) -> str | None:
    moment = _moment(found)
    return None if moment is None else format_micro_time(moment)


def _duration(_data: bytes, found: Mapping[int, Value]) -> str:
    return format_duration(_scalar(found, 1))


def _quantity(data: bytes, found: Mapping[int, Value]) -> str:
    text = _text(data, found[1]) if 1 in found else ""
    try:
        return canonical(text) if text else "0"
    except QuantityError as error:
        raise WireError(str(error)) from None


def _int_or_string(data: bytes, found: Mapping[int, Value]) -> int | str:
    kind = _scalar(found, 1)
    if kind == 0:
        return _scalar(found, 2, 32)
    if kind == 1:
        return _text(data, found[3]) if 3 in found else ""
    raise WireError(f"impossible IntOrString.Type {kind}")


_SPECIAL: Mapping[str, Callable[[bytes, Mapping[int, Value]], Any]] = {
    "time": _time,
    "microtime": _micro_time,
    "duration": _duration,
    "quantity": _quantity,
    "intorstring": _int_or_string,
}
