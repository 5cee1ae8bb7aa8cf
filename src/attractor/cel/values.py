"""CEL's values as Python has them, equality and order between them, and the errors of evaluation.

``int`` is a Python int checked to 64 bits, ``uint`` is ``Uint``, ``double`` is float; lists, maps and objects are the
JSON values themselves. Lists that merge as sets or maps are ``SetList`` and ``MapList``: their order does not count.
"""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Any


class CelError(ValueError):
    """An expression that has no value, said in cel-go's words; ``cost`` is what it cost to find out."""

    cost: float = 0


class CostExceeded(CelError):
    """An evaluation that was stopped because it cost too much."""


class Uint(int):
    """An unsigned integer."""


@dataclass(frozen=True, slots=True, order=True)
class Duration:
    """A span of time, in nanoseconds."""

    ns: int


@dataclass(frozen=True, slots=True)
class TypeValue:
    """A type as a value: the result of ``type(x)``."""

    name: str


@dataclass(frozen=True, slots=True)
class Optional:
    """A value that may be missing."""

    present: bool
    value: Any = None


NONE = Optional(False)


class SetList(list[Any]):
    """A list whose order does not count."""


class MapList(list[Any]):
    """A list of objects that are told apart by their keys; order does not count."""

    keys: tuple[str, ...] = ()


_NUMBERS = (int, float)
_UNITS = {"ns": 1, "us": 1_000, "µs": 1_000, "μs": 1_000, "ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9}
_DURATION = re.compile(r"(\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h)", re.ASCII)
_TIMESTAMP = re.compile(r"(\d{4}-\d{2}-\d{2})[Tt](\d{2}:\d{2}:\d{2})(\.\d+)?([Zz]|[+-]\d{2}:\d{2})", re.ASCII)


def type_name(value: Any) -> str:
    """The name of a value's type."""
    for kind, name in _TYPE_NAMES:
        if isinstance(value, kind):
            return name
    return str(getattr(type(value), "cel_type", type(value).__name__))


_TYPE_NAMES: tuple[tuple[Any, str], ...] = (
    (bool, "bool"),
    (Uint, "uint"),
    (int, "int"),
    (float, "double"),
    (str, "string"),
    (bytes, "bytes"),
    (list, "list"),
    (dict, "map"),
    (type(None), "null_type"),
    (dt.datetime, "google.protobuf.Timestamp"),
    (Duration, "google.protobuf.Duration"),
    (Optional, "optional_type"),
    (TypeValue, "type"),
)


def equal(left: Any, right: Any) -> bool:
    """CEL's equality: numbers by value, everything else by type and value."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, _NUMBERS) and isinstance(right, _NUMBERS):
        return left == right
    if isinstance(left, list) and isinstance(right, list):
        return _lists_equal(left, right)
    if isinstance(left, dict) and isinstance(right, dict):
        return len(left) == len(right) and all(
            (found := find_key(right, key)) is not _MISSING and equal(value, found) for key, value in left.items()
        )
    return type(left) is type(right) and bool(left == right)


def _lists_equal(left: list[Any], right: list[Any]) -> bool:
    if len(left) != len(right):
        return False
    if isinstance(left, SetList) and isinstance(right, SetList):
        return all(any(equal(item, other) for other in right) for item in left)
    if isinstance(left, MapList) and isinstance(right, MapList):
        return all(any(_same_key(left.keys, item, other) and equal(item, other) for other in right) for item in left)
    return all(equal(a, b) for a, b in zip(left, right, strict=True))


def _same_key(keys: tuple[str, ...], item: Any, other: Any) -> bool:
    return all(equal(item.get(key), other.get(key)) for key in keys)


_MISSING = object()


def find_key(mapping: dict[Any, Any], key: Any) -> Any:
    """A member of a map, or ``MISSING``; true is not one."""
    if isinstance(key, float) and not key.is_integer():
        return _MISSING
    if not isinstance(key, str | int | float):
        raise CelError(f"unsupported key type: {type_name(key)}")
    found = mapping.get(key, _MISSING)
    if found is _MISSING or isinstance(key, str):
        return found
    if isinstance(key, bool) != any(isinstance(known, bool) for known in mapping if known == key):
        return _MISSING
    return found


MISSING = _MISSING


def compare(left: Any, right: Any) -> int:
    """The order of two values: negative, zero or positive; raises where there is none."""
    plain = not isinstance(left, bool) and not isinstance(right, bool)
    comparable = plain and isinstance(left, _NUMBERS) and isinstance(right, _NUMBERS)
    if not comparable and (
        type(left) is not type(right) or not hasattr(left, "__lt__") or isinstance(left, list | dict)
    ):
        raise CelError("no such overload")
    if left is None:
        raise CelError("no such overload")
    return -1 if left < right else 1 if left > right else 0


def checked_int(value: int) -> int:
    """An integer that fits in 64 bits, or an error."""
    if -(2**63) <= value < 2**63:
        return value
    raise CelError("integer overflow")


def checked_uint(value: int) -> Uint:
    """An unsigned integer that fits in 64 bits, or an error."""
    if 0 <= value < 2**64:
        return Uint(value)
    raise CelError("unsigned integer overflow")


def read_duration(text: str) -> Duration:
    """A Go duration: ``1h30m``, ``-1.5s``."""
    sign, body = (-1, text[1:]) if text.startswith("-") else (1, text.removeprefix("+"))
    total, at = Decimal(0), 0
    while at < len(body):
        part = _DURATION.match(body, at)
        if part is None:
            break
        total += Decimal(part.group(1)) * _UNITS[part.group(2)]
        at = part.end()
    if body != "0" and (at != len(body) or not body):
        raise CelError(f'type conversion error from string to google.protobuf.Duration: invalid duration "{text}"')
    return Duration(checked_int(sign * int(total)))


def duration_text(duration: Duration) -> str:
    """A duration in seconds, as CEL's ``string()`` writes it."""
    seconds = Decimal(duration.ns) / 10**9
    text = format(seconds, "f")
    return f"{text.rstrip('0').rstrip('.') if '.' in text else text}s"


def read_timestamp(text: str) -> dt.datetime:
    """An RFC 3339 time (or a date alone), in UTC."""
    found = _TIMESTAMP.fullmatch(text)
    try:
        if found is None:
            day = dt.date.fromisoformat(text)
            return dt.datetime(day.year, day.month, day.day, tzinfo=dt.UTC)
        day_text, clock, fraction, zone = found.groups()
        moment = dt.datetime.fromisoformat(f"{day_text}T{clock}{(fraction or '')[:7]}{zone.upper()}")
        return moment.astimezone(dt.UTC)
    except (ValueError, OverflowError):
        raise CelError("type conversion error from string to google.protobuf.Timestamp") from None


def timestamp_text(moment: dt.datetime) -> str:
    """A time as RFC 3339 writes it."""
    text = moment.strftime("%Y-%m-%dT%H:%M:%S").rjust(19, "0")
    fraction = f".{moment.microsecond:06d}".rstrip("0") if moment.microsecond else ""
    return f"{text}{fraction}Z"


def size_of(value: Any) -> int:
    """The size that counts for cost: characters, octets, items, or one."""
    if isinstance(value, str | bytes | list | dict):
        return len(value)
    if isinstance(value, Optional) and value.present:
        return size_of(value.value)
    return 1
