"""Ages, as kubectl users know them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attractor.httpd.formats.ages import Clock, human_duration
from attractor.objects.timestamps import Moment, parse_time

M, H, D, Y = 60, 3600, 86400, 365 * 86400


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-2, "<invalid>"),
        (-1.5, "0s"),
        (0, "0s"),
        (1.9, "1s"),
        (119, "119s"),
        (2 * M, "2m"),
        (2 * M + 1, "2m1s"),
        (10 * M - 1, "9m59s"),
        (10 * M + 59, "10m"),
        (3 * H - 1, "179m"),
        (3 * H, "3h"),
        (3 * H + 30 * M, "3h30m"),
        (8 * H - 1, "7h59m"),
        (8 * H + 30 * M, "8h"),
        (2 * D - 1, "47h"),
        (2 * D, "2d"),
        (2 * D + 5 * H, "2d5h"),
        (8 * D, "8d"),
        (2 * Y - 1, "729d"),
        (2 * Y, "2y"),
        (2 * Y + 40 * D, "2y40d"),
        (8 * Y, "8y"),
        (20 * Y, "20y"),
    ],
)
def test_duration_has_two_or_three_figures(seconds: float, text: str) -> None:
    assert human_duration(seconds) == text


def read_back(text: str) -> int:
    total, digits = 0, ""
    for char in text:
        if char.isdigit():
            digits += char
        else:
            total += int(digits) * {"s": 1, "m": M, "h": H, "d": D, "y": Y}[char]
            digits = ""
    return total


@given(st.integers(0, 50 * Y))
def test_shown_age_never_exceeds_the_real_one_and_is_close_to_it(seconds: int) -> None:
    shown = read_back(human_duration(seconds))
    assert shown <= seconds
    assert seconds - shown <= max(1, seconds // 8)


def test_clock_tells_the_age_of_a_timestamp() -> None:
    clock = Clock(parse_time("2026-01-01T00:05:07Z"))
    assert clock.since("2026-01-01T00:00:00Z") == "5m7s"
    assert clock.since("2026-01-01T00:05:06.500000Z") == "0s"
    assert clock.since(None) == "<unknown>"
    assert clock.since("yesterday") == "<invalid>"
    assert Clock(Moment(10)).since("1970-01-01T00:00:00Z") == "10s"
