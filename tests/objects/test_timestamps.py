"""Times and durations against Go's words and a datetime oracle."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attractor.objects.timestamps import (
    Moment,
    TimestampError,
    canonical_micro_time,
    canonical_time,
    format_duration,
    format_micro_time,
    format_time,
    parse_duration,
    parse_micro_time,
    parse_time,
)

AS = 'as "2006-01-02T15:04:05Z07:00"'
ZONES = st.integers(-23 * 60, 23 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
MOMENTS = st.datetimes(datetime(2, 1, 2), datetime(9998, 12, 30), timezones=ZONES)


@given(MOMENTS)
def test_times_agree_with_datetime(when: datetime) -> None:
    utc = when.astimezone(UTC)
    text = when.isoformat(timespec="microseconds")
    moment = parse_micro_time(text)
    assert moment == parse_time(text) == Moment.of(when)
    assert moment.datetime() == when
    assert format_micro_time(when) == canonical_micro_time(text) == utc.strftime("%Y-%m-%dT%H:%M:%S.%fZ").zfill(27)
    assert format_time(when) == canonical_time(text) == utc.strftime("%Y-%m-%dT%H:%M:%SZ").zfill(20)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z"),
        ("2026-01-01T00:00:00.999Z", "2026-01-01T00:00:00Z"),
        ("2026-01-01T00:00:00,5Z", "2026-01-01T00:00:00Z"),
        ("2026-01-01T02:00:00+02:00", "2026-01-01T00:00:00Z"),
        ("2026-01-01T1:00:00Z", "2026-01-01T01:00:00Z"),
        ("0001-01-01T00:00:00Z", None),
        ("2024-02-29T23:59:59Z", "2024-02-29T23:59:59Z"),
        ("0000-01-01T00:00:00Z", "0000-01-01T00:00:00Z"),
    ],
)
def test_times_are_read_as_leniently_as_go_reads_them(text: str, expected: str | None) -> None:
    assert canonical_time(text) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("yesterday", f'parsing time "yesterday" {AS}: cannot parse "yesterday" as "2006"'),
        ("", f'parsing time "" {AS}: cannot parse "" as "2006"'),
        ("2026-01-01", f'parsing time "2026-01-01" {AS}: cannot parse "" as "T"'),
        ("2026-01-01 00:00:00Z", f'parsing time "2026-01-01 00:00:00Z" {AS}: cannot parse " 00:00:00Z" as "T"'),
        ("2026-13-01T00:00:00Z", 'parsing time "2026-13-01T00:00:00Z": month out of range'),
        ("2025-02-29T00:00:00Z", 'parsing time "2025-02-29T00:00:00Z": day out of range'),
        ("2026-01-01T24:00:00Z", 'parsing time "2026-01-01T24:00:00Z": hour out of range'),
        ("2026-01-01T00:60:00Z", 'parsing time "2026-01-01T00:60:00Z": minute out of range'),
        ("2026-01-01T00:00:60Z", 'parsing time "2026-01-01T00:00:60Z": second out of range'),
        ("2026-01-01T00:00:00", f'parsing time "2026-01-01T00:00:00" {AS}: cannot parse "" as "Z07:00"'),
        ("2026-01-01T00:00:00Zx", 'parsing time "2026-01-01T00:00:00Zx": extra text: "x"'),
        ("2026-01-01T00:00:00+25:00", 'parsing time "2026-01-01T00:00:00+25:00": time zone offset hour out of range'),
        ('a"b\\\n', f'parsing time "a\\"b\\\\\\x0a" {AS}: cannot parse "a\\"b\\\\\\x0a" as "2006"'),
    ],
)
def test_times_are_refused_in_the_words_of_go(text: str, message: str) -> None:
    with pytest.raises(TimestampError) as refused:
        parse_time(text)
    assert str(refused.value) == message


@pytest.mark.parametrize(
    ("text", "rest", "element"),
    [("2026-01-01T00:00:00Z", "Z", ".000000"), ("2026-01-01T00:00:00.123456789Z", "789Z", "Z07:00")],
)
def test_micro_times_need_exactly_six_digits(text: str, rest: str, element: str) -> None:
    with pytest.raises(TimestampError) as refused:
        parse_micro_time(text)
    layout = "2006-01-02T15:04:05.000000Z07:00"
    assert str(refused.value) == f'parsing time "{text}" as "{layout}": cannot parse "{rest}" as "{element}"'


def test_epoch_seconds_are_times_too() -> None:
    assert format_time(0) == "1970-01-01T00:00:00Z"
    assert format_micro_time(1.5) == "1970-01-01T00:00:01.500000Z"
    assert canonical_micro_time("0001-01-01T00:00:00.000000Z") is None


@pytest.mark.parametrize(
    ("text", "nanos", "printed"),
    [
        ("0", 0, "0s"), ("0s", 0, "0s"), ("1s", 10**9, "1s"), ("1.5h", 5400 * 10**9, "1h30m0s"), ("100ms", 10**8, "100ms"),
        ("1us", 1000, "1µs"), ("1μs", 1000, "1µs"), ("-2m", -120 * 10**9, "-2m0s"), ("+5s", 5 * 10**9, "5s"),
        ("1h15m30.918s", 4530918 * 10**6, "1h15m30.918s"), (".5s", 5 * 10**8, "500ms"), ("1.s", 10**9, "1s"),
        ("1ns", 1, "1ns"), ("9223372036.854775807s", 2**63 - 1, "2562047h47m16.854775807s"),
    ],
)  # fmt: skip
def test_durations_are_read_and_printed_as_go_does(text: str, nanos: int, printed: str) -> None:
    assert parse_duration(text) == nanos
    assert format_duration(nanos) == printed


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", 'time: invalid duration ""'),
        ("x", 'time: invalid duration "x"'),
        ("5", 'time: missing unit in duration "5"'),
        ("5d", 'time: unknown unit "d" in duration "5d"'),
        ("-", 'time: invalid duration "-"'),
        (".s", 'time: invalid duration ".s"'),
        ("9223372036854775808ns", 'time: invalid duration "9223372036854775808ns"'),
        ("99999999999h", 'time: invalid duration "99999999999h"'),
    ],
)
def test_durations_are_refused_in_the_words_of_go(text: str, message: str) -> None:
    with pytest.raises(TimestampError) as refused:
        parse_duration(text)
    assert str(refused.value) == message


@given(st.integers(-(2**63), 2**63 - 1))
def test_printed_duration_reads_as_itself(nanos: int) -> None:
    assert parse_duration(format_duration(nanos)) == nanos
