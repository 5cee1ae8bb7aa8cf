"""Rules of what a definition says besides its schema: printer columns, scale, selectable fields, deprecation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attractor.objects.field import FieldError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attractor.objects.json_types import JsonObject

_COLUMN_TYPES = ("boolean", "date", "integer", "number", "string")
_COLUMN_FORMATS = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")
_SELECTABLE_TYPES = ("string", "boolean", "integer")
_MAX_SELECTABLE = 8
_MAX_WARNING = 256


def column_errors(column: JsonObject, path: str) -> Iterator[FieldError]:
    """A printer column has a name, a known type and format, and a path."""
    if not column.get("name"):
        yield FieldError.required(f"{path}.name")
    kind, form, jsonpath = (column.get(field) or "" for field in ("type", "format", "jsonPath"))
    if kind not in _COLUMN_TYPES:
        why = f"must be one of {','.join(_COLUMN_TYPES)}"
        yield FieldError.invalid(f"{path}.type", kind, why) if kind else FieldError.required(f"{path}.type", why)
    if form and form not in _COLUMN_FORMATS:
        yield FieldError.invalid(f"{path}.format", form, f"must be one of {','.join(_COLUMN_FORMATS)}")
    if not jsonpath:
        yield FieldError.required(f"{path}.JSONPath")
    else:
        yield from _simple_path_errors(jsonpath, f"{path}.JSONPath")


def _simple_path_errors(text: str, path: str) -> list[FieldError]:
    if text.startswith("."):
        return []
    return [FieldError.invalid(path, text, "must be a simple json path starting with .")]


def subresource_errors(subresources: JsonObject | None, path: str) -> Iterator[FieldError]:
    """Scale reads and writes replicas below spec and status."""
    scale: JsonObject | None = (subresources or {}).get("scale")
    if scale is None:
        return
    rules: tuple[tuple[str, tuple[str, ...], str], ...] = (
        ("specReplicasPath", (".spec.",), ".spec"),
        ("statusReplicasPath", (".status.",), ".status"),
        ("labelSelectorPath", (".spec.", ".status."), "either .spec or .status"),
    )
    for field, roots, said in rules:
        at, value = f"{path}.scale.{field}", scale.get(field) or ""
        if not value:
            if field != "labelSelectorPath":
                yield FieldError.required(at)
        elif wrong := _simple_path_errors(value, at):
            yield from wrong
        elif not value.startswith(roots):
            yield FieldError.invalid(at, value, f"should be a json path under {said}")


def deprecation_errors(version: JsonObject, path: str) -> Iterator[FieldError]:
    """A deprecation warning is short and printable, and belongs to a deprecated version."""
    warning, at = version.get("deprecationWarning"), f"{path}.deprecationWarning"
    if warning is None:
        return
    if not version.get("deprecated"):
        yield FieldError.invalid(at, warning, "can only be set for deprecated versions")
        return
    if len(warning.encode()) > _MAX_WARNING:
        yield FieldError.invalid(at, warning, f"must be <= {_MAX_WARNING} characters long")
    if not warning:
        yield FieldError.invalid(at, warning, "must not be an empty string")
    for index, character in enumerate(warning):
        if not character.isprintable():
            place = len(warning[:index].encode())
            why = f"must only contain printable UTF-8 characters; non-printable character found at index {place}"
            yield FieldError.invalid(at, warning, why)
            return


def selectable_errors(fields: list[JsonObject], doc: JsonObject, path: str) -> Iterator[FieldError]:
    """Selectable fields lead to plain values that the schema describes, each once, not many."""
    seen: set[str] = set()
    for index, item in enumerate(fields):
        at, text = f"{path}[{index}].jsonPath", item.get("jsonPath") or ""
        if not text:
            yield FieldError.required(at)
            continue
        found = _walk(text, doc)
        if isinstance(found, str):
            yield FieldError.invalid(at, text, f"is an invalid path: {found}")
            continue
        if text.split(".")[1] == "metadata":
            yield FieldError.invalid(at, text, "must not point to fields in metadata")
        if found.get("type") not in _SELECTABLE_TYPES:
            why = (
                "must point to a field of type string, boolean or integer. Enum string fields and strings with "
                "formats are allowed."
            )
            yield FieldError.invalid(at, text, why)
        if text in seen:
            yield FieldError.duplicate(at, text)
        seen.add(text)
    if len(seen) > _MAX_SELECTABLE:
        yield FieldError.too_many(path, len(seen), _MAX_SELECTABLE)


def _walk(text: str, doc: JsonObject) -> JsonObject | str:
    """The schema of the field at a path of names, or why there is none."""
    if not text.startswith("."):
        first = text.split(".", maxsplit=1)[0].split("[", maxsplit=1)[0]
        return "array notation is not allowed" if not first else f"expected [ or . but got: {first}"
    node: JsonObject = doc
    for name in text[1:].split("."):
        if not name:
            return "unexpected end of JSON path"
        properties: Any = node.get("properties")
        additional: Any = node.get("additionalProperties")
        plain, bracket, _ = name.partition("[")
        child = (properties or {}).get(plain) if properties else additional
        if not isinstance(child, dict):
            return "does not refer to a valid field"
        if bracket:
            return "array notation is not allowed"
        node = child
    return node
