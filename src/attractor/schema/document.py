"""Validation of schema documents: each keyword holds a value of the right kind.

An API server finds this out when it decodes a definition. Everything else in this package may then rely on it.

>>> [str(error) for error in check_document({"properties": {"a": {"minLength": "x"}}}, "schema")]
['schema.properties[a].minLength: Invalid value: "string": must be a number']
"""

from __future__ import annotations

from typing import Any

from attractor.objects.field import FieldError
from attractor.schema.error_messages import json_type

_TEXTS = ("type", "format", "pattern", "title", "description", "$ref", "id", "$schema")
_EXTENSION_TEXTS = ("x-kubernetes-list-type", "x-kubernetes-map-type")
_NUMBERS = (
    *("minimum", "maximum", "multipleOf"),
    *("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"),
)
_FLAGS = (
    *("nullable", "uniqueItems", "exclusiveMinimum", "exclusiveMaximum"),
    *("x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource", "x-kubernetes-int-or-string"),
)
_RULE_TEXTS = ("rule", "message", "messageExpression", "reason", "fieldPath")
_KINDS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys((*_TEXTS, *_EXTENSION_TEXTS), ("string",)),
    **dict.fromkeys(_NUMBERS, ("number", "integer")),
    **dict.fromkeys(_FLAGS, ("boolean",)),
    **dict.fromkeys(("properties", "patternProperties", "definitions", "dependencies", "not"), ("object",)),
    **dict.fromkeys(("anyOf", "allOf", "oneOf", "enum", "required"), ("array",)),
    **dict.fromkeys(("x-kubernetes-list-map-keys", "x-kubernetes-validations"), ("array",)),
    "items": ("object", "array"),
    "additionalProperties": ("object", "boolean"),
}
_SHOWN = {
    "number": "a number",
    "object": "an object",
    "array": "a list",
    "string": "a text",
    "boolean": "true or false",
}


def check_document(doc: Any, path: str) -> list[FieldError]:
    """What keeps a value from being a schema."""
    if (wrong := _wrong_kind(doc, ("object",), path)) is not None:
        return [wrong]
    found: list[FieldError] = []
    for name, value in doc.items():
        kinds = _KINDS.get(name)
        if value is None or kinds is None:
            continue
        if (wrong := _wrong_kind(value, kinds, f"{path}.{name}")) is not None:
            found.append(wrong)
        else:
            found += _check_parts(name, value, f"{path}.{name}")
    return found


def _wrong_kind(value: Any, kinds: tuple[str, ...], path: str) -> FieldError | None:
    kind = "null" if value is None else json_type(value)[0]
    if kind in kinds:
        return None
    return FieldError.type_invalid(path, kind, f"must be {_SHOWN[kinds[0]]}")


def _check_parts(name: str, value: Any, path: str) -> list[FieldError]:
    if name == "properties":
        return [error for key, child in value.items() for error in check_document(child, f"{path}[{key}]")]
    if name in {"anyOf", "allOf", "oneOf"}:
        return [error for at, child in enumerate(value) for error in check_document(child, f"{path}[{at}]")]
    if name == "not" or (name in {"items", "additionalProperties"} and isinstance(value, dict)):
        return check_document(value, path)
    if name in {"required", "x-kubernetes-list-map-keys"}:
        wrong = [_wrong_kind(item, ("string",), f"{path}[{at}]") for at, item in enumerate(value)]
        return [error for error in wrong if error is not None]
    if name == "x-kubernetes-validations":
        return [error for at, rule in enumerate(value) for error in _check_rule(rule, f"{path}[{at}]")]
    return []


def _check_rule(rule: Any, path: str) -> list[FieldError]:
    if (wrong := _wrong_kind(rule, ("object",), path)) is not None:
        return [wrong]
    kinds: dict[str, tuple[str, ...]] = {**dict.fromkeys(_RULE_TEXTS, ("string",)), "optionalOldSelf": ("boolean",)}
    wrongs = [
        _wrong_kind(value, kinds[name], f"{path}.{name}")
        for name, value in rule.items()
        if name in kinds and value is not None
    ]
    return [error for error in wrongs if error is not None]
