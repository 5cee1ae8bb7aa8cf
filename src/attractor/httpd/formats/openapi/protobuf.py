"""OpenAPI v2 in protobuf, the only form in which kubectl and client-go read it.

The messages are those of gnostic's ``openapi.v2``. A message is a table from the names in the JSON document to the
number of the field and how its value is written; what has no name in the table is a vendor extension, or not in use.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import orjson

from attractor.httpd.formats.wire import BYTES, FIXED64, VARINT

PROTOBUF = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
OLD_PROTOBUF = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
"""What clients ask for; they are answered with the newer name of the same thing."""

Write = Callable[[int, Any], bytes]
"""Writes a value as the field of a number."""


class Message(NamedTuple):
    """How an object is written: its fields by name, and the number for its ``x-`` fields."""

    fields: Mapping[str, tuple[int, Write]]
    extensions: int = 0

    def encoded(self, value: Mapping[str, Any]) -> bytes:
        """The object's bytes."""
        parts = []
        for name, item in value.items():
            if name in self.fields:
                number, write = self.fields[name]
                parts.append(write(number, item))
            elif self.extensions and name.startswith("x-"):
                parts.append(_field(self.extensions, _text(1, name) + _any(2, item)))
        return b"".join(parts)

    def field(self, number: int, value: Mapping[str, Any]) -> bytes:
        """The object as the field of a number in another one."""
        return _field(number, self.encoded(value))


def _varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _field(number: int, data: bytes) -> bytes:
    return b"%b%b%b" % (_varint(number << 3 | BYTES), _varint(len(data)), data)


def _text(number: int, value: str) -> bytes:
    return _field(number, value.encode())


def _flag(number: int, value: bool) -> bytes:
    return _varint(number << 3 | VARINT) + b"\x01" if value else b""


def _whole(number: int, value: int) -> bytes:
    return _varint(number << 3 | VARINT) + _varint(value & (1 << 64) - 1)


def _real(number: int, value: float) -> bytes:
    return _varint(number << 3 | FIXED64) + struct.pack("<d", value)


def _any(number: int, value: Any) -> bytes:
    """A value of any kind stands there as YAML, of which JSON is a part."""
    return _field(number, _field(2, orjson.dumps(value) + b"\n"))


def _each(write: Write) -> Write:
    return lambda number, values: b"".join(write(number, value) for value in values)


def _within(number: int, write: Write) -> Write:
    """A value that stands in a message of its own, as its field of that number."""
    return lambda outer, value: _field(outer, write(number, value))


def _named(write: Write) -> Write:
    """One of several values with names, each a message of name and value."""
    return lambda number, values: b"".join(
        _field(number, _text(1, name) + write(2, value)) for name, value in values.items()
    )


def _schema(number: int, value: Mapping[str, Any]) -> bytes:
    return SCHEMA.field(number, value)


def _additional(number: int, value: Mapping[str, Any] | bool) -> bytes:
    return _field(number, _flag(2, value) if isinstance(value, bool) else _schema(1, value))


SCHEMA = Message(
    {
        "$ref": (1, _text), "format": (2, _text), "title": (3, _text), "description": (4, _text), "default": (5, _any),
        "multipleOf": (6, _real), "maximum": (7, _real), "exclusiveMaximum": (8, _flag), "minimum": (9, _real),
        "exclusiveMinimum": (10, _flag), "maxLength": (11, _whole), "minLength": (12, _whole), "pattern": (13, _text),
        "maxItems": (14, _whole), "minItems": (15, _whole), "uniqueItems": (16, _flag), "maxProperties": (17, _whole),
        "minProperties": (18, _whole), "required": (19, _each(_text)), "enum": (20, _each(_any)),
        "additionalProperties": (21, _additional), "type": (22, _within(1, _text)), "items": (23, _within(1, _schema)),
        "properties": (25, _within(1, _named(_schema))),
    },
    extensions=31,
)  # fmt: skip
_BODY = Message(
    {"description": (1, _text), "name": (2, _text), "in": (3, _text), "required": (4, _flag), "schema": (5, _schema)}
)
_COMMON: Mapping[str, tuple[int, Write]] = {
    "required": (1, _flag),
    "in": (2, _text),
    "description": (3, _text),
    "name": (4, _text),
}
_QUERY = Message({**_COMMON, "type": (6, _text), "uniqueItems": (20, _flag)})
_PATH_PART = Message({**_COMMON, "type": (5, _text), "uniqueItems": (19, _flag)})


def _parameter(number: int, value: Mapping[str, Any]) -> bytes:
    if value["in"] == "body":
        return _field(number, _field(1, _BODY.field(1, value)))
    other = _PATH_PART.field(4, value) if value["in"] == "path" else _QUERY.field(3, value)
    return _field(number, _field(1, _field(2, other)))


_RESPONSE = Message({"description": (1, _text), "schema": (2, _within(1, _schema))})
_OPERATION = Message(
    {
        "tags": (1, _each(_text)), "description": (3, _text), "operationId": (5, _text), "produces": (6, _each(_text)),
        "consumes": (7, _each(_text)), "parameters": (8, _each(_parameter)),
        "responses": (9, _within(1, _named(_within(1, _RESPONSE.field)))), "schemes": (10, _each(_text)),
    },
    extensions=13,
)  # fmt: skip
_METHODS = {"get": 2, "put": 3, "post": 4, "delete": 5, "patch": 8}
_PATH = Message(
    {
        "parameters": (9, _each(_parameter)),
        **{method: (number, _OPERATION.field) for method, number in _METHODS.items()},
    }
)
_API_KEY = Message({"type": (1, _text), "name": (2, _text), "in": (3, _text), "description": (4, _text)})
DOCUMENT = Message(
    {
        "swagger": (1, _text),
        "info": (2, Message({"title": (1, _text), "version": (2, _text)}).field),
        "paths": (8, _within(2, _named(_PATH.field))),
        "definitions": (9, _within(1, _named(_schema))),
        "security": (12, _each(_within(1, _named(_within(1, _each(_text)))))),
        "securityDefinitions": (13, _within(1, _named(_within(2, _API_KEY.field)))),
    }
)
