"""Columns of custom resources: ``additionalPrinterColumns``, or the age when there are none."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from attractor.httpd.formats.ages import INVALID, seconds_of
from attractor.httpd.formats.jsonpath import Path, PathError
from attractor.httpd.formats.printers.columns import AGE, NAME, Cell, Column, Printer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from attractor.httpd.formats.ages import Clock
    from attractor.objects.json_types import JsonObject

_AGE: JsonObject = {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}
_NOTHING = "<no value>"


def custom_printer(columns: Sequence[JsonObject] | None) -> Printer:
    """The printer that a definition's version asks for."""
    declared = [NAME]
    for one in columns or [_AGE]:
        said = one.get("description") or f"Custom resource definition column (in JSONPath format): {one['jsonPath']}"
        about = AGE.about if one is _AGE else ""
        try:
            path = Path.parse(one["jsonPath"])
        except PathError:
            break  # as Kubernetes: what comes before a column that cannot be read is shown, nothing after it
        shown = (one.get("priority") or 0, one.get("format") or "", "" if about else said)
        declared.append(Column(one["name"], _found(path, one["type"]), about, one["type"], *shown))
    return Printer(tuple(declared))


def _found(path: Path, kind: str) -> Cell:
    return lambda obj, clock: _cell(path.find(obj), kind, clock)


def _cell(found: list[Any], kind: str, clock: Clock) -> Any:
    if not found:
        return None
    value = found[0]
    match kind:
        case "string":
            return text_of(value)
        case "integer" if isinstance(value, int | float) and not isinstance(value, bool):
            return int(value)
        case "number" if isinstance(value, int | float) and not isinstance(value, bool):
            return value
        case "boolean" if isinstance(value, bool):
            return value
        case "date" if isinstance(value, str):
            return clock.since(value) if not value or seconds_of(value) is not None else INVALID
    return None


def text_of(value: Any) -> str:
    """A value as text, as Go prints it."""
    match value:
        case None:
            return _NOTHING
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case float():
            return f"{int(value)}" if value.is_integer() and abs(value) < 1e21 else repr(value)
        case dict() | list():
            return json.dumps(value, separators=(",", ":"), sort_keys=True, ensure_ascii=False)
    return str(value)
