"""Quantities against Kubernetes' published cases and a Decimal oracle."""

from decimal import ROUND_UP, Decimal, localcontext

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attractor.objects.quantity import WRONG_FORMAT, WRONG_SUFFIX, Quantity, QuantityError, canonical

FACTORS = {"n": Decimal("1e-9"), "u": Decimal("1e-6"), "m": Decimal("1e-3"), "": Decimal(1), "k": Decimal(10) ** 3,
           "M": Decimal(10) ** 6, "G": Decimal(10) ** 9, "T": Decimal(10) ** 12, "P": Decimal(10) ** 15,
           "E": Decimal(10) ** 18, "Ki": Decimal(2) ** 10, "Mi": Decimal(2) ** 20, "Gi": Decimal(2) ** 30,
           "Ti": Decimal(2) ** 40, "e3": Decimal(1000), "e-2": Decimal("0.01"), "E6": Decimal(10) ** 6}  # fmt: skip


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0", "0"), ("0n", "0"), ("0Ki", "0"), ("0.0", "0"), ("1", "1"), ("100m", "100m"), ("1000m", "1"),
        ("1500m", "1500m"), ("0.5", "500m"), ("1.5", "1500m"), ("0.001", "1m"), ("1024Mi", "1Gi"), ("1Gi", "1Gi"),
        ("1.5Gi", "1536Mi"), ("1000k", "1M"), ("1e3", "1e3"), ("1000e3", "1e6"), ("100e5", "10e6"), ("12.3e6", "12300e3"),
        ("0.1Gi", "107374182400m"), ("0.5Ki", "512"), ("1Ki", "1Ki"), ("1023Ki", "1023Ki"), ("0.000001m", "1n"),
        ("0.1n", "1n"), ("-1", "-1"), ("-0.5n", "-1n"), ("+1", "+1"), ("1.500", "1.500"), ("10.0", "10"),
        ("129M", "129M"), ("123456789012345678901234567890", "123456789012345678901234567890"),
        ("9Ei", "9223372036854775807"), ("8Ei", "9223372036854775807"), ("100000Ki", "100000Ki"), ("1000E", "1e21"),
        (".5", "500m"), ("5.", "5."), ("05", "05"), ("1.1Ki", "1126400m"),
    ],
)  # fmt: skip
def test_quantities_are_written_back_canonically(text: str, expected: str) -> None:
    assert str(Quantity.parse(text)) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [("", WRONG_FORMAT), ("abc", WRONG_FORMAT), ("1 Gi", WRONG_FORMAT), ("1.1.1", WRONG_FORMAT), ("1,5", WRONG_FORMAT),
     ("1x", WRONG_FORMAT), ("1K", WRONG_SUFFIX), ("1mi", WRONG_SUFFIX), ("1kk", WRONG_SUFFIX), ("1e", WRONG_SUFFIX),
     ("1e5000000", WRONG_SUFFIX), ("+-5", WRONG_SUFFIX)],
)  # fmt: skip
def test_refusals_have_the_words_of_kubernetes(text: str, message: str) -> None:
    with pytest.raises(QuantityError) as refused:
        Quantity.parse(text)
    assert str(refused.value) == message


def test_answers_show_what_the_store_kept() -> None:
    assert [canonical(text) for text in ("1000.5Ki", "1953.125Ki", "1.5Gi", "1000m")] == [
        "1024512",
        "2M",
        "1536Mi",
        "1",
    ]


def test_json_numbers_are_quantities() -> None:
    assert [canonical(value) for value in (1, 1.5, 1000.0, " 2 ")] == ["1", "1500m", "1k", "2"]


@st.composite
def texts(draw: st.DrawFn) -> tuple[str, Decimal]:
    """A quantity's text and the value that Decimal gives it."""
    sign, whole, fraction = (
        draw(st.sampled_from(["", "-"])),
        draw(st.integers(0, 10**7)),
        draw(st.sampled_from(["", "0", "5", "25", "125"])),
    )
    suffix = draw(st.sampled_from(sorted(FACTORS)))
    number = f"{whole}.{fraction}" if fraction else str(whole)
    amount = Decimal(number) * FACTORS[suffix]
    if suffix.endswith("i"):  # binary amounts stop where 64 bits do
        amount = min(amount, Decimal(2**63 - 1))
    return f"{sign}{number}{suffix}", -amount if sign else amount


def rounded(value: Decimal) -> Decimal:
    with localcontext() as context:
        context.prec = 200
        return value.quantize(Decimal("1e-9"), rounding=ROUND_UP)


@given(texts())
def test_value_agrees_with_decimal_and_survives_printing(given_text: tuple[str, Decimal]) -> None:
    text, value = given_text
    quantity = Quantity.parse(text)
    expected = rounded(value)
    assert Decimal(quantity.nanos).scaleb(-9) == expected
    assert Quantity.parse(str(quantity)) == quantity
    assert canonical(canonical(text)) == canonical(text)
    assert Quantity.parse(canonical(text)) == quantity


@given(texts(), texts())
def test_order_and_sum_agree_with_decimal(one: tuple[str, Decimal], two: tuple[str, Decimal]) -> None:
    left, right = Quantity.parse(one[0]), Quantity.parse(two[0])
    assert (left < right) is (rounded(one[1]) < rounded(two[1]))
    assert Decimal((left + right).nanos).scaleb(-9) == rounded(one[1]) + rounded(two[1])
    assert (left + right) - right == left


@given(texts())
def test_rounding_is_up_and_away_from_zero(given_text: tuple[str, Decimal]) -> None:
    quantity = Quantity.parse(given_text[0])
    value = Decimal(quantity.nanos).scaleb(-9)
    assert quantity.value == int(value.to_integral_value(ROUND_UP))
    assert quantity.milli_value == int((value * 1000).to_integral_value(ROUND_UP))
    assert quantity.rounded_up(-3).nanos == quantity.milli_value * 10**6


def test_sum_takes_the_writing_of_the_first_that_is_not_zero() -> None:
    assert str(Quantity.parse("0") + Quantity.parse("1Gi")) == "1Gi"
    assert str(Quantity.parse("1Gi") + Quantity.parse("1k")) == "1073742824"
    assert str(-Quantity.parse("1.5")) == "-1500m"
    assert Quantity.parse("-1").sign == -1
