"""Ages as kubectl prints them: about two or three significant figures.

>>> human_duration(5 * 60 + 7), human_duration(3 * 3600), human_duration(40 * 86400)
('5m7s', '3h', '40d')
"""

from __future__ import annotations

from attractor.objects.timestamps import Moment, TimestampError, parse_time

UNKNOWN, INVALID = "<unknown>", "<invalid>"
_MINUTE, _HOUR, _DAY, _YEAR = 60, 3600, 86400, 365 * 86400


def human_duration(seconds: float) -> str:
    """A duration in words; a clock that is up to two seconds off is forgiven."""
    whole = int(seconds)
    if whole < -1:
        return INVALID
    if whole < 0:
        return "0s"
    if whole < 2 * _MINUTE:
        return f"{whole}s"
    if whole < 10 * _MINUTE:
        return _two(whole, _MINUTE, "m", 1, "s")
    if whole < 3 * _HOUR:
        return f"{whole // _MINUTE}m"
    if whole < 8 * _HOUR:
        return _two(whole, _HOUR, "h", _MINUTE, "m")
    if whole < 2 * _DAY:
        return f"{whole // _HOUR}h"
    if whole < 8 * _DAY:
        return _two(whole, _DAY, "d", _HOUR, "h")
    if whole < 2 * _YEAR:
        return f"{whole // _DAY}d"
    if whole < 8 * _YEAR:
        return _two(whole, _YEAR, "y", _DAY, "d")
    return f"{whole // _YEAR}y"


def _two(seconds: int, unit: int, name: str, smaller: int, smaller_name: str) -> str:
    count, rest = divmod(seconds, unit)
    rest //= smaller
    return f"{count}{name}{rest}{smaller_name}" if rest else f"{count}{name}"


class Clock:
    """The moment at which ages are told."""

    def __init__(self, now: Moment) -> None:
        self._now = now.seconds + now.nanos / 1e9

    def since(self, timestamp: str | None) -> str:
        """How long ago a time was; ``<unknown>`` when there is none."""
        if not timestamp:
            return UNKNOWN
        then = seconds_of(timestamp)
        return INVALID if then is None else human_duration(self._now - then)


def seconds_of(timestamp: str) -> float | None:
    """Seconds since 1970 of a time as objects carry it; None for text that is no time."""
    try:
        moment = parse_time(timestamp)
    except TimestampError:
        return None
    return moment.seconds + moment.nanos / 1e9
