"""Parts of a definition as Go's JSON encoder writes the structs that an API server holds them in.

An error about a whole part shows it that way: every field of the struct in its order, absent ones as their zero value.

>>> orjson.dumps(rule_form({"rule": "self > 3"})).decode()[:36]
'{"Rule":"self \\\\u003e 3","Message":""'
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

if TYPE_CHECKING:
    from collections.abc import Iterable

    from attractor.objects.json_types import JsonObject

_ZERO: dict[str, Any] = {
    **dict.fromkeys(("id", "$schema", "description", "type", "format", "title", "pattern"), ""),
    **dict.fromkeys(("nullable", "exclusiveMaximum", "exclusiveMinimum", "uniqueItems"), False),
    **dict.fromkeys(("x-kubernetes-embedded-resource", "x-kubernetes-int-or-string"), False),
}
_KEYWORDS = {
    "id": "ID",
    "$schema": "Schema",
    "$ref": "Ref",
    **{
        name: name[0].upper() + name[1:]
        for name in (
            *("description", "type", "nullable", "format", "title", "default", "maximum", "exclusiveMaximum"),
            *("minimum", "exclusiveMinimum", "maxLength", "minLength", "pattern", "maxItems", "minItems"),
            *("uniqueItems", "multipleOf", "enum", "maxProperties", "minProperties", "required", "items", "allOf"),
            *("oneOf", "anyOf", "not", "properties", "additionalProperties", "patternProperties", "dependencies"),
            *("additionalItems", "definitions", "externalDocs", "example"),
        )
    },
    "x-kubernetes-preserve-unknown-fields": "XPreserveUnknownFields",
    "x-kubernetes-embedded-resource": "XEmbeddedResource",
    "x-kubernetes-int-or-string": "XIntOrString",
    "x-kubernetes-list-map-keys": "XListMapKeys",
    "x-kubernetes-list-type": "XListType",
    "x-kubernetes-map-type": "XMapType",
    "x-kubernetes-validations": "XValidations",
}


def rule_form(doc: JsonObject) -> orjson.Fragment:
    """A validation rule."""
    return _encoded(_rule(doc))


def schema_form(doc: JsonObject) -> orjson.Fragment:
    """A schema."""
    return _encoded(_schema(doc))


def versions_form(versions: Iterable[JsonObject]) -> orjson.Fragment:
    """The list of a definition's versions."""
    return _encoded([_version(version) for version in versions])


def _encoded(shown: Any) -> orjson.Fragment:
    text = orjson.dumps(shown)
    for character in b"<>&":
        text = text.replace(bytes([character]), b"\\u%04x" % character)
    return orjson.Fragment(text)


def _rule(doc: JsonObject) -> JsonObject:
    return {
        "Rule": doc.get("rule") or "",
        "Message": doc.get("message") or "",
        "MessageExpression": doc.get("messageExpression") or "",
        "Reason": doc.get("reason"),
        "FieldPath": doc.get("fieldPath") or "",
        "OptionalOldSelf": doc.get("optionalOldSelf"),
    }


def _schema(doc: JsonObject) -> JsonObject:
    return {
        shown: _ZERO.get(name) if doc.get(name) is None else _keyword(name, doc[name])
        for name, shown in _KEYWORDS.items()
    }


def _keyword(name: str, value: Any) -> Any:
    if name in {"allOf", "anyOf", "oneOf"}:
        return [_schema(item) for item in value]
    if name in {"properties", "patternProperties", "definitions"}:
        return {key: _schema(value[key]) for key in sorted(value)}
    if name == "not":
        return _schema(value)
    if name == "items":
        return {"Schema": _schema(value), "JSONSchemas": None}
    if name in {"additionalProperties", "additionalItems"}:
        is_flag = isinstance(value, bool)
        return {"Allows": value if is_flag else True, "Schema": None if is_flag else _schema(value)}
    if name == "externalDocs":
        return {"Description": value.get("description") or "", "URL": value.get("url") or ""}
    return [_rule(rule) for rule in value] if name == "x-kubernetes-validations" else _sorted(value)


def _sorted(value: Any) -> Any:
    """A free value: Go sorts the keys of its maps."""
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(item) for item in value] if isinstance(value, list) else value


def _version(version: JsonObject) -> JsonObject:
    schema, subresources = version.get("schema"), version.get("subresources")
    doc = (schema or {}).get("openAPIV3Schema")
    columns, fields = version.get("additionalPrinterColumns"), version.get("selectableFields")
    return {
        "Name": version.get("name") or "",
        "Served": bool(version.get("served")),
        "Storage": bool(version.get("storage")),
        "Deprecated": bool(version.get("deprecated")),
        "DeprecationWarning": version.get("deprecationWarning"),
        "Schema": None if schema is None else {"OpenAPIV3Schema": None if doc is None else _schema(doc)},
        "Subresources": None if subresources is None else _subresources(subresources),
        "AdditionalPrinterColumns": None if columns is None else [_column(column) for column in columns],
        "SelectableFields": None if fields is None else [{"JSONPath": one.get("jsonPath") or ""} for one in fields],
    }


def _subresources(doc: JsonObject) -> JsonObject:
    scale = doc.get("scale")
    shown = scale and {
        "SpecReplicasPath": scale.get("specReplicasPath") or "",
        "StatusReplicasPath": scale.get("statusReplicasPath") or "",
        "LabelSelectorPath": scale.get("labelSelectorPath"),
    }
    return {"Status": doc.get("status"), "Scale": shown}


def _column(doc: JsonObject) -> JsonObject:
    return {
        **{name.capitalize(): doc.get(name) or "" for name in ("name", "type", "format", "description")},
        "Priority": doc.get("priority") or 0,
        "JSONPath": doc.get("jsonPath") or "",
    }
