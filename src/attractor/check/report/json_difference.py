"""Differences between two JSON values, line by line, without the fields that every write changes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from attractor.objects.json_equality import ABSENT, differences

if TYPE_CHECKING:
    from collections.abc import Iterator

QUIET = ("managedFields", "resourceVersion", "creationTimestamp", "uid", "generation", "selfLink")
"""Fields of ``metadata`` that change with every write, or say nothing."""
MAX_VALUE = 100


class Line(NamedTuple):
    """One part that came, went or changed."""

    sign: Literal["+", "-", "~"]
    path: str
    text: str

    def __str__(self) -> str:
        return f"{self.sign} {self.path}{': ' if self.text else ''}{self.text}"


def difference(before: Any, after: Any) -> Iterator[Line]:
    """Each part that differs, with its path in dots."""
    for path, was, now in differences(before, after, skips=_is_quiet, in_lists=False, in_absent=False):
        if was is ABSENT or was is None:
            yield from whole("+", now, path)
        elif now is ABSENT or now is None:
            yield from whole("-", was, path)
        else:
            yield Line("~", path, f"{short(was)} → {short(now)}")


def whole(sign: Literal["+", "-"], value: Any, path: str = "") -> Iterator[Line]:
    """All parts of a value that came or went: an object field by field, anything else in one line."""
    if isinstance(value, dict) and value:
        for key, part in value.items():
            if not _is_quiet(path, key) and part not in ({}, [], None, ""):
                yield from whole(sign, part, f"{path}.{key}" if path else str(key))
    elif path.endswith("ownerReferences") and isinstance(value, list):
        yield Line(sign, path, ", ".join(f"{owner.get('kind')} {owner.get('name')}" for owner in value))
    else:
        yield Line(sign, path, short(value))


def _is_quiet(path: str, key: str) -> bool:
    return key in QUIET and path.rpartition(".")[2] == "metadata"


def short(value: Any) -> str:
    """A value in one line of bounded length."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= MAX_VALUE else f"{text[: MAX_VALUE - 1]}…"
