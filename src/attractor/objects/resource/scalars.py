"""Scalars as Kubernetes writes them: durations, times with microseconds, quantities, int-or-string."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Annotated, TypeAlias

from msgspec import Meta

_UNIT_US = {"ns": 0.001, "us": 1, "µs": 1, "μs": 1, "ms": 1_000, "s": 1_000_000, "m": 60_000_000, "h": 3_600_000_000}
_DECIMAL = r"(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))"
_PART = re.compile(r"(\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h)")


class Duration(timedelta):
    """A span of time that reads and writes Go's spelling: ``1h30m0s``, ``1.5s``, ``300ms``.

    >>> Duration.parse("1h30m").total_seconds(), str(Duration(seconds=5400)), str(Duration(milliseconds=300))
    (5400.0, '1h30m0s', '300ms')
    """

    @classmethod
    def parse(cls, text: str) -> Duration:
        """Read what Go's ``time.ParseDuration`` reads; ValueError for anything else."""
        sign, body = (-1, text[1:]) if text.startswith("-") else (1, text.removeprefix("+"))
        if body == "0":
            return cls()
        parts = _PART.findall(body)
        if not parts or "".join(number + unit for number, unit in parts) != body:
            raise ValueError(f"{text!r} is no duration; write it as in 1h30m, 10s or 300ms")
        return cls(microseconds=sign * sum(float(number) * _UNIT_US[unit] for number, unit in parts))

    @classmethod
    def of(cls, span: timedelta) -> Duration:
        """A duration as long as another span of time."""
        return cls(days=span.days, seconds=span.seconds, microseconds=span.microseconds)

    def __str__(self) -> str:
        total_us = self // timedelta(microseconds=1)
        sign, total_us = ("-", -total_us) if total_us < 0 else ("", total_us)
        if total_us == 0:
            return "0s"
        if total_us < 1_000_000:
            number, unit = (total_us, "µs") if total_us < 1_000 else (total_us / 1_000, "ms")
            return f"{sign}{number:g}{unit}"
        minutes, rest_us = divmod(total_us, 60_000_000)
        hours, minutes = divmod(minutes, 60)
        seconds = f"{rest_us / 1_000_000:.6f}".rstrip("0").rstrip(".")
        return sign + (f"{hours}h" if hours else "") + (f"{minutes}m" if hours or minutes else "") + f"{seconds}s"


class MicroTime(datetime):
    """A time that is written with microseconds, always: ``2026-01-31T08:00:00.000000Z``."""

    @classmethod
    def parse(cls, text: str) -> MicroTime:
        """Read RFC 3339; ValueError when it has no time zone or is no time."""
        return cls.of(datetime.fromisoformat(text))

    @classmethod
    def of(cls, time: datetime) -> MicroTime:
        """The same instant; ValueError for a time without a zone."""
        if time.tzinfo is None:
            raise ValueError(f"{time.isoformat()} has no time zone")
        at = time.astimezone(UTC)
        return cls(at.year, at.month, at.day, at.hour, at.minute, at.second, at.microsecond, tzinfo=UTC)

    def __str__(self) -> str:
        return self.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


QUANTITY_PATTERN = rf"^(\+|-)?{_DECIMAL}(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?{_DECIMAL}))?$"
"""What a quantity looks like when it is a text."""

IntOrString: TypeAlias = Annotated[int | str, Meta(extra_json_schema={"x-kubernetes-int-or-string": True})]
"""A number or a text, such as a port or a percentage."""

Quantity: TypeAlias = Annotated[
    int | float | str,
    Meta(
        extra_json_schema={
            "x-kubernetes-int-or-string": True,
            "pattern": QUANTITY_PATTERN,
        }
    ),
]
"""An amount such as ``500m`` or ``1Gi``, kept as it was written."""
