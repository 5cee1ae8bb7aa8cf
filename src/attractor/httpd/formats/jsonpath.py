"""JSONPath as printer columns use it: the part of Kubernetes' dialect that picks values.

Fields (``.spec.size``, ``['a.b']``, ``.a\\.b``), indexes and slices (``[0]``, ``[-1]``, ``[1:3]``, ``[*]``), unions
(``[0,2]``), wildcards (``.*``), recursive descent (``..name``) and filters (``[?(@.type=="Ready")]``). A path that
leads nowhere finds nothing; a comparison of unlike values is false.

>>> Path.parse('.status.conditions[?(@.type=="Ready")].status').find(
...     {"status": {"conditions": [{"type": "Ready", "status": "True"}]}})
['True']
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MAX_RESULTS = 1_000
"""How many values a step may yield; recursive descent over a large object stops there."""
MAX_LENGTH = 1_000
"""How long a path may be: it comes from users, and is walked for each row."""
MAX_FILTERS = 10

_FIELD = re.compile(r"((?:[^.\[\]\s\\]|\\.)+)")
_SLICE = re.compile(r"(-?\d*)(?::(-?\d*)(?::(\d*))?)?")


class PathError(ValueError):
    """The text is no path of this dialect."""


class Path:
    """A parsed path."""

    __slots__ = ("_steps", "text")

    def __init__(self, text: str, steps: tuple[Callable[[Any], Iterator[Any]], ...]) -> None:
        self.text = text
        self._steps = steps

    @staticmethod
    @lru_cache(maxsize=1024)
    def parse(text: str) -> Path:
        """Read a path, with or without braces around it; raises ``PathError``."""
        if len(text) > MAX_LENGTH or text.count("?(") > MAX_FILTERS:
            raise PathError(f"a path has at most {MAX_LENGTH} characters and {MAX_FILTERS} filters")
        inner = text.strip()
        if inner.startswith("{") and inner.endswith("}"):
            inner = inner[1:-1].strip()
        return Path(text, tuple(_parse(inner.removeprefix("$"))))

    def find(self, value: Any) -> list[Any]:
        """Every value that the path leads to, in document order."""
        found = [value]
        for step in self._steps:
            found = list(islice((one for item in found for one in step(item)), MAX_RESULTS))
        return found


def _parse(text: str) -> Iterator[Callable[[Any], Iterator[Any]]]:
    at = 0
    while at < len(text):
        if text.startswith("..", at):
            yield _descend
            at += 2 if text[at + 2 : at + 3] not in {"[", ""} else 1
            if text[at - 1 : at] == "." and text[at : at + 1] not in {"[", "."}:
                name, at = _name(text, at)
                yield _field(name)
            continue
        if text[at] == ".":
            at += 1
            if at < len(text) and text[at] != "[":
                name, at = _name(text, at)
                yield _wildcard if name == "*" else _field(name)
            continue
        if text[at] == "[":
            end = _closing(text, at)
            yield _bracket(text[at + 1 : end])
            at = end + 1
            continue
        if at:
            raise PathError(f"unexpected {text[at]!r} in path {text!r}")
        name, at = _name(text, at)
        yield _field(name)


def _name(text: str, at: int) -> tuple[str, int]:
    found = _FIELD.match(text, at)
    if found is None:
        raise PathError(f"a field name is missing in path {text!r} at {at}")
    return re.sub(r"\\(.)", r"\1", found.group()), found.end()


def _closing(text: str, at: int) -> int:
    """The bracket that closes the one at ``at``; quotes hide brackets."""
    depth, quote, i = 0, "", at
    while i < len(text):
        char = text[i]
        if quote:
            if char == "\\":
                i += 1
            elif char == quote:
                quote = ""
        elif char in "\"'":
            quote = char
        elif char == "[":
            depth += 1
        elif char == "]":
            depth -= 1
            if depth == 0:
                return i
        i += 1
    raise PathError(f"unterminated array in path {text!r}")


def _bracket(inner: str) -> Callable[[Any], Iterator[Any]]:
    inner = inner.strip()
    if inner == "*":
        return _wildcard
    if inner.startswith("?(") and inner.endswith(")"):
        return _filter(inner[2:-1])
    parts = _split(inner)
    if len(parts) > 1:
        steps = [_bracket(part) for part in parts]
        return lambda value: (one for step in steps for one in step(value))
    quoted = _unquoted(inner)
    if quoted is not None:
        return _field(quoted)
    found = _SLICE.fullmatch(inner)
    if found is None or not inner:
        raise PathError(f"invalid array index {inner}")
    return _index(int(inner)) if ":" not in inner else _slice(*found.groups())


def _split(inner: str) -> list[str]:
    return re.findall(r"""(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[^,'"])+""", inner)


def _unquoted(text: str) -> str | None:
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "\"'":
        return re.sub(r"\\(.)", r"\1", text[1:-1])
    return None


def _field(name: str) -> Callable[[Any], Iterator[Any]]:
    def step(value: Any) -> Iterator[Any]:
        if isinstance(value, dict) and name in value:
            yield value[name]

    return step


def _index(at: int) -> Callable[[Any], Iterator[Any]]:
    def step(value: Any) -> Iterator[Any]:
        if isinstance(value, list) and -len(value) <= at < len(value):
            yield value[at]

    return step


def _slice(start: str | None, stop: str | None, stride: str | None) -> Callable[[Any], Iterator[Any]]:
    chosen = slice(int(start) if start else None, int(stop) if stop else None, max(int(stride), 1) if stride else None)
    return lambda value: iter(value[chosen] if isinstance(value, list) else ())


def _wildcard(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        yield from value.values()
    elif isinstance(value, list):
        yield from value


def _descend(value: Any) -> Iterator[Any]:
    waiting, count = [value], 0
    while waiting and count < MAX_RESULTS:
        item = waiting.pop()
        count += 1
        yield item
        waiting.extend(reversed(list(_wildcard(item))))


def _filter(text: str) -> Callable[[Any], Iterator[Any]]:
    one, operator, other = _compared(text)
    left = _operand(one)
    right = _operand(other) if operator else None
    compare = _COMPARE.get(operator)

    def step(value: Any) -> Iterator[Any]:
        for item in value if isinstance(value, list) else ():
            here = left(item)
            if right is None or compare is None:
                matches = bool(here)
            else:
                there = right(item)
                matches = bool(here) and bool(there) and _like(here[0], there[0]) and compare(here[0], there[0])
            if matches:
                yield item

    return step


def _compared(text: str) -> tuple[str, str, str]:
    """The two sides of a comparison and what stands between them; quotes and brackets hide operators."""
    quote, depth = "", 0
    for at, char in enumerate(text):
        if quote:
            quote = "" if char == quote and text[at - 1] != "\\" else quote
        elif char in "\"'":
            quote = char
        elif char in "[]":
            depth += 1 if char == "[" else -1
        elif not depth and char in "=!<>":
            operator = text[at : at + 2] if text[at : at + 2] in _COMPARE else char
            if operator not in _COMPARE:
                raise PathError(f"unrecognized operator in filter {text!r}")
            return text[:at].strip(), operator, text[at + len(operator) :].strip()
    return text.strip(), "", ""


def _operand(text: str) -> Callable[[Any], list[Any]]:
    if text.startswith("@"):
        steps = tuple(_parse(text[1:]))
        return Path(text, steps).find
    literal: Any = _unquoted(text)
    if literal is None:
        literal = {"true": True, "false": False, "null": None}.get(text, text)
    if isinstance(literal, str) and literal is text:
        try:
            literal = float(text) if "." in text else int(text)
        except ValueError:
            raise PathError(f"unrecognized value {text!r} in a filter; quote text") from None
    return lambda _: [literal]


def _like(one: Any, other: Any) -> bool:
    if isinstance(one, bool) or isinstance(other, bool):
        return isinstance(one, bool) and isinstance(other, bool)
    if isinstance(one, int | float) and isinstance(other, int | float):
        return True
    return isinstance(one, str) and isinstance(other, str)


_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}
