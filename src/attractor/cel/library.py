"""The register of CEL functions: signature, meaning and cost in one place.

    @function("string.contains(string): bool", cost=product)
    def _(text: str, part: str) -> bool: ...

A signature names the receiver of a member function before the dot. ``cost`` says what a call costs beyond its
arguments, from the sizes of the arguments (exact at run time, bounds when a rule is estimated), and how large the
result may be. Modules beside this one fill the register on import; ``catalog`` imports them all.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from attractor.cel.types import Type, read_type

STRING_FACTOR = 0.1
REGEX_FACTOR = 0.25

Cost = Callable[..., float]
"""``cost(*argument_sizes)`` -> cost units of one call."""

_SIGNATURE = re.compile(
    r"(?:(?P<receiver>[\w.<>, ]+?)\.)?(?P<name>[@\w?!:\[\]+\-*/%<>=&|]+)\((?P<args>.*)\): (?P<result>.+)"
)
_Body = TypeVar("_Body", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Overload:
    """One signature of a function."""

    name: str
    is_member: bool
    args: tuple[Type, ...]
    result: Type
    body: Callable[..., Any]
    cost: Cost | None
    result_size: Cost | None


OVERLOADS: dict[tuple[str, bool], list[Overload]] = {}
"""By name, and by whether it is called on a receiver."""


def function(*signatures: str, cost: Cost | None = None, size: Cost | None = None) -> Callable[[_Body], _Body]:
    """Register a function under one or more signatures; ``a.b.name(...)`` after ``::`` is a name with dots."""

    def register(body: _Body) -> _Body:
        for signature in signatures:
            overload = _overload(signature, body, cost, size)
            OVERLOADS.setdefault((overload.name, overload.is_member), []).append(overload)
        return body

    return register


def _overload(signature: str, body: Callable[..., Any], cost: Cost | None, size: Cost | None) -> Overload:
    dotted = signature.startswith("::")
    if dotted:
        name, _, rest = signature[2:].partition("(")
        arguments, _, result = rest.rpartition("): ")
        receiver = None
    else:
        found = _SIGNATURE.fullmatch(signature)
        if found is None:
            raise ValueError(f"no signature: {signature!r}")
        receiver, name, arguments, result = found.group("receiver", "name", "args", "result")
    args = [read_type(part) for part in _split(arguments)]
    if receiver is not None:
        args.insert(0, read_type(receiver))
    return Overload(name, receiver is not None, tuple(args), read_type(result), body, cost, size)


def _split(arguments: str) -> list[str]:
    parts, depth, last = [], 0, 0
    for at, character in enumerate(arguments):
        depth += (character == "<") - (character == ">")
        if character == "," and depth == 0:
            parts.append(arguments[last:at])
            last = at + 1
    return [part for part in (*parts, arguments[last:]) if part.strip()]


def up(units: float) -> float:
    """Round up; infinity stays."""
    return math.ceil(units) if math.isfinite(units) else units


def times(left: float, right: float) -> float:
    """A product in which nothing times infinity is nothing."""
    return 0.0 if left == 0 or right == 0 else left * right


def traversal(*sizes: float) -> float:
    """The cost of reading the first argument once."""
    return up(sizes[0] * STRING_FACTOR)


def last_traversal(*sizes: float) -> float:
    """The cost of reading the last argument once."""
    return up(sizes[-1] * STRING_FACTOR)


def twice(*sizes: float) -> float:
    """The cost of reading the first argument and writing the result."""
    return up(sizes[0] * 2 * STRING_FACTOR)


def items(*sizes: float) -> float:
    """One unit for each item of the first argument."""
    return sizes[0]


def regex(*sizes: float) -> float:
    """The cost of running a pattern (second) over a text (first)."""
    return times(up((sizes[0] + 1) * STRING_FACTOR), up(sizes[1] * REGEX_FACTOR))


def first_size(*sizes: float) -> float:
    """A result no larger than the first argument."""
    return sizes[0]
