"""Validation of a CustomResourceDefinition's schema: structural rules.

A schema must be *structural*: the type of every field is said outside ``anyOf``, ``allOf``, ``oneOf`` and ``not``, so
that one reading of it can prune, default and explain objects. Then defaults must be valid, keywords allowed, list
keys usable, and rules must compile and stay within their budget.

>>> [str(error) for error in check_structural({"type": "object", "properties": {"spec": {}}}, "schema")]
['schema.properties[spec].type: Required value: must not be empty for specified object fields']
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attractor.cel.rules import rule_tree
from attractor.objects.field import FieldError
from attractor.schema.defaulting import copied
from attractor.schema.document import check_document
from attractor.schema.embedded import check_embedded, check_metadata_shape
from attractor.schema.error_messages import NO_PATH, explain
from attractor.schema.go_form import schema_form
from attractor.schema.keywords import check_keywords
from attractor.schema.node import Schema
from attractor.schema.patterns import pattern_error
from attractor.schema.pruning import compile_pruning

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attractor.objects.json_types import JsonObject

BASE_PATH = "spec.validation.openAPIV3Schema"
_INT_OR_STRING = [{"type": "integer"}, {"type": "string"}]
_ROOT_WITH_STATUS = ("type", "properties", "required", "description", "title", "x-kubernetes-validations")
_MISSING_TYPE = {
    "root": "must not be empty at the root",
    "item": "must not be empty for specified array items",
    "field": "must not be empty for specified object fields",
}
_FORBIDDEN_NESTED = (
    ("type", "must be empty to be structural"),
    ("additionalProperties", "must be undefined to be structural"),
    ("default", "must be undefined to be structural"),
    ("title", "must be empty to be structural"),
    ("description", "must be empty to be structural"),
    ("nullable", "must be false to be structural"),
    ("externalDocs", "must be undefined to be structural"),
    ("x-kubernetes-preserve-unknown-fields", "must be false to be structural"),
    ("x-kubernetes-embedded-resource", "must be false to be structural"),
    ("x-kubernetes-int-or-string", "must be false to be structural"),
    ("x-kubernetes-list-map-keys", "must be empty to be structural"),
    ("x-kubernetes-list-type", "must be undefined to be structural"),
    ("x-kubernetes-map-type", "must be undefined to be structural"),
    ("x-kubernetes-validations", "must be empty to be structural"),
)


def check_structural(schema_doc: JsonObject, base: str = BASE_PATH, *, has_status: bool = False) -> list[FieldError]:
    """Everything wrong with a version's ``openAPIV3Schema``; ``has_status`` when the status subresource is on."""
    if unreadable := check_document(schema_doc, base):
        return unreadable
    errors = list(_check_root(schema_doc, base, has_status))
    if _is_foreign(schema_doc):  # its shape is not looked at then; what makes it so is a mistake of its own
        return errors + check_keywords(Schema(schema_doc), base, with_rules=False)
    shape = sorted(
        [*_check_node(schema_doc, "root", base), *_check_complete(schema_doc, schema_doc, base, base)], key=str
    )
    errors += shape
    defaults = [] if shape else check_defaults(Schema(schema_doc), base)
    errors += defaults
    return errors + check_keywords(Schema(schema_doc), base, with_rules=not shape and not defaults)


_FOREIGN = ("id", "$schema", "$ref", "patternProperties", "dependencies", "additionalItems", "definitions")


def _is_foreign(doc: JsonObject) -> bool:
    """Whether there is a keyword that structural schemas do not have, here or further down."""
    if any(doc.get(name) for name in _FOREIGN):
        return True
    below = [child for name in ("items", "additionalProperties", "not") if (child := _sub(doc, name)) is not None]
    below += [child for name in ("allOf", "anyOf", "oneOf") for child in _list(doc, name)]
    return any(map(_is_foreign, [*below, *_members(doc, "properties").values()]))


def _check_root(doc: JsonObject, base: str, has_status: bool) -> Iterator[FieldError]:
    if has_status:
        if doc.get("type") not in {None, "", "object"}:
            detail = (
                'only "object" is allowed as the type at the root of the schema if the status subresource is enabled'
            )
            yield FieldError.invalid(f"{base}.type", doc["type"], detail)
        elif any(value and name not in _ROOT_WITH_STATUS and name not in _KEPT_AT_ROOT for name, value in doc.items()):
            fields = " ".join(("Description", "Type", "Format", "Title", "Maximum", "ExclusiveMaximum", "Minimum"))
            detail = (
                f"only [{fields} ExclusiveMinimum MaxLength MinLength Pattern MaxItems MinItems UniqueItems MultipleOf "
                "Required Items Properties ExternalDocs Example XPreserveUnknownFields XValidations] fields are "
                "allowed at the root of the schema if the status subresource is enabled"
            )
            yield FieldError.invalid(base, schema_form(doc), detail)
    if doc.get("nullable"):
        yield FieldError.forbidden(f"{base}.nullable", "nullable cannot be true at the root")


_KEPT_AT_ROOT = frozenset(
    [
        "format",
        "maximum",
        "exclusiveMaximum",
        "minimum",
        "exclusiveMinimum",
        "maxLength",
        "minLength",
        "pattern",
        "maxItems",
        "minItems",
        "uniqueItems",
        "multipleOf",
        "items",
        "externalDocs",
        "example",
        "x-kubernetes-preserve-unknown-fields",
    ]
)


def _members(doc: JsonObject, name: str) -> dict[str, Any]:
    found = doc.get(name)
    return {key: value for key, value in found.items() if isinstance(value, dict)} if isinstance(found, dict) else {}


def _list(doc: JsonObject, name: str) -> list[Any]:
    found = doc.get(name)
    return [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []


def _sub(doc: JsonObject, name: str) -> JsonObject | None:
    found = doc.get(name)
    return found if isinstance(found, dict) else None


def _check_node(doc: JsonObject, level: str, path: str) -> Iterator[FieldError]:
    """The rules of one node on the structural spine, and of those below it."""
    if doc.get("type") == "array" and not isinstance(doc.get("items"), dict | list):
        yield FieldError.required(f"{path}.items", "must be specified")
    if (items := _sub(doc, "items")) is not None:
        yield from _check_node(items, "item", f"{path}.items")
    for name, child in _members(doc, "properties").items():
        yield from _check_node(child, "field", f"{path}.properties[{name}]")
    if doc.get("additionalProperties") is not None and level == "root":
        yield FieldError.forbidden(f"{path}.additionalProperties", "must not be used at the root")
    if (additional := _sub(doc, "additionalProperties")) is not None:
        yield from _check_node(additional, "field", f"{path}.additionalProperties")
    yield from _check_extensions(doc, path)
    skip_any_of = doc.get("anyOf") == _INT_OR_STRING
    first = _list(doc, "allOf")[:1]
    yield from _check_values(doc, path, skip_any_of, bool(first) and first[0].get("anyOf") == _INT_OR_STRING)
    yield from _check_type(doc, level, path)
    yield from _check_metadata(doc, level, path)


def _check_extensions(doc: JsonObject, path: str) -> Iterator[FieldError]:
    if doc.get("x-kubernetes-int-or-string"):
        for name in ("x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource"):
            if doc.get(name):
                yield FieldError.invalid(f"{path}.{name}", True, "must be false if x-kubernetes-int-or-string is true")


def _check_type(doc: JsonObject, level: str, path: str) -> Iterator[FieldError]:
    kind = doc.get("type") or ""
    at = f"{path}.type"
    embedded = bool(doc.get("x-kubernetes-embedded-resource"))
    preserves = bool(doc.get("x-kubernetes-preserve-unknown-fields"))
    if embedded and kind != "object":
        detail = "must be object if x-kubernetes-embedded-resource is true"
        yield FieldError.invalid(at, kind, detail) if kind else FieldError.required(at, detail)
    elif not kind and not doc.get("x-kubernetes-int-or-string") and not preserves:
        yield FieldError.required(at, _MISSING_TYPE[level])
    if embedded and doc.get("additionalProperties") is not None:
        detail = "must not be used if x-kubernetes-embedded-resource is set"
        yield FieldError.forbidden(f"{path}.additionalProperties", detail)
    if level == "root" and kind and kind != "object":
        yield FieldError.invalid(at, kind, "must be object at the root")
    if embedded and not preserves and not doc.get("properties"):
        detail = (
            "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields"
        )
        yield FieldError.required(f"{path}.properties", detail)


def _check_metadata(doc: JsonObject, level: str, path: str) -> Iterator[FieldError]:
    properties = _members(doc, "properties")
    checked = level == "root" or bool(doc.get("x-kubernetes-embedded-resource"))
    for name in ("kind", "apiVersion"):
        if checked and name in properties and properties[name].get("type") != "string":
            at = f"{path}.properties[{name}].type"
            yield FieldError.invalid(at, properties[name].get("type") or "", "must be string")
    if "metadata" not in properties:
        return
    metadata, at = properties["metadata"], f"{path}.properties[metadata]"
    if checked and metadata.get("type") != "object":
        yield FieldError.invalid(f"{at}.type", metadata.get("type") or "", "must be object")
    if level == "root":
        others = {name for name, value in metadata.items() if value and name not in {"type", "default", "properties"}}
        if others or set(_members(metadata, "properties")) - {"name", "generateName"}:
            detail = "must not specify anything other than name and generateName, but metadata is implicitly specified"
            yield FieldError.forbidden(at, detail)


def _check_values(doc: JsonObject, path: str, skip_any_of: bool, skip_first_all_of: bool) -> Iterator[FieldError]:
    """What stands in ``anyOf``, ``allOf``, ``oneOf`` and ``not`` may only restrict values."""
    if not skip_any_of:
        for index, branch in enumerate(_list(doc, "anyOf")):
            yield from _check_nested(branch, f"{path}.anyOf[{index}]")
    for index, branch in enumerate(_list(doc, "allOf")):
        yield from _check_nested(branch, f"{path}.allOf[{index}]", skip_any_of=skip_first_all_of and index == 0)
    for index, branch in enumerate(_list(doc, "oneOf")):
        yield from _check_nested(branch, f"{path}.oneOf[{index}]")
    if (unwanted := _sub(doc, "not")) is not None:
        yield from _check_nested(unwanted, f"{path}.not")
    pattern = doc.get("pattern")
    if pattern and isinstance(pattern, str) and (wrong := pattern_error(pattern)) is not None:
        detail = f"must be a valid regular expression, but isn't: {wrong}"
        yield FieldError.invalid(f"{path}.pattern", pattern, detail)


def _check_nested(doc: JsonObject, path: str, *, skip_any_of: bool = False) -> Iterator[FieldError]:
    yield from _check_values(doc, path, skip_any_of, False)
    if (items := _sub(doc, "items")) is not None:
        yield from _check_nested(items, f"{path}.items")
    for name, child in _members(doc, "properties").items():
        yield from _check_nested(child, f"{path}.properties[{name}]")
    for name, detail in _FORBIDDEN_NESTED:
        value = doc.get(name)
        if (
            value
            or (name == "additionalProperties" and isinstance(value, dict))
            or (name == "default" and value is not None)
        ):
            yield FieldError.forbidden(f"{path}.{name}", detail)
    if "metadata" in _members(doc, "properties"):
        yield FieldError.forbidden(f"{path}.properties[metadata]", "must not be specified in a nested context")


def _check_complete(nested: JsonObject, spine: JsonObject | None, spine_path: str, path: str) -> Iterator[FieldError]:
    """Whatever a junctor at the root mentions must be described on the spine as well.

    Kubernetes looks at the junctors of the root only; what those further down mention is not checked.
    """
    branches = [
        (branch, f"{path}.{junctor}[{index}]")
        for junctor in ("allOf", "anyOf", "oneOf")
        for index, branch in enumerate(_list(nested, junctor))
    ]
    if (unwanted := _sub(nested, "not")) is not None:
        branches.append((unwanted, f"{path}.not"))
    for branch, at in branches:
        yield from _check_branch(branch, spine, spine_path, at)


def _check_branch(branch: JsonObject, spine: JsonObject | None, spine_path: str, path: str) -> Iterator[FieldError]:
    if spine is None:
        yield FieldError.required(spine_path, f"because it is defined in {path}")
        return
    yield from _check_complete(branch, spine, spine_path, path)
    if (items := _sub(branch, "items")) is not None:
        yield from _check_branch(items, _sub(spine, "items"), f"{spine_path}.items", f"{path}.items")
    known = _members(spine, "properties")
    for name, child in _members(branch, "properties").items():
        at = f".properties[{name}]"
        yield from _check_branch(child, known.get(name), f"{spine_path}{at}", f"{path}{at}")


def check_defaults(schema: Schema, path: str) -> list[FieldError]:
    """What is wrong with the defaults of a node and below; defaults inside additionalProperties are not looked at."""
    found: list[FieldError] = []
    if schema.doc.get("default") is not None:
        found += _check_default(schema, f"{path}.default")
    if schema.items is not None:
        found += check_defaults(schema.items, f"{path}.items")
    for name, child in schema.properties.items():
        found += check_defaults(child, f"{path}.properties[{name}]")
    return found


def _check_default(schema: Schema, path: str) -> list[FieldError]:
    default = schema.doc["default"]
    found: list[FieldError] = []
    if compile_pruning(schema, is_root=schema.is_embedded_resource)(copied(default), "", True):
        found.append(FieldError.invalid(path, default, "must not have unknown fields"))
    wrong = check_embedded(schema, default, check_metadata_shape, path) or explain(schema, default, base=path)
    if not wrong and (rules := rule_tree(schema, is_root=schema.is_embedded_resource)) is not None:
        wrong = [
            error._replace(path=path if error.path == NO_PATH else f"{path}.{error.path}")
            for error in rules.validate(copied(default), copied(default))
        ]
    return found + wrong
