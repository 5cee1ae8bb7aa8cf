"""Values that are a number or a percentage: ``maxSurge: 25%``, ``targetPort: http``.

>>> scaled_value("25%", 10, round_up=True), scaled_value(3, 10, round_up=True)
(3, 3)
"""

from __future__ import annotations

import re
from typing import TypeAlias

from attractor.objects.go_wording import not_parsed
from attractor.objects.numbers import saturated

IntOrString: TypeAlias = "int | str"
"""The JSON form: an int32, or text."""

_INT32_MAX = 2**31 - 1
_GO_INT = re.compile("[+-]?[0-9]+", re.ASCII)


class IntOrStringError(ValueError):
    """The value is neither a number nor a percentage."""


def is_percent(value: IntOrString) -> bool:
    """Whether the value is text that ends in ``%`` after digits."""
    return isinstance(value, str) and re.fullmatch("[0-9]+%", value, re.ASCII) is not None


def percent_value(value: IntOrString) -> int | None:
    """The number before ``%``; None when the value is not a percentage."""
    return saturated(value[:-1]) if isinstance(value, str) and is_percent(value) else None


def scaled_value(value: IntOrString | None, total: int, *, round_up: bool) -> int:
    """The number, or that percentage of the total; raises ``IntOrStringError`` in Kubernetes' words."""
    if value is None:
        raise IntOrStringError("nil value for IntOrString")
    if isinstance(value, int):
        return value
    if not value.endswith("%"):
        raise IntOrStringError("invalid value for IntOrString: invalid type: string is not a percentage")
    digits = value[:-1]
    if _GO_INT.fullmatch(digits) is None:
        why = not_parsed("Atoi", digits)
        raise IntOrStringError(f'invalid value for IntOrString: invalid value "{value}": {why}')
    product = saturated(digits) * total
    return -(-product // 100) if round_up else product // 100
