"""The string, list, set and regular-expression libraries that Kubernetes adds to CEL."""

from __future__ import annotations

import itertools
import re
from typing import Any

from attractor.cel.library import (
    STRING_FACTOR,
    first_size,
    function,
    items,
    regex,
    times,
    traversal,
    twice,
    up,
)
from attractor.cel.standard import as_text, double_text
from attractor.cel.values import (
    CelError,
    Duration,
    Uint,
    checked_int,
    checked_uint,
    compare,
    equal,
    type_name,
)
from attractor.schema.patterns import PatternError, compile_pattern

_VERB = re.compile(r"%(?:\.(\d+))?(.)|%$", re.DOTALL)


@function("string.charAt(int): string", size=lambda *_: 1)
def _char_at(text: str, at: int) -> str:
    if not 0 <= at <= len(text):
        raise CelError(f"index out of range: {at}")
    return text[at : at + 1]


@function("string.indexOf(string): int", "string.indexOf(string, int): int", cost=traversal)
def _index_of(text: str, part: str, start: int = 0) -> int:
    if not 0 <= start <= len(text):
        raise CelError(f"index out of range: {start}")
    return text.find(part, start)


@function("string.lastIndexOf(string): int", "string.lastIndexOf(string, int): int", cost=traversal)
def _last_index_of(text: str, part: str, start: int | None = None) -> int:
    if start is None:
        return text.rfind(part)
    if not 0 <= start <= len(text):
        raise CelError(f"index out of range: {start}")
    return text.rfind(part, 0, start + len(part))


def _joined_cost(*sizes: float) -> float:
    return up(sizes[0] * 2 * STRING_FACTOR)


@function("list<string>.join(): string", "list<string>.join(string): string", cost=_joined_cost, size=first_size)
def _join(parts: list[str], separator: str = "") -> str:
    if not all(isinstance(part, str) for part in parts):
        raise CelError("no such overload")
    return separator.join(parts)


@function("string.lowerAscii(): string", cost=traversal, size=first_size)
def _lower(text: str) -> str:
    return re.sub("[A-Z]+", lambda found: found.group().lower(), text)


@function("string.upperAscii(): string", cost=traversal, size=first_size)
def _upper(text: str) -> str:
    return re.sub("[a-z]+", lambda found: found.group().upper(), text)


def _replaced_size(text: float, _old: float, new: float, *_: float) -> float:
    return text + times(text + 1, new)


@function(
    "string.replace(string, string): string",
    "string.replace(string, string, int): string",
    cost=twice,
    size=_replaced_size,
)
def _replace(text: str, old: str, new: str, count: int = -1) -> str:
    return text.replace(old, new, count)


@function("string.split(string): list<string>", "string.split(string, int): list<string>", cost=twice, size=first_size)
def _split(text: str, separator: str, count: int = -1) -> list[str]:
    if count == 0:
        return []
    if not separator:
        parts = list(text)
        return parts if count < 0 or len(parts) <= count else [*parts[: count - 1], "".join(parts[count - 1 :])]
    return text.split(separator, -1 if count < 0 else count - 1)


@function("string.substring(int): string", "string.substring(int, int): string", cost=traversal, size=first_size)
def _substring(text: str, start: int, end: int | None = None) -> str:
    end = len(text) if end is None else end
    for at in (start, end):
        if not 0 <= at <= len(text):
            raise CelError(f"index out of range: {at}")
    if start > end:
        raise CelError(f"invalid substring range. start: {start}, end: {end}")
    return text[start:end]


@function("string.trim(): string", cost=traversal, size=first_size)
def _trim(text: str) -> str:
    return text.strip()


@function("::strings.quote(string): string", cost=traversal, size=lambda size: size * 2 + 2)
def _quote(text: str) -> str:
    escapes = {7: "\\a", 8: "\\b", 12: "\\f", 10: "\\n", 13: "\\r", 9: "\\t", 11: "\\v", 92: "\\\\", 34: '\\"'}
    return f'"{text.translate(escapes)}"'


@function("string.format(list<dyn>): string", cost=traversal, size=lambda text, given: times(text + 1, given + 1) * 64)
def _format(text: str, values: list[Any]) -> str:
    given = iter(values)
    sentinel = object()

    def fill(found: re.Match[str]) -> str:
        precision, verb = found.group(1), found.group(2)
        if verb == "%":
            return "%"
        if (value := next(given, sentinel)) is sentinel:
            raise CelError(f"index {len(values)} out of range")
        return _formatted(value, verb or "", int(precision) if precision else 6)

    return _VERB.sub(fill, text)


def _formatted(value: Any, verb: str, precision: int) -> str:
    whole = isinstance(value, int) and not isinstance(value, bool)
    if precision > 1000:
        raise CelError(f"precision too large: {precision}")
    if verb == "s":
        return _plain(value)
    if verb == "d" and whole:
        return str(int(value))
    if verb in {"f", "e"} and isinstance(value, int | float) and not isinstance(value, bool):
        return f"{float(value):.{precision}{verb}}"
    if verb in {"b", "o", "x", "X"} and (whole or (verb == "b" and isinstance(value, bool))):
        return format(int(value), verb)
    if verb in {"x", "X"} and isinstance(value, str | bytes):
        octets = value.encode() if isinstance(value, str) else value
        return octets.hex().upper() if verb == "X" else octets.hex()
    raise CelError(
        f"error during formatting: unrecognized formatting clause or wrong type for '%{verb}': {type_name(value)}"
    )


def _plain(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, list):
        return f"[{', '.join(_plain(item) for item in value)}]"
    if isinstance(value, dict):
        return (
            f"{{{', '.join(f'{_plain(k)}: {_plain(v)}' for k, v in sorted(value.items(), key=lambda e: str(e[0])))}}}"
        )
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    return double_text(value) if isinstance(value, float) else as_text(value)


@function("string.find(string): string", cost=regex, size=first_size)
def _find(text: str, pattern: str) -> str:
    found = _compiled(pattern).search(text)
    return str(found.group()) if found else ""


@function(
    "string.findAll(string): list<string>", "string.findAll(string, int): list<string>", cost=regex, size=first_size
)
def _find_all(text: str, pattern: str, limit: int = -1) -> list[str]:
    found = [str(match.group()) for match in _compiled(pattern).finditer(text)]
    return found if limit < 0 else found[:limit]


def _compiled(pattern: str) -> Any:
    try:
        return compile_pattern(pattern)
    except PatternError as error:
        raise CelError(f"Illegal regex: {error}") from None


@function("list<A>.isSorted(): bool", cost=items)
def _is_sorted(values: list[Any]) -> bool:
    return all(compare(a, b) <= 0 for a, b in itertools.pairwise(values))


@function(
    "list<int>.sum(): int",
    "list<uint>.sum(): uint",
    "list<double>.sum(): double",
    "list<duration>.sum(): duration",
    cost=items,
)
def _sum(values: list[Any]) -> Any:
    if values and isinstance(values[0], Duration):
        return Duration(checked_int(sum(value.ns for value in values)))
    if values and isinstance(values[0], Uint):
        return checked_uint(sum(values))
    total = sum(values)
    return total if isinstance(total, float) else checked_int(total)


def _extreme(values: list[Any], sign: int, name: str) -> Any:
    if not values:
        raise CelError(f"{name} called on empty list")
    best = values[0]
    for value in values[1:]:
        if compare(value, best) * sign > 0:
            best = value
    return best


@function("list<A>.min(): A", cost=items)
def _min(values: list[Any]) -> Any:
    return _extreme(values, -1, "min")


@function("list<A>.max(): A", cost=items)
def _max(values: list[Any]) -> Any:
    return _extreme(values, 1, "max")


@function("list<A>.indexOf(A): int", cost=items)
def _list_index_of(values: list[Any], wanted: Any) -> int:
    return next((at for at, value in enumerate(values) if equal(value, wanted)), -1)


@function("list<A>.lastIndexOf(A): int", cost=items)
def _list_last_index_of(values: list[Any], wanted: Any) -> int:
    return next((at for at in range(len(values) - 1, -1, -1) if equal(values[at], wanted)), -1)


def _pairs(left: float, right: float) -> float:
    return 1 + times(left, right)


def _all_in(values: list[Any], others: list[Any]) -> bool:
    return all(any(equal(value, other) for other in others) for value in values)


@function("::sets.contains(list<A>, list<A>): bool", cost=_pairs)
def _set_contains(values: list[Any], part: list[Any]) -> bool:
    return _all_in(part, values)


@function("::sets.equivalent(list<A>, list<A>): bool", cost=lambda left, right: 1 + 2 * times(left, right))
def _set_equivalent(left: list[Any], right: list[Any]) -> bool:
    return _all_in(left, right) and _all_in(right, left)


@function("::sets.intersects(list<A>, list<A>): bool", cost=_pairs)
def _set_intersects(left: list[Any], right: list[Any]) -> bool:
    return any(equal(a, b) for a in left for b in right)
