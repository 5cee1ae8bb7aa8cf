"""Fields that stand twice in a body."""

from __future__ import annotations

from typing import Any


class RepeatedFields(tuple[str, ...]):
    """Paths of fields that stand twice, and where in the text each field stands."""

    places: dict[str, int]
    """The place of each field; of a repeated one, the place where it stands again."""


class RepeatedLine(str):
    """A key that stands twice in YAML, told by its line."""

    __slots__ = ()


class Pairs(list[tuple[str, Any]]):
    """An object as its pairs, repeated ones included."""
