"""All functions of Kubernetes' CEL, in one register; importing this module fills it."""

from __future__ import annotations

from typing import Any

from attractor.cel import authorizer, network, quantities, standard, texts
from attractor.cel.library import OVERLOADS, Overload, function
from attractor.cel.values import NONE, CelError, Optional

__all__ = ["OVERLOADS", "Overload", "authorizer", "network", "quantities", "standard", "texts"]

_ZEROES: tuple[Any, ...] = (0, 0.0, "", b"", False, None, [], {})


@function("::optional.of(A): optional<A>")
def _of(value: Any) -> Optional:
    return Optional(True, value)


@function("::optional.ofNonZeroValue(A): optional<A>")
def _of_non_zero(value: Any) -> Optional:
    return NONE if value in _ZEROES else Optional(True, value)


@function("::optional.none(): optional<A>")
def _none() -> Optional:
    return NONE


@function("optional<A>.hasValue(): bool")
def _has_value(value: Optional) -> bool:
    return value.present


@function("optional<A>.value(): A")
def _value(value: Optional) -> Any:
    if not value.present:
        raise CelError("optional.none() dereference")
    return value.value


@function("optional<A>.or(optional<A>): optional<A>")
def _or(value: Optional, other: Optional) -> Optional:
    return value if value.present else other


@function("optional<A>.orValue(A): A")
def _or_value(value: Optional, other: Any) -> Any:
    return value.value if value.present else other
