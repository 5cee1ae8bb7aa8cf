"""Durations and times as Go writes them."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attractor.objects.resource import Duration, MicroTime


@pytest.mark.parametrize(
    ("text", "seconds", "written"),
    [
        ("0", 0, "0s"),
        ("1h30m", 5400, "1h30m0s"),
        ("1.5h", 5400, "1h30m0s"),
        ("300ms", 0.3, "300ms"),
        ("1.5ms", 0.0015, "1.5ms"),
        ("20us", 0.00002, "20µs"),
        ("1m0.5s", 60.5, "1m0.5s"),
        ("-10s", -10, "-10s"),
        ("+2m", 120, "2m0s"),
        ("100h", 360000, "100h0m0s"),
        (".5s", 0.5, "500ms"),
    ],
)
def test_a_duration_reads_and_writes_as_in_go(text: str, seconds: float, written: str) -> None:
    assert Duration.parse(text).total_seconds() == pytest.approx(seconds)
    assert str(Duration.parse(text)) == written


@pytest.mark.parametrize("text", ["", "1", "s", "1d", "1h 30m", "--1s", "PT10S", "1h30", "1.2.3s"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no duration; write it as in 1h30m"):
        Duration.parse(text)


@given(st.integers(-(10**15), 10**15))
def test_every_duration_reads_back(microseconds: int) -> None:
    duration = Duration(microseconds=microseconds)
    assert Duration.parse(str(duration)) == duration
    assert Duration.of(timedelta(microseconds=microseconds)) == duration


@given(st.datetimes(min_value=datetime(2, 1, 1), timezones=st.just(timezone(timedelta(hours=2)))))
def test_every_micro_time_reads_back_and_shows_six_digits(at: datetime) -> None:
    time = MicroTime.of(at)
    assert MicroTime.parse(str(time)) == at
    assert len(str(time)) == len("2026-01-31T08:00:00.000000Z")


def test_a_micro_time_needs_a_zone() -> None:
    assert str(MicroTime(2026, 1, 31, tzinfo=UTC)) == "2026-01-31T00:00:00.000000Z"
    with pytest.raises(ValueError, match="has no time zone"):
        MicroTime.parse("2026-01-31T08:00:00")
