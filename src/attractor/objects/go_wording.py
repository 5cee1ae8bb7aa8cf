"""Go's wording: values as it prints them, and its errors about texts, JSON and numbers that cannot be read.

Clients and their users know these messages; whoever imitates one takes its words from here.

>>> syntax_error(b"{not json")
"invalid character 'n' looking for beginning of object key string"
>>> syntax_error(b'{"a": 1')
'unexpected end of JSON input'
>>> go_text({"image": "noname", "ports": [80, None]})
'map[image:noname ports:[80 <nil>]]'
>>> cannot_unmarshal(80, "string", "Container.name")
'json: cannot unmarshal number into Go struct field Container.name of type string'
>>> not_parsed("Atoi", "x")
'strconv.Atoi: parsing "x": invalid syntax'
"""

from __future__ import annotations

import re
from typing import Any

import orjson

_SPACE = re.compile(rb"[ \t\r\n]*")
_PLAIN = re.compile(rb'[^"\\\x00-\x1f]*')
_NUMBER = re.compile(rb"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_END = "unexpected end of JSON input"
MAX_DEPTH = 200
_INT64_MIN, _INT64_MAX = -(2**63), 2**63 - 1
GO_MAP = "map[string]interface {}"
"""The Go type of an object that is nothing in particular."""


class _Bad(Exception):
    pass


def syntax_error(data: bytes) -> str | None:
    """What Go would say about the first error in the text; None when there is none."""
    try:
        end = _skip(data, _value(data, _skip(data, 0), 0))
        if end < len(data):
            raise _at(data, end, "after top-level value")
    except _Bad as bad:
        return str(bad)
    return None


def _at(data: bytes, at: int, context: str) -> _Bad:
    if at >= len(data):
        return _Bad(_END)
    text = chr(data[at])  # one byte, whatever the encoding
    shown = {"'": r"'\''", '"': "'\"'"}.get(text) or f"'{_visible(text)}'"
    return _Bad(f"invalid character {shown} {context}")


def _visible(character: str) -> str:
    """A character as Go quotes it: by its number if it cannot be seen."""
    if character.isprintable():
        return character
    return repr(character)[1:-1] if character < "\x80" else f"\\u{ord(character):04x}"


def _skip(data: bytes, at: int) -> int:
    found = _SPACE.match(data, at)
    return found.end() if found else at


def _value(data: bytes, at: int, depth: int) -> int:
    if depth > MAX_DEPTH:
        raise _Bad("exceeded max depth")
    head = data[at : at + 1]
    match head:
        case b"{":
            return _object(data, at + 1, depth)
        case b"[":
            return _array(data, at + 1, depth)
        case b'"':
            return _string(data, at + 1)
        case b"t" | b"f" | b"n":
            return _literal(data, at, {b"t": b"true", b"f": b"false", b"n": b"null"}[head])
    if head == b"-" or head.isdigit():
        return _number(data, at)
    raise _at(data, at, "looking for beginning of value")


def _object(data: bytes, at: int, depth: int) -> int:
    at = _skip(data, at)
    if data[at : at + 1] == b"}":
        return at + 1
    while True:
        if data[at : at + 1] != b'"':
            raise _at(data, at, "looking for beginning of object key string")
        at = _skip(data, _string(data, at + 1))
        if data[at : at + 1] != b":":
            raise _at(data, at, "after object key")
        at = _skip(data, _value(data, _skip(data, at + 1), depth + 1))
        if data[at : at + 1] == b"}":
            return at + 1
        if data[at : at + 1] != b",":
            raise _at(data, at, "after object key:value pair")
        at = _skip(data, at + 1)


def _array(data: bytes, at: int, depth: int) -> int:
    at = _skip(data, at)
    if data[at : at + 1] == b"]":
        return at + 1
    while True:
        at = _skip(data, _value(data, at, depth + 1))
        if data[at : at + 1] == b"]":
            return at + 1
        if data[at : at + 1] != b",":
            raise _at(data, at, "after array element")
        at = _skip(data, at + 1)


def _string(data: bytes, at: int) -> int:
    while True:
        found = _PLAIN.match(data, at)
        at = found.end() if found else at
        head = data[at : at + 1]
        if head == b'"':
            return at + 1
        if head != b"\\":
            raise _at(data, at, "in string literal")
        escape = data[at + 1 : at + 2]
        if escape == b"u":
            for offset in range(2, 6):
                if data[at + offset : at + offset + 1] not in _HEX:
                    raise _at(data, at + offset, "in \\u hexadecimal character escape")
            at += 6
        elif escape and escape in b'bfnrt\\/"':
            at += 2
        else:
            raise _at(data, at + 1, "in string escape code")


_HEX = frozenset(bytes([c]) for c in b"0123456789abcdefABCDEF")


def _literal(data: bytes, at: int, word: bytes) -> int:
    for offset in range(1, len(word)):
        if data[at + offset : at + offset + 1] != word[offset : offset + 1]:
            raise _at(data, at + offset, f"in literal {word.decode()} (expecting {chr(word[offset])!r})")
    return at + len(word)


def _number(data: bytes, at: int) -> int:
    found = _NUMBER.match(data, at)
    if not found:
        raise _at(data, at + 1, "in numeric literal")
    end = found.end()
    tail = data[end : end + 1]
    if tail == b"." and b"." not in found.group():
        raise _at(data, end + 1, "after decimal point in numeric literal")
    if tail in {b"e", b"E"} and b"e" not in found.group().lower():
        sign = 2 if data[end + 1 : end + 2] in {b"+", b"-"} else 1
        raise _at(data, end + sign, "in exponent of numeric literal")
    return end


def go_text(value: Any) -> str:
    """A JSON value as Go's ``%v`` prints it: maps by sorted key, no quotes."""
    if isinstance(value, dict):
        return f"map[{' '.join(f'{name}:{go_text(value[name])}' for name in sorted(value))}]"
    if isinstance(value, list):
        return f"[{' '.join(map(go_text, value))}]"
    if value is None:
        return "<nil>"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) and not _INT64_MIN <= value <= _INT64_MAX:
        return repr(float(value))  # which Go can only read as a number with a fraction
    return str(value)


def go_syntax(value: Any) -> str:
    """A JSON value as Go's ``%#v`` prints it: as one would write it in a program."""
    if isinstance(value, dict):
        items = ", ".join(f"{_quoted(name)}:{go_syntax(value[name])}" for name in sorted(value))
        return f"map[string]interface {{}}{{{items}}}"
    if isinstance(value, list):
        return f"[]interface {{}}{{{', '.join(map(go_syntax, value))}}}"
    if value is None:
        return "interface {}(nil)"
    return _quoted(value) if isinstance(value, str) else go_text(value)


def _quoted(text: str) -> str:
    return orjson.dumps(text).decode()


def go_kind(value: Any) -> str:
    """What Go's JSON decoder calls a value of this kind."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, str):
        return "string"
    if isinstance(value, dict):
        return "object"
    if isinstance(value, list):
        return "array"
    return "null" if value is None else "number"


def go_type(value: Any) -> str:
    """The Go type of a decoded value, as ``%s`` prints it."""
    match value:
        case None:
            return "%!s(<nil>)"
        case bool():
            return "bool"
        case int() if _INT64_MIN <= value <= _INT64_MAX:
            return "int64"
        case int():
            return "float64"
        case float():
            return "float64"
        case dict():
            return GO_MAP
        case list():
            return "[]interface {}"
    return "string"


def cannot_unmarshal(value: Any, go_type: str, field: str = "") -> str:
    """What Go's decoder says of a value that is not of a type: on its own, or as a field of a struct."""
    return unmarshal_error(go_kind(value), go_type, field)


def unmarshal_error(what: str, go_type: str, field: str = "") -> str:
    """The same, where what was found is known by its name."""
    where = f"struct field {field}" if field else "value"
    return f"json: cannot unmarshal {what} into Go {where} of type {go_type}"


def not_parsed(function: str, text: str, why: str = "invalid syntax") -> str:
    """What a function of Go's ``strconv`` says of a text that is no number."""
    return f'strconv.{function}: parsing "{text}": {why}'
