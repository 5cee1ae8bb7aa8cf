"""Whether two JSON values, the world's and the runtime's, say the same.

They must be equal but for what the world keeps in another way: a ``resourceVersion`` is there or not, and its number
is the store's own; ``managedFields`` are not compared; ``generation`` is counted round by the world. A refusal is its
code and reason: its text is for people.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from attractor.check.world.simulation.storage import GENERATIONS

if TYPE_CHECKING:
    from collections.abc import Iterator


class Difference(NamedTuple):
    """Where two values part, and what each of them has there."""

    path: str
    expected: Any
    got: Any

    def __str__(self) -> str:
        return f"{self.path or 'it'}: expected {self.expected!r}, got {self.got!r}"


def difference(expected: Any, got: Any) -> Difference | None:
    """The first difference that matters; None when there is none."""
    return next(_differences(expected, got, ""), None)


def _differences(expected: Any, got: Any, path: str) -> Iterator[Difference]:
    if isinstance(expected, dict) and isinstance(got, dict):
        if expected.get("kind") == got.get("kind") == "Status" and expected.get("status") == "Failure":
            expected, got = ({name: each.get(name) for name in ("code", "reason")} for each in (expected, got))
        for name in dict.fromkeys([*expected, *got]):
            yield from _field(name, expected, got, f"{path}.{name}" if path else name)
    elif isinstance(expected, list) and isinstance(got, list) and len(expected) == len(got):
        for number, (one, other) in enumerate(zip(expected, got, strict=True)):
            yield from _differences(one, other, f"{path}[{number}]")
    elif expected != got or isinstance(expected, bool) != isinstance(got, bool):
        yield Difference(path, expected, got)


def _field(name: str, expected: dict[str, Any], got: dict[str, Any], path: str) -> Iterator[Difference]:
    one, other = expected.get(name), got.get(name)
    match name:
        case "managedFields":
            return
        case "resourceVersion":
            if (one is None) != (other is None):
                yield Difference(path, one, other)
        case "generation" if isinstance(other, int) and other > GENERATIONS:
            return
        case _:
            yield from _differences(one, other, path)
