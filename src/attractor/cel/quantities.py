"""The Quantity and Semver libraries of Kubernetes' CEL."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, ClassVar

from attractor.cel.library import function, traversal
from attractor.cel.values import CelError

_QUANTITY = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+))([KMGTPE]i|[numkMGTPE]|[eE][+-]?\d+)?", re.ASCII)
_SUFFIXES: dict[str, Decimal] = {
    **{f"{letter}i": Decimal(1024) ** (power + 1) for power, letter in enumerate("KMGTPE")},
    **{letter: Decimal(1000) ** (power + 1) for power, letter in enumerate("kMGTPE")},
    "n": Decimal("1e-9"),
    "u": Decimal("1e-6"),
    "m": Decimal("1e-3"),
    "": Decimal(1),
}
_SEMVER = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-([0-9A-Za-z.-]+))?(?:\+([0-9A-Za-z.-]+))?", re.ASCII)


@dataclass(frozen=True, slots=True, eq=False)
class Quantity:
    """An amount of a resource."""

    cel_type: ClassVar[str] = "kubernetes.Quantity"
    amount: Decimal

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Quantity) and self.amount == other.amount

    def __hash__(self) -> int:
        return hash(self.amount)

    def __lt__(self, other: Quantity) -> bool:
        return self.amount < other.amount

    def __gt__(self, other: Quantity) -> bool:
        return self.amount > other.amount


def read_quantity(text: str) -> Quantity:
    """A quantity such as ``1.5Gi``; raises ``CelError``."""
    found = _QUANTITY.fullmatch(text) if len(text) < 100 else None
    if found is None:
        raise CelError("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'")
    number, suffix = found.group(1), found.group(2) or ""
    factor = _SUFFIXES.get(suffix)
    if factor is None:
        exponent = int(suffix[1:])
        if abs(exponent) > 60:
            raise CelError("unable to parse quantity's suffix")
        factor = Decimal(10) ** exponent
    return Quantity(Decimal(number) * factor)


@function("quantity(string): kubernetes.Quantity", cost=traversal)
def _quantity(text: str) -> Quantity:
    return read_quantity(text)


@function("isQuantity(string): bool", cost=traversal)
def _is_quantity(text: str) -> bool:
    try:
        read_quantity(text)
    except CelError:
        return False
    return True


@function("kubernetes.Quantity.sign(): int")
def _sign(quantity: Quantity) -> int:
    return (quantity.amount > 0) - (quantity.amount < 0)


@function("kubernetes.Quantity.isInteger(): bool")
def _is_integer(quantity: Quantity) -> bool:
    return quantity.amount == int(quantity.amount) and abs(quantity.amount) < 2**63


@function("kubernetes.Quantity.asInteger(): int")
def _as_integer(quantity: Quantity) -> int:
    if not _is_integer(quantity):
        raise CelError("cannot convert value to integer")
    return int(quantity.amount)


@function("kubernetes.Quantity.asApproximateFloat(): double")
def _as_float(quantity: Quantity) -> float:
    return float(quantity.amount)


def _amount(value: Any) -> Decimal:
    return value.amount if isinstance(value, Quantity) else Decimal(value)


@function("kubernetes.Quantity.add(kubernetes.Quantity): kubernetes.Quantity")
@function("kubernetes.Quantity.add(int): kubernetes.Quantity")
def _add(quantity: Quantity, other: Any) -> Quantity:
    return Quantity(quantity.amount + _amount(other))


@function("kubernetes.Quantity.sub(kubernetes.Quantity): kubernetes.Quantity")
@function("kubernetes.Quantity.sub(int): kubernetes.Quantity")
def _sub(quantity: Quantity, other: Any) -> Quantity:
    return Quantity(quantity.amount - _amount(other))


@dataclass(frozen=True, slots=True)
class Semver:
    """A semantic version; build metadata does not count in comparisons."""

    cel_type: ClassVar[str] = "kubernetes.Semver"
    numbers: tuple[int, int, int]
    pre: tuple[str, ...] = ()

    @property
    def order(self) -> tuple[Any, ...]:
        """A key that sorts as semver.org says."""
        parts = tuple((0, int(part), "") if part.isdigit() else (1, 0, part) for part in self.pre)
        return (*self.numbers, not self.pre, parts)

    def __lt__(self, other: Semver) -> bool:
        return self.order < other.order

    def __gt__(self, other: Semver) -> bool:
        return self.order > other.order


def read_semver(text: str, normalize: bool = False) -> Semver:
    """A version such as ``1.2.3-rc.1``; ``normalize`` also takes ``v1.2``."""
    if normalize:
        core, dash, rest = text.removeprefix("v").partition("-")
        parts = [part.lstrip("0") or "0" for part in core.split(".")] + ["0", "0"]
        text = ".".join(parts[: max(3, len(parts) - 2)]) + dash + rest
    found = _SEMVER.fullmatch(text) if len(text) < 256 else None
    if found is None:
        raise CelError("No Major.Minor.Patch elements found")
    pre = found.group(4)
    major, minor, patch = (int(part[:18]) for part in found.groups()[:3])
    return Semver((major, minor, patch), tuple(pre.split(".")) if pre else ())


@function("semver(string): kubernetes.Semver", "semver(string, bool): kubernetes.Semver", cost=traversal)
def _semver(text: str, normalize: bool = False) -> Semver:
    return read_semver(text, normalize)


@function("isSemver(string): bool", "isSemver(string, bool): bool", cost=traversal)
def _is_semver(text: str, normalize: bool = False) -> bool:
    try:
        read_semver(text, normalize)
    except CelError:
        return False
    return True


def _register_ordering(name: str) -> None:
    function(f"{name}.isLessThan({name}): bool")(lambda left, right: left < right)
    function(f"{name}.isGreaterThan({name}): bool")(lambda left, right: left > right)
    function(f"{name}.compareTo({name}): int")(lambda left, right: -1 if left < right else 1 if left > right else 0)


_register_ordering(Quantity.cel_type)
_register_ordering(Semver.cel_type)
function("kubernetes.Semver.major(): int")(lambda version: version.numbers[0])
function("kubernetes.Semver.minor(): int")(lambda version: version.numbers[1])
function("kubernetes.Semver.patch(): int")(lambda version: version.numbers[2])
