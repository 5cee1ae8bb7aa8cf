"""Unbounded growth: why a search that a limit has stopped may never have ended.

A number, or the length of a text or list, is taken for one that grows without bound if it took many values and the
largest were met last. This is a guess, told as a warning of a verdict that is *inconclusive* anyway.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attractor.check.trace import plain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attractor.check.engine.model import Model, Slot

FEWEST = 12
"""So many values at least."""
MOST_READ = 4_000
"""Of the values of one slot that were met last, so many are looked at."""


def growing(model: Model) -> list[str]:
    """A warning for each thing that grows: what it is, and what it has been."""
    found: dict[str, None] = {}
    for slot in model.slots:
        if slot.variable in {"object", ""} or not model.is_composed:
            found |= dict.fromkeys(_growing_in(slot))
    return list(found)


def _growing_in(slot: Slot) -> Iterator[str]:
    values = slot.domain.values
    if len(values) < FEWEST:
        return
    sizes: dict[str, list[int]] = {}
    name = ""
    for value in values[-MOST_READ:]:
        shown = plain(value)
        name = name or _object_name(shown)
        for path, size in _leaves(shown, ""):
            sizes.setdefault(path, []).append(size)
    for path, seen in sizes.items():
        records = _records(seen)
        if len(records) >= FEWEST and records[-1] >= len(seen) - max(2, len(seen) // 4):
            what = path.removesuffix(" ") or slot.name
            where = f"{what} of {name}" if name and path else slot.name
            yield (
                f"{where} grows without bound, as far as was seen: it went from {seen[0]} to {max(seen)}; a search of "
                f"what grows for ever does not end: let it stop at some limit, or keep it out of the state"
            )


def _records(seen: list[int]) -> list[int]:
    """Where a value was larger than all before it."""
    found, largest = [], None
    for at, size in enumerate(seen):
        if largest is None or size > largest:
            largest = size
            found.append(at)
    return found


def _object_name(shown: Any) -> str:
    if not isinstance(shown, dict) or not isinstance(shown.get("metadata"), dict):
        return ""
    metadata = shown["metadata"]
    return f"{shown.get('kind', 'object')} {metadata.get('namespace', '')}/{metadata.get('name', '')}".replace(
        " /", " "
    )


def _leaves(shown: Any, path: str) -> Iterator[tuple[str, int]]:
    """Numbers, and lengths of texts and lists, by where they are; metadata is the server's."""
    match shown:
        case bool() | None | float():
            return
        case int():
            yield path, shown
        case str():
            yield (path, int(shown)) if shown.isdecimal() and len(shown) < 19 else (f"len({path})", len(shown))
        case list():
            yield f"len({path})", len(shown)
        case dict():
            for key, value in shown.items():
                if path or key not in {"kind", "apiVersion"}:
                    within = f"{path}.{key}" if path else str(key)
                    if within not in {"metadata.generation", "metadata.uid", "metadata.creationTimestamp"}:
                        yield from _leaves(value, within)
