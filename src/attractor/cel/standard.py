"""CEL's own functions and operators: arithmetic, comparison, conversion, text, time."""

from __future__ import annotations

import datetime as dt
import math
import zoneinfo
from typing import TYPE_CHECKING, Any

from attractor.cel.library import (
    STRING_FACTOR,
    first_size,
    function,
    last_traversal,
    regex,
    times,
    traversal,
    up,
)
from attractor.cel.values import (
    MISSING,
    CelError,
    Duration,
    MapList,
    SetList,
    TypeValue,
    Uint,
    checked_int,
    checked_uint,
    compare,
    duration_text,
    equal,
    find_key,
    read_duration,
    read_timestamp,
    timestamp_text,
    type_name,
)
from attractor.objects.numbers import saturated
from attractor.schema.patterns import PatternError, matcher

if TYPE_CHECKING:
    from collections.abc import Callable


def _equality_cost(left: float, right: float) -> float:
    return up(min(left, right) * STRING_FACTOR)


def _concatenation_cost(left: float, right: float) -> float:
    return up((left + right) * STRING_FACTOR)


def _sum_size(left: float, right: float) -> float:
    return left + right


def _product(left: float, right: float) -> float:
    return times(up(left * STRING_FACTOR), up(right * STRING_FACTOR))


@function("_==_(A, A): bool", cost=_equality_cost)
def _equals(left: Any, right: Any) -> bool:
    return equal(left, right)


@function("_!=_(A, A): bool", cost=_equality_cost)
def _differs(left: Any, right: Any) -> bool:
    return not equal(left, right)


def _ordering(operator: str) -> None:
    numbers = [f"_{operator}_({a}, {b}): bool" for a in ("int", "uint", "double") for b in ("int", "uint", "double")]
    others = [f"_{operator}_({kind}, {kind}): bool" for kind in ("bool", "timestamp", "duration")]
    texts = [f"_{operator}_({kind}, {kind}): bool" for kind in ("string", "bytes")]
    tests: dict[str, Callable[[int], bool]] = {
        "<": lambda order: order < 0,
        "<=": lambda order: order <= 0,
        ">": lambda order: order > 0,
        ">=": lambda order: order >= 0,
    }
    test = tests[operator]

    def ordered(left: Any, right: Any) -> bool:
        if isinstance(left, bool) and isinstance(right, bool):
            return test(int(left) - int(right))
        return test(compare(left, right))

    function(*numbers, *others)(ordered)
    function(*texts, cost=_equality_cost)(ordered)


for _operator in ("<", "<=", ">", ">="):
    _ordering(_operator)


@function("_+_(int, int): int", "_+_(uint, uint): uint", "_+_(double, double): double")
@function("_+_(timestamp, duration): timestamp", "_+_(duration, timestamp): timestamp")
@function("_+_(duration, duration): duration")
def _add(left: Any, right: Any) -> Any:
    if isinstance(left, Uint) and isinstance(right, Uint):
        return checked_uint(int(left) + int(right))
    if _both(int, left, right):
        return checked_int(left + right)
    if _both(float, left, right):
        return left + right
    if isinstance(left, Duration) and isinstance(right, Duration):
        return Duration(checked_int(left.ns + right.ns))
    if isinstance(left, Duration):
        left, right = right, left
    if isinstance(left, dt.datetime) and isinstance(right, Duration):
        return _shifted(left, right.ns)
    raise CelError("no such overload")


def _both(kind: type, left: Any, right: Any) -> bool:
    return type(left) is kind and type(right) is kind


def _shifted(moment: dt.datetime, ns: int) -> dt.datetime:
    try:
        return moment + dt.timedelta(microseconds=ns // 1000)
    except OverflowError:
        raise CelError("timestamp overflow") from None


@function("_+_(string, string): string", "_+_(bytes, bytes): bytes", cost=_concatenation_cost, size=_sum_size)
def _concatenate(left: Any, right: Any) -> Any:
    return left + right


@function("_+_(list<A>, list<A>): list<A>", size=_sum_size)
def _join_lists(left: list[Any], right: list[Any]) -> list[Any]:
    if isinstance(left, SetList):
        return SetList([*left, *(item for item in right if not any(equal(item, known) for known in left))])
    if isinstance(left, MapList):
        return _merge_map_lists(left, right)
    return [*left, *right]


def _merge_map_lists(left: MapList, right: list[Any]) -> MapList:
    merged = MapList(left)
    merged.keys = left.keys
    for item in right:
        for at, known in enumerate(merged):
            if all(equal(item.get(key), known.get(key)) for key in left.keys):
                merged[at] = item
                break
        else:
            merged.append(item)
    return merged


@function("_-_(int, int): int", "_-_(uint, uint): uint", "_-_(double, double): double")
@function("_-_(timestamp, timestamp): duration", "_-_(timestamp, duration): timestamp")
@function("_-_(duration, duration): duration")
def _subtract(left: Any, right: Any) -> Any:
    if isinstance(left, Uint) and isinstance(right, Uint):
        return checked_uint(int(left) - int(right))
    if _both(int, left, right):
        return checked_int(left - right)
    if _both(float, left, right):
        return left - right
    if isinstance(left, Duration) and isinstance(right, Duration):
        return Duration(checked_int(left.ns - right.ns))
    if isinstance(left, dt.datetime) and isinstance(right, dt.datetime):
        return Duration((left - right) // dt.timedelta(microseconds=1) * 1000)
    if isinstance(left, dt.datetime) and isinstance(right, Duration):
        return _shifted(left, -right.ns)
    raise CelError("no such overload")


@function("_*_(int, int): int", "_*_(uint, uint): uint", "_*_(double, double): double")
def _multiply(left: Any, right: Any) -> Any:
    if isinstance(left, Uint) and isinstance(right, Uint):
        return checked_uint(int(left) * int(right))
    if _both(int, left, right):
        return checked_int(left * right)
    if _both(float, left, right):
        return left * right
    raise CelError("no such overload")


@function("_/_(int, int): int", "_/_(uint, uint): uint", "_/_(double, double): double")
def _divide(left: Any, right: Any) -> Any:
    if _both(float, left, right):
        if right == 0:
            return (
                math.nan if left == 0 or math.isnan(left) else math.copysign(math.inf, left) * math.copysign(1, right)
            )
        return left / right
    if isinstance(left, float) or isinstance(right, float) or type(left) is not type(right):
        raise CelError("no such overload")
    if right == 0:
        raise CelError("division by zero")
    quotient = abs(int(left)) // abs(int(right)) * (1 if (left < 0) == (right < 0) else -1)
    return checked_uint(quotient) if isinstance(left, Uint) else checked_int(quotient)


@function("_%_(int, int): int", "_%_(uint, uint): uint")
def _modulo(left: Any, right: Any) -> Any:
    if type(left) is not type(right) or isinstance(left, float | bool):
        raise CelError("no such overload")
    if right == 0:
        raise CelError("modulus by zero")
    rest = abs(int(left)) % abs(int(right)) * (-1 if left < 0 else 1)
    return Uint(rest) if isinstance(left, Uint) else rest


@function("-_(int): int", "-_(double): double")
def _negate(value: Any) -> Any:
    if isinstance(value, bool | Uint) or not isinstance(value, int | float):
        raise CelError("no such overload")
    return -value if isinstance(value, float) else checked_int(-value)


@function("@in(A, list<A>): bool", cost=lambda _, size: size)
def _in_list(value: Any, items: list[Any]) -> bool:
    return any(equal(value, item) for item in items)


@function("@in(A, map<A, B>): bool")
def _in_map(value: Any, mapping: dict[Any, Any]) -> bool:
    return find_key(mapping, value) is not MISSING


@function("size(string): int", "size(bytes): int", "size(list<A>): int", "size(map<A, B>): int")
@function("string.size(): int", "bytes.size(): int", "list<A>.size(): int", "map<A, B>.size(): int")
def _size(value: Any) -> int:
    if isinstance(value, str | bytes | list | dict):
        return len(value)
    raise CelError("no such overload")


@function("string.contains(string): bool", cost=_product)
def _contains(text: str, part: str) -> bool:
    return part in text


@function("string.startsWith(string): bool", cost=last_traversal)
def _starts_with(text: str, part: str) -> bool:
    return text.startswith(part)


@function("string.endsWith(string): bool", cost=last_traversal)
def _ends_with(text: str, part: str) -> bool:
    return text.endswith(part)


@function("string.matches(string): bool", "matches(string, string): bool", cost=regex)
def _matches(text: str, pattern: str) -> bool:
    try:
        return matcher(pattern)(text)
    except PatternError as error:
        raise CelError(str(error)) from None


def _conversion_error(value: Any, wanted: str) -> CelError:
    return CelError(f"type conversion error from {type_name(value)} to '{wanted}'")


@function("int(int): int", "int(uint): int", "int(double): int", "int(timestamp): int", "int(string): int")
def _int(value: Any) -> int:
    if isinstance(value, bool):
        raise _conversion_error(value, "int")
    if isinstance(value, int):
        return checked_int(int(value))
    if isinstance(value, float):
        if not math.isfinite(value) or not -(2.0**63) < value < 2.0**63:
            raise CelError("integer overflow")
        return int(value)
    if isinstance(value, dt.datetime):
        return math.floor(value.timestamp())
    try:
        if isinstance(value, str) and "_" not in value and value == value.strip():
            return checked_int(saturated(value))
    except ValueError:
        pass
    raise _conversion_error(value, "int")


@function("uint(uint): uint", "uint(int): uint", "uint(double): uint", "uint(string): uint")
def _uint(value: Any) -> Uint:
    if isinstance(value, bool):
        raise _conversion_error(value, "uint")
    if isinstance(value, float):
        if not math.isfinite(value):
            raise CelError("unsigned integer overflow")
        return checked_uint(int(value))
    if isinstance(value, int):
        return checked_uint(int(value))
    if isinstance(value, str) and value.isascii() and value.isdigit():
        return checked_uint(saturated(value))
    raise _conversion_error(value, "uint")


@function("double(double): double", "double(int): double", "double(uint): double", "double(string): double")
def _double(value: Any) -> float:
    try:
        if isinstance(value, int | float | str) and not isinstance(value, bool) and "_" not in str(value):
            return float(value)
    except ValueError:
        pass
    raise _conversion_error(value, "double")


@function("bool(bool): bool", "bool(string): bool")
def _bool(value: Any) -> bool:
    known = {"true": True, "True": True, "TRUE": True, "t": True, "1": True}
    known |= {"false": False, "False": False, "FALSE": False, "f": False, "0": False}
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value in known:
        return known[value]
    raise _conversion_error(value, "bool")


@function("string(string): string", "string(bool): string", "string(int): string", "string(uint): string")
@function("string(double): string", "string(timestamp): string", "string(duration): string")
def as_text(value: Any) -> str:
    """What ``string()`` makes of a value."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, float):
        return double_text(value)
    if isinstance(value, dt.datetime):
        return timestamp_text(value)
    if isinstance(value, Duration):
        return duration_text(value)
    raise _conversion_error(value, "string")


@function("string(bytes): string", cost=traversal, size=first_size)
def _text_of_bytes(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise CelError("invalid UTF-8 in bytes, cannot convert to string") from None


def double_text(value: float) -> str:
    """A double as Go's ``%g`` writes it."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    if value.is_integer() and abs(value) < 1e21:
        return str(int(value))
    return repr(value)


@function("bytes(bytes): bytes", "bytes(string): bytes", cost=traversal, size=lambda size: size * 4)
def _bytes(value: Any) -> bytes:
    return value.encode() if isinstance(value, str) else bytes(value)


@function("timestamp(timestamp): timestamp", "timestamp(string): timestamp", "timestamp(int): timestamp")
def _timestamp(value: Any) -> dt.datetime:
    if isinstance(value, dt.datetime):
        return value
    if isinstance(value, str):
        return read_timestamp(value)
    try:
        return dt.datetime.fromtimestamp(value, dt.UTC)
    except (ValueError, OverflowError, OSError):
        raise CelError("timestamp overflow") from None


@function("duration(duration): duration", "duration(string): duration", "duration(int): duration")
def _duration(value: Any) -> Duration:
    if isinstance(value, Duration):
        return value
    return read_duration(value) if isinstance(value, str) else Duration(checked_int(int(value) * 10**9))


@function("type(A): type")
def _type(value: Any) -> TypeValue:
    return TypeValue(type_name(value))


@function("dyn(A): dyn")
def _dyn(value: Any) -> Any:
    return value


def _in_zone(moment: dt.datetime, zone: str) -> dt.datetime:
    try:
        if zone[:1] in "+-" or zone[:1].isdigit():
            hours, _, minutes = zone.lstrip("+-").partition(":")
            offset = dt.timedelta(hours=int(hours), minutes=int(minutes))
            return moment.astimezone(dt.timezone(-offset if zone.startswith("-") else offset))
        return moment.astimezone(zoneinfo.ZoneInfo(zone))
    except (ValueError, OSError, zoneinfo.ZoneInfoNotFoundError):
        raise CelError(f"unknown time zone {zone}") from None


_PARTS: dict[str, Any] = {
    "getFullYear": lambda t: t.year,
    "getMonth": lambda t: t.month - 1,
    "getDayOfYear": lambda t: t.timetuple().tm_yday - 1,
    "getDayOfMonth": lambda t: t.day - 1,
    "getDate": lambda t: t.day,
    "getDayOfWeek": lambda t: t.isoweekday() % 7,
    "getHours": lambda t: t.hour,
    "getMinutes": lambda t: t.minute,
    "getSeconds": lambda t: t.second,
    "getMilliseconds": lambda t: t.microsecond // 1000,
}
_SPANS = {"getHours": 3600 * 10**9, "getMinutes": 60 * 10**9, "getSeconds": 10**9, "getMilliseconds": 10**6}


def _register_parts() -> None:
    for name, part in _PARTS.items():
        function(f"timestamp.{name}(): int")(part)
        function(f"timestamp.{name}(string): int")(lambda t, zone, part=part: part(_in_zone(t, zone)))
    for name, unit in _SPANS.items():
        function(f"duration.{name}(): int")(
            lambda d, unit=unit, name=name: int(d.ns / unit) % 1000 if name == "getMilliseconds" else int(d.ns / unit)
        )


_register_parts()
