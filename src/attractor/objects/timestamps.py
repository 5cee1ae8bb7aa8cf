"""Times and durations as Kubernetes reads and writes them; no clock is read here.

``Time`` is written in UTC with whole seconds, ``MicroTime`` with six digits of a second, and durations as Go prints
them. Reading is as lenient, and as strict, as Go's ``time.Parse`` and ``time.ParseDuration``, with their messages.

>>> canonical_time("2026-01-01T02:00:00.5+02:00")
'2026-01-01T00:00:00Z'
>>> format_duration(parse_duration("90m"))
'1h30m0s'
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from attractor.objects.numbers import saturated

RFC3339 = "2006-01-02T15:04:05Z07:00"
RFC3339_MICRO = "2006-01-02T15:04:05.000000Z07:00"

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_ZERO_TIME_S = -62135596800  # 0001-01-01T00:00:00Z, which Go writes as null
_PLAIN = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)Z", re.ASCII)


class TimestampError(ValueError):
    """The text is not a time or a duration; the message is Go's."""


class Moment(NamedTuple):
    """Seconds since 1970 and nanoseconds after them; covers the years 0 to 9999."""

    seconds: int
    nanos: int = 0

    @property
    def is_zero(self) -> bool:
        """Whether this is Go's zero time, which is written as null."""
        return self.seconds == _ZERO_TIME_S and self.nanos == 0

    @classmethod
    def of(cls, when: datetime) -> Moment:
        """The moment of an aware datetime."""
        since = when - _EPOCH
        return cls(since.days * 86400 + since.seconds, since.microseconds * 1000)

    def datetime(self) -> datetime:
        """The moment as an aware datetime, to the microsecond; raises ``OverflowError`` before the year 1."""
        return _EPOCH + timedelta(seconds=self.seconds, microseconds=self.nanos // 1000)


def parse_time(text: str) -> Moment:
    """Read RFC 3339 as ``metav1.Time`` does; raises ``TimestampError``."""
    return _Reader(text, RFC3339).read(fraction_digits=0)


def parse_micro_time(text: str) -> Moment:
    """Read RFC 3339 with exactly six digits of a second, as ``metav1.MicroTime`` does; raises ``TimestampError``."""
    return _Reader(text, RFC3339_MICRO).read(fraction_digits=6)


def format_time(when: Moment | datetime | float) -> str:
    """Write a time with whole seconds."""
    return _civil(_moment(when).seconds) + "Z"


def format_micro_time(when: Moment | datetime | float) -> str:
    """Write a time with microseconds."""
    moment = _moment(when)
    return f"{_civil(moment.seconds)}.{moment.nanos // 1000:06d}Z"


def canonical_time(text: str) -> str | None:
    """What Kubernetes writes back for a time it read; None (null) for Go's zero time."""
    moment = parse_time(text)
    if moment.is_zero:
        return None
    return text if len(text) == 20 and text[19] == "Z" else format_time(moment)


def canonical_micro_time(text: str) -> str | None:
    """What Kubernetes writes back for a micro time it read; None (null) for Go's zero time."""
    moment = parse_micro_time(text)
    return None if moment.is_zero else format_micro_time(moment)


def _moment(when: Moment | datetime | float) -> Moment:
    if isinstance(when, Moment):
        return when
    if isinstance(when, datetime):
        return Moment.of(when)
    seconds = int(when // 1)
    return Moment(seconds, int((when - seconds) * 1_000_000_000))


class _Reader:
    """Go's ``time.Parse`` for the two layouts that Kubernetes uses, element by element."""

    def __init__(self, text: str, layout: str) -> None:
        self.text = text
        self.layout = layout
        self.rest = text

    def read(self, fraction_digits: int) -> Moment:
        plain = _PLAIN.fullmatch(self.text) if not fraction_digits else None
        if plain is not None:
            year, month, day, hour, minute, second = map(int, plain.groups())
            if 1 <= month <= 12 and 1 <= day <= _days_in(year, month) and hour < 24 and minute < 60 and second < 60:
                return Moment(_days(year, month, day) * 86400 + hour * 3600 + minute * 60 + second)
        return self._read_slowly(fraction_digits)

    def _read_slowly(self, fraction_digits: int) -> Moment:
        year = self._number("2006", 4, 4)
        self._literal("-")
        month = self._number("01", 2, 2)
        if not 1 <= month <= 12:
            raise self._out_of_range("month")
        self._literal("-")
        day = self._number("02", 2, 2)
        self._literal("T")
        hour = self._number("15", 1, 2)
        if hour > 23:
            raise self._out_of_range("hour")
        self._literal(":")
        minute = self._number("04", 2, 2)
        if minute > 59:
            raise self._out_of_range("minute")
        self._literal(":")
        second = self._number("05", 2, 2)
        if second > 59:
            raise self._out_of_range("second")
        nanos = self._fraction(fraction_digits)
        offset = self._offset()
        if self.rest:
            raise TimestampError(f"parsing time {_quote(self.text)}: extra text: {_quote(self.rest)}")
        if not 1 <= day <= _days_in(year, month):
            raise self._out_of_range("day")
        return Moment(_days(year, month, day) * 86400 + hour * 3600 + minute * 60 + second - offset, nanos)

    def _literal(self, literal: str) -> None:
        if not self.rest.startswith(literal):
            raise self._unreadable(self.rest, literal)
        self.rest = self.rest[len(literal) :]

    def _number(self, element: str, least: int, most: int) -> int:
        found = re.match(f"[0-9]{{{least},{most}}}", self.rest)
        if found is None:
            raise self._unreadable(self.rest, element)
        self.rest = self.rest[found.end() :]
        return int(found.group())

    def _fraction(self, digits: int) -> int:
        if digits == 0:  # allowed though the layout has none
            found = re.match(r"[.,]([0-9]+)", self.rest)
            if found is None:
                return 0
        else:
            found = re.match(rf"[.,]([0-9]{{{digits}}})", self.rest)
            if found is None:
                raise self._unreadable(self.rest, "." + "0" * digits)
        self.rest = self.rest[found.end() :]
        return int(found.group(1)[:9].ljust(9, "0"))

    def _offset(self) -> int:
        if self.rest.startswith("Z"):
            self.rest = self.rest[1:]
            return 0
        found = re.match(r"([+-])([0-9]{2}):([0-9]{2})", self.rest)
        if found is None:
            raise self._unreadable(self.rest, "Z07:00")
        hours, minutes = int(found.group(2)), int(found.group(3))
        self.rest = self.rest[found.end() :]
        if hours > 24:
            raise self._out_of_range("time zone offset hour")
        if minutes > 60:
            raise self._out_of_range("time zone offset minute")
        return (hours * 3600 + minutes * 60) * (-1 if found.group(1) == "-" else 1)

    def _unreadable(self, value: str, element: str) -> TimestampError:
        return TimestampError(
            f"parsing time {_quote(self.text)} as {_quote(self.layout)}: "
            f"cannot parse {_quote(value)} as {_quote(element)}"
        )

    def _out_of_range(self, what: str) -> TimestampError:
        return TimestampError(f"parsing time {_quote(self.text)}: {what} out of range")


def _quote(text: str) -> str:
    shown = []
    for character in text:
        if character in {'"', "\\"}:
            shown.append("\\" + character)
        elif character < " " or character > "~":
            shown.extend(f"\\x{byte:02x}" for byte in character.encode("utf-8", "surrogatepass"))
        else:
            shown.append(character)
    return f'"{"".join(shown)}"'


def _days_in(year: int, month: int) -> int:
    if month == 2:
        return 29 if year % 4 == 0 and (year % 100 != 0 or year % 400 == 0) else 28
    return 30 if month in {4, 6, 9, 11} else 31


def _days(year: int, month: int, day: int) -> int:
    """Days from 1970-01-01 in the proleptic Gregorian calendar; years start in March, so the leap day is last."""
    shifted = year - (month <= 2)
    era, of_era = divmod(shifted, 400)
    of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    return era * 146097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719468


def _civil(seconds: int) -> str:
    days, of_day = divmod(seconds, 86400)
    era, of_era = divmod(days + 719468, 146097)
    year_of_era = (of_era - of_era // 1460 + of_era // 36524 - of_era // 146096) // 365
    of_year = of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    shifted = (5 * of_year + 2) // 153
    day = of_year - (153 * shifted + 2) // 5 + 1
    month = shifted + 3 if shifted < 10 else shifted - 9
    year = year_of_era + era * 400 + (month <= 2)
    hour, minute, second = of_day // 3600, of_day // 60 % 60, of_day % 60
    return f"{year:04d}-{month:02d}-{day:02d}T{hour:02d}:{minute:02d}:{second:02d}"


_UNITS_NS = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,
    "μs": 1_000,
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "m": 60_000_000_000,
    "h": 3_600_000_000_000,
}
_PART = re.compile(r"([0-9]*)(?:(\.)([0-9]*))?([^0-9.]*)", re.ASCII)
_DURATION_MAX_NS = 2**63
_FRACTION_DIGITS = 18
"""Further ones are less than a nanosecond of an hour."""


def parse_duration(text: str) -> int:
    """Nanoseconds of a duration such as ``1h15m30.5s``; raises ``TimestampError`` in Go's words."""
    invalid = TimestampError(f"time: invalid duration {_quote(text)}")
    rest = text[1:] if text[:1] in {"+", "-"} else text
    if rest == "0":
        return 0
    if not rest:
        raise invalid
    total = at = 0
    while at < len(rest):
        found = _PART.match(rest, at)
        assert found is not None, "every part of the pattern is optional"
        whole, _, fraction, unit = found.groups()
        if not whole and not fraction:
            raise invalid
        if not unit:
            raise TimestampError(f"time: missing unit in duration {_quote(text)}")
        if unit not in _UNITS_NS:
            raise TimestampError(f"time: unknown unit {_quote(unit)} in duration {_quote(text)}")
        total += saturated(whole or "0") * _UNITS_NS[unit]
        if fraction:
            seen = fraction[:_FRACTION_DIGITS]
            total += int(seen) * _UNITS_NS[unit] // 10 ** len(seen)
        if total > _DURATION_MAX_NS:
            raise invalid
        at = found.end()
    if text[0] == "-":
        return -total
    if total > _DURATION_MAX_NS - 1:
        raise invalid
    return total


def format_duration(nanos: int) -> str:
    """Write a duration as Go does: ``1h0m0s``, ``1.5s``, ``100ms``, ``0s``."""
    if nanos == 0:
        return "0s"
    sign, amount = ("-", -nanos) if nanos < 0 else ("", nanos)
    if amount < 1_000_000_000:
        unit = next(name for name in ("ms", "µs", "ns") if amount >= _UNITS_NS[name])
        return f"{sign}{_trimmed(amount, _UNITS_NS[unit])}{unit}"
    minutes, rest = divmod(amount, _UNITS_NS["m"])
    shown = f"{_trimmed(rest, _UNITS_NS['s'])}s"
    if minutes:
        hours, minutes = divmod(minutes, 60)
        shown = f"{hours}h{minutes}m{shown}" if hours else f"{minutes}m{shown}"
    return sign + shown


def _trimmed(amount: int, unit: int) -> str:
    whole, fraction = divmod(amount, unit)
    if not fraction:
        return str(whole)
    return f"{whole}.{str(fraction).rjust(len(str(unit)) - 1, '0').rstrip('0')}"
