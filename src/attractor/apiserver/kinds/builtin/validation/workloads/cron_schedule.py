"""Validation of cron schedules, in the words of the parser that Kubernetes uses.

>>> schedule_error("*/5 * * * *"), schedule_error("bogus")
('', 'expected exactly 5 fields, found 1: [bogus]')
"""

from __future__ import annotations

import re
import zoneinfo
from functools import cache
from typing import NamedTuple

from attractor.objects.go_wording import not_parsed
from attractor.objects.numbers import saturated

_DESCRIPTORS = frozenset(("@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"))
_MONTHS = {
    name: number
    for number, name in enumerate(
        ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"], 1
    )
}
_DAYS = {name: number for number, name in enumerate(["sun", "mon", "tue", "wed", "thu", "fri", "sat"])}


class _Bounds(NamedTuple):
    low: int
    high: int
    names: dict[str, int]


_FIELDS = (
    _Bounds(0, 59, {}),
    _Bounds(0, 23, {}),
    _Bounds(1, 31, {}),
    _Bounds(1, 12, _MONTHS),
    _Bounds(0, 6, _DAYS),
)


class _Unreadable(Exception):
    """Why the schedule cannot be understood."""


def schedule_error(schedule: str) -> str:
    """Why the schedule cannot be understood; empty when it can."""
    if schedule.startswith("@"):
        return _descriptor_error(schedule)
    fields = schedule.split()
    if len(fields) != len(_FIELDS):
        return f"expected exactly 5 fields, found {len(fields)}: [{' '.join(fields)}]"
    try:
        for field, bounds in zip(fields, _FIELDS, strict=True):
            for part in filter(None, field.split(",")):
                _check_range(part, bounds)
    except _Unreadable as error:
        return str(error)
    return ""


def _descriptor_error(schedule: str) -> str:
    if schedule in _DESCRIPTORS:
        return ""
    every = schedule.removeprefix("@every ")
    if every != schedule:
        if re.fullmatch(r"([0-9]+(\.[0-9]*)?(ns|us|µs|ms|s|m|h))+", every):
            return ""
        return f'failed to parse duration {schedule}: time: invalid duration "{every}"'
    return f"unrecognized descriptor: {schedule}"


def _check_range(text: str, bounds: _Bounds) -> None:
    span, *steps = text.split("/")
    if len(steps) > 1:
        raise _Unreadable(f"too many slashes: {text}")
    ends = span.split("-")
    if ends[0] in {"*", "?"}:
        low, high = bounds.low, bounds.high
    else:
        if len(ends) > 2:
            raise _Unreadable(f"too many hyphens: {text}")
        low = _number(ends[0], bounds)
        high = _number(ends[1], bounds) if len(ends) == 2 else (bounds.high if steps else low)
    step = _plain_number(steps[0]) if steps else 1
    if low < bounds.low:
        raise _Unreadable(f"beginning of range ({low}) below minimum ({bounds.low}): {text}")
    if high > bounds.high:
        raise _Unreadable(f"end of range ({high}) above maximum ({bounds.high}): {text}")
    if low > high:
        raise _Unreadable(f"beginning of range ({low}) beyond end of range ({high}): {text}")
    if step == 0:
        raise _Unreadable(f"step of range should be a positive number: {text}")


def _number(text: str, bounds: _Bounds) -> int:
    named = bounds.names.get(text.lower())
    return _plain_number(text) if named is None else named


def _plain_number(text: str) -> int:
    if re.fullmatch("[+-]?[0-9]+", text, re.ASCII) is None:
        raise _Unreadable(f"failed to parse int from {text}: {not_parsed('Atoi', text)}")
    number = saturated(text)
    if number < 0:
        raise _Unreadable(f"negative number ({number}) not allowed: {text}")
    return number


def time_zone_error(zone: str) -> str:
    """Why a time zone is none; empty when it is one, or when this system knows no zones to compare with.

    >>> time_zone_error("Nowhere/X"), time_zone_error("UTC")
    ('unknown time zone Nowhere/X', '')
    """
    if not zone:
        return "timeZone must be nil or non-empty string"
    if zone.lower() == "local":
        return "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"
    known = _zones()
    return f"unknown time zone {zone}" if known and zone not in known else ""


@cache
def _zones() -> frozenset[str]:
    return frozenset(zoneinfo.available_timezones())
