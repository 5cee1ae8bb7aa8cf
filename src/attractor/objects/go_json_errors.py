"""Why a text is not JSON, in the words of Go's ``encoding/json``: clients and their users know these messages.

>>> syntax_error(b"{not json")
"invalid character 'n' looking for beginning of object key string"
>>> syntax_error(b'{"a": 1')
'unexpected end of JSON input'
"""

from __future__ import annotations

import re

_SPACE = re.compile(rb"[ \t\r\n]*")
_PLAIN = re.compile(rb'[^"\\\x00-\x1f]*')
_NUMBER = re.compile(rb"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_END = "unexpected end of JSON input"
MAX_DEPTH = 200


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
