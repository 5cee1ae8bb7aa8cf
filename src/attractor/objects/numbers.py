"""Integers in text, of any length: what is too long to be one of 64 bits is not read at all.

Python refuses to read more than 4,300 digits, and takes time that grows with their square until then.

>>> saturated("42"), saturated("-7"), saturated("9" * 5000) == TOO_LARGE, saturated("-" + "9" * 5000) == -TOO_LARGE
(42, -7, True, True)
"""

from __future__ import annotations

from typing import Final

TOO_LARGE: Final = 2**65
"""What stands for every number that is beyond 64 bits, with its sign."""
_DIGITS: Final = 20
"""Of the largest number of 64 bits."""


def saturated(text: str) -> int:
    """The integer that digits stand for, or ``TOO_LARGE`` with their sign; raises ``ValueError`` for other text."""
    if len(text) <= _DIGITS:
        return int(text)
    sign = text[0] if text[0] in "+-" else ""
    digits = text[len(sign) :]
    if not (digits.isascii() and digits.isdigit()):
        raise ValueError(f"no integer: {text[:_DIGITS]}…")
    digits = digits.lstrip("0")
    value = int(digits or "0") if len(digits) <= _DIGITS else TOO_LARGE
    return -value if sign == "-" else value
