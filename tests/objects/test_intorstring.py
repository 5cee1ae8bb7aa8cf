"""Numbers or percentages."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attractor.objects.int_or_string import IntOrStringError, is_percent, percent_value, scaled_value


@given(st.integers(0, 400), st.integers(0, 10_000), st.booleans())
def test_percentages_scale_the_total(part: int, total: int, round_up: bool) -> None:
    exact = part * total / 100
    assert scaled_value(f"{part}%", total, round_up=round_up) == (math.ceil if round_up else math.floor)(exact)


def test_numbers_are_themselves() -> None:
    assert scaled_value(7, 3, round_up=True) == 7


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (None, "nil value for IntOrString"),
        ("5", "invalid value for IntOrString: invalid type: string is not a percentage"),
        ("x%", 'invalid value for IntOrString: invalid value "x%": strconv.Atoi: parsing "x": invalid syntax'),
    ],
)
def test_everything_else_is_refused(value: str | None, message: str) -> None:
    with pytest.raises(IntOrStringError) as refused:
        scaled_value(value, 10, round_up=False)
    assert str(refused.value) == message


def test_percent_and_int_forms_are_told_apart() -> None:
    assert [is_percent(value) for value in ("25%", "%", "a%", 25, "-1%")] == [True, False, False, False, False]
    assert [percent_value(value) for value in ("25%", 25)] == [25, None]
