"""Match of two JSON values, the world's and the runtime's.

They must be equal but for what the world keeps in another way: a ``resourceVersion`` is there or not, and its number
is the store's own; ``managedFields`` are not compared; ``generation`` is counted round by the world. A refusal is its
code and reason: its text is for people.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from attractor.check.world.api.bounds import Bounds
from attractor.objects.json_equality import ABSENT, differences


class Difference(NamedTuple):
    """Place where two values differ, and both values there."""

    path: str
    expected: Any
    got: Any

    def __str__(self) -> str:
        return f"{self.path or 'it'}: expected {self.expected!r}, got {self.got!r}"


def difference(expected: Any, got: Any) -> Difference | None:
    """The first difference that matters; None when there is none."""
    found = differences(_compared(expected), _compared(got), skips=_is_ignored, in_absent=False)
    both = (Difference(path, *(None if side is ABSENT else side for side in sides)) for path, *sides in found)
    return next((each for each in both if _matters(each)), None)


def _is_ignored(_path: str, name: str) -> bool:
    return name == "managedFields"


def _matters(found: Difference) -> bool:
    match found.path.rpartition(".")[2]:
        case "resourceVersion":
            return (found.expected is None) != (found.got is None)
        case "generation" if isinstance(found.got, int):
            return found.got <= Bounds.generations
    return found.expected is not None or found.got is not None


def _compared(value: Any) -> Any:
    """Return the part of a value that is compared: of a refusal, its code and reason."""
    if isinstance(value, dict):
        if value.get("kind") == "Status" and value.get("status") == "Failure":
            return {name: value.get(name) for name in ("code", "reason")}
        return {name: _compared(each) for name, each in value.items()}
    return [_compared(each) for each in value] if isinstance(value, list) else value
