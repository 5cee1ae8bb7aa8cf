"""Amounts of resources, as Kubernetes reads, compares and writes them.

An amount is kept exactly, in whole nano units (finer amounts are rounded up, away from zero). The text that is
written back is canonical: no fraction, the largest suffix that loses nothing, in the family of suffixes (``Ki``,
``k``, ``e3``) that the reader used.

>>> str(Quantity.parse("1000m")), str(Quantity.parse("1.5Gi")), str(Quantity.parse("0.5"))
('1', '1536Mi', '500m')
>>> Quantity.parse("1Gi") > Quantity.parse("1G")
True
"""

from __future__ import annotations

import re
from functools import lru_cache, total_ordering
from typing import Literal

Format = Literal["DecimalSI", "BinarySI", "DecimalExponent"]

_NANO = 10**9
_MAX_BINARY = (2**63 - 1) * _NANO
_MAX_EXPONENT = 1000  # an amount of more digits than that is an attack, not an amount
_SPLIT = "^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$"
_SCAN = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*[-+]?[0-9]*)", re.ASCII)
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL_SUFFIX = {exponent: suffix for suffix, exponent in _DECIMAL.items()}
_BINARY_SUFFIX = ["", *_BINARY]
_INT64_DIGITS = 18

WRONG_FORMAT = f"quantities must match the regular expression '{_SPLIT}'"
WRONG_SUFFIX = "unable to parse quantity's suffix"


class QuantityError(ValueError):
    """The text is not a quantity; the message is Kubernetes'."""


@total_ordering
class Quantity:
    """An exact amount and the way it is written; equal amounts are equal however they are written."""

    __slots__ = ("format", "nanos", "text")

    def __init__(self, nanos: int, format: Format = "DecimalSI", text: str | None = None) -> None:  # noqa: A002
        self.nanos = nanos
        self.format: Format = format
        self.text = _canonical(nanos, format) if text is None else text

    @classmethod
    def parse(cls, text: str) -> Quantity:
        """Read a quantity; raises ``QuantityError`` in Kubernetes' words."""
        return _parse(text)

    @classmethod
    def of(cls, value: float) -> Quantity:
        """The quantity that a JSON number means."""
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        return _parse(str(value))

    @property
    def sign(self) -> int:
        """-1, 0 or 1."""
        return (self.nanos > 0) - (self.nanos < 0)

    @property
    def value(self) -> int:
        """Whole units, rounded away from zero."""
        return _divide_up(self.nanos, _NANO)

    @property
    def milli_value(self) -> int:
        """Thousandths, rounded away from zero."""
        return _divide_up(self.nanos, _NANO // 1000)

    def rounded_up(self, scale: int) -> Quantity:
        """The amount rounded away from zero to ``10**scale``, for a scale between -9 and 0."""
        unit = 10 ** (9 + scale)
        if self.nanos % unit == 0:
            return self
        return Quantity(_divide_up(self.nanos, unit) * unit, self.format)

    def __add__(self, other: Quantity) -> Quantity:
        return Quantity(self.nanos + other.nanos, self.format if self.nanos else other.format)

    def __sub__(self, other: Quantity) -> Quantity:
        return Quantity(self.nanos - other.nanos, self.format if self.nanos else other.format)

    def __neg__(self) -> Quantity:
        return Quantity(-self.nanos, self.format)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Quantity) and self.nanos == other.nanos

    def __lt__(self, other: Quantity) -> bool:
        return self.nanos < other.nanos

    def __hash__(self) -> int:
        return hash(self.nanos)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"Quantity({self.text!r})"


def canonical(value: str | float) -> str:
    """The text that Kubernetes answers with for a quantity given as JSON; raises ``QuantityError``.

    The store keeps the text, so an answer shows it read and written twice: ``1000.5Ki`` is stored as ``1024512``, but
    ``1953.125Ki`` as ``2000000``, which is no longer binary and shows as ``2M``.
    """
    written = _parse(value.strip()) if isinstance(value, str) else Quantity.of(value)
    return _parse(written.text).text


@lru_cache(maxsize=4096)
def _parse(text: str) -> Quantity:
    if not text:
        raise QuantityError(WRONG_FORMAT)
    found = _SCAN.fullmatch(text)
    if found is None:
        raise QuantityError(WRONG_FORMAT)
    sign, whole, fraction, suffix = found.group(1), found.group(2).lstrip("0"), found.group(3) or "", found.group(4)
    exponent, form = _interpret(suffix)
    digits = (whole or "0") + fraction
    mantissa = int(digits) if len(digits) <= _MAX_EXPONENT else _too_long()
    if form == "BinarySI":
        nanos = _divide_up((mantissa << exponent) * _NANO, 10 ** len(fraction))
        nanos = min(nanos, _MAX_BINARY)
        if 0 < nanos < _NANO:
            form = "DecimalSI"
    else:
        shift = exponent - len(fraction) + 9
        nanos = mantissa * 10**shift if shift >= 0 else _divide_up(mantissa, 10**-shift)
    kept = text if _is_canonical(form, digits, fraction, exponent, mantissa) else None
    return Quantity(-nanos if sign == "-" else nanos, form, kept)


def _too_long() -> int:
    raise QuantityError("unable to parse numeric part of quantity")


def _interpret(suffix: str) -> tuple[int, Format]:
    if suffix in _DECIMAL:
        return _DECIMAL[suffix], "DecimalSI"
    if suffix in _BINARY:
        return _BINARY[suffix], "BinarySI"
    if suffix[:1] in {"e", "E"} and re.fullmatch("[-+]?[0-9]+", suffix[1:]) and len(suffix) < 12:
        exponent = int(suffix[1:])
        if abs(exponent) <= _MAX_EXPONENT:
            return exponent, "DecimalExponent"
    raise QuantityError(WRONG_SUFFIX)


def _is_canonical(form: Format, digits: str, fraction: str, exponent: int, mantissa: int) -> bool:
    """Whether Kubernetes' quick reader takes the text as canonical and writes it back as it came.

    The quick test is coarser than the definition: ``1.500`` passes it, and so stays as written.
    """
    if digits == "0" and not exponent and not fraction:
        return False
    if form == "BinarySI":
        precision = 15 - len(digits) - int(exponent * 3 / 10) - 1
        return not fraction and precision >= 0 and mantissa & 0x07 != 0
    scale = exponent - len(fraction)
    quick = len(digits) <= _INT64_DIGITS and scale >= -9
    return quick and scale % 3 == 0 and not digits.endswith("000") and digits[0] != "0"


def _divide_up(amount: int, unit: int) -> int:
    """Divide, rounding away from zero."""
    return -(-amount // unit) if amount >= 0 else amount // unit


def _canonical(nanos: int, form: Format) -> str:
    if nanos == 0:
        return "0"
    if form == "BinarySI" and abs(nanos) >= 1024 * _NANO and nanos % _NANO == 0:
        amount, power = nanos // _NANO, 0
        while amount % 1024 == 0 and power < len(_BINARY):
            amount, power = amount // 1024, power + 1
        return f"{amount}{_BINARY_SUFFIX[power]}"
    amount, exponent = nanos, -9
    while amount % 1000 == 0:
        amount, exponent = amount // 1000, exponent + 3
    if form == "DecimalExponent" or exponent not in _DECIMAL_SUFFIX:
        return f"{amount}e{exponent}" if exponent else str(amount)
    return f"{amount}{_DECIMAL_SUFFIX[exponent]}"
