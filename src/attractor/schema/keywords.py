"""Which OpenAPI keywords a CustomResourceDefinition may use and how, and whether its rules are sound and affordable."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from attractor.cel.declaration import cardinality, declare
from attractor.cel.rules import compile_rule
from attractor.objects.field import FieldError, repeated
from attractor.schema.go_form import rule_form
from attractor.schema.node import Schema

if TYPE_CHECKING:
    from attractor.cel.rules import CompiledRule
    from attractor.objects.json_types import JsonObject

RULE_COST_LIMIT = 10_000_000
SCHEMA_COST_LIMIT = 100_000_000
_TYPES = ("array", "boolean", "integer", "number", "object", "string")
_REASONS = ("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")
_META_FIELDS = frozenset({"metadata", "kind", "apiVersion"})
_UNSUPPORTED = ("id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref")
_NEWLINE = re.compile(r"[\n\r]")
_FIELD_PATH = re.compile(r"(?:\.([^.\[\]']+)|\['((?:[^'\\]|\\.)*)'\])")
_MOST_EXPENSIVE = 4


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a node stands: what is forbidden there, and how often it can occur in one object."""

    path: str
    is_root: bool = False
    inside_meta: bool = False
    no_defaults_because: str | None = None
    uncorrelatable: str | None = None
    occurrences: int | None = 1
    with_rules: bool = True

    def at(self, step: str) -> _Place:
        """The place of a part."""
        return replace(self, path=f"{self.path}{step}", is_root=False)

    def repeated(self, most: Any) -> _Place:
        """The place of what may occur many times; unbounded stays unbounded."""
        if self.occurrences is None or most is None:
            return replace(self, occurrences=None)
        return replace(self, occurrences=self.occurrences * max(0, int(most)))

    def without_old(self, path: str) -> _Place:
        """A place where old values do not correspond; the highest such path is the one told."""
        return self if self.uncorrelatable is not None else replace(self, uncorrelatable=path)


@dataclass(slots=True)
class _Findings:
    """Errors so far, those of rules apart, and what the rules cost together."""

    schema: list[FieldError] = field(default_factory=list)
    rules: list[FieldError] = field(default_factory=list)
    costs: list[tuple[float, str]] = field(default_factory=list)


def check_keywords(schema: Schema, path: str, *, with_rules: bool = True) -> list[FieldError]:
    """What is wrong with the keywords of a schema; rules are compiled only ``with_rules``."""
    found = _Findings()
    _check(schema, _Place(path, is_root=True, with_rules=with_rules), found)
    errors = found.schema + found.rules
    total = sum(cost for cost, _ in found.costs)
    if total > SCHEMA_COST_LIMIT:
        why = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"
        told = [one for one in found.costs if one[0] >= SCHEMA_COST_LIMIT / 100]
        most = sorted(told, reverse=True)[:_MOST_EXPENSIVE]
        errors += [FieldError.forbidden(at, why) for _, at in most]
        name = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema"
        errors.append(FieldError.forbidden(path, cost_message(name, total, SCHEMA_COST_LIMIT)))
    return errors


def cost_message(name: str, cost: float, limit: float) -> str:
    """How Kubernetes says that a rule may cost too much."""
    factor = cost / limit
    told = "more than 100x" if factor > 100 else f"{factor:f}x" if factor < 1.5 else f"{factor:.1f}x"
    return (
        f"{name} exceeds budget by factor of {told} (try simplifying the rule, or adding maxItems, maxProperties, and "
        "maxLength where arrays, maps, and strings are declared)"
    )


def _check(schema: Schema, place: _Place, found: _Findings) -> None:
    before = len(found.schema)
    doc, path = schema.doc, place.path
    found.schema += _check_allowed(doc, place)
    if doc.get("uniqueItems"):
        detail = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        found.schema.append(FieldError.forbidden(f"{path}.uniqueItems", detail))
    _check_members(schema, place, found)
    for junctor in ("allOf", "oneOf", "anyOf"):
        for index, branch in enumerate(doc.get(junctor) or ()):
            if isinstance(branch, dict):
                _check(Schema(branch), replace(place.at(f".{junctor}[{index}]"), with_rules=False), found)
    if isinstance(doc.get("not"), dict):
        _check(Schema(doc["not"]), replace(place.at(".not"), with_rules=False), found)
    if schema.items is not None:
        inner = place.at(".items").repeated(doc.get("maxItems"))
        if doc.get("x-kubernetes-list-type") != "map":
            inner = inner.without_old(path)
        _check(schema.items, inner, found)
    found.schema += _check_list_and_map_types(schema, path)
    rules = [rule for rule in doc.get("x-kubernetes-validations") or () if isinstance(rule, dict)]
    for index, rule in enumerate(rules):
        found.schema += _check_rule_text(rule, schema, f"{path}.x-kubernetes-validations[{index}]")
    if rules and place.with_rules and len(found.schema) == before:
        _check_rules(schema, rules, place, found)


def _check_members(schema: Schema, place: _Place, found: _Findings) -> None:
    doc, path = schema.doc, place.path
    declared = doc.get("additionalProperties")
    if declared is not None:
        if schema.properties and declared is not True:
            detail = "additionalProperties and properties are mutual exclusive"
            found.schema.append(FieldError.forbidden(f"{path}.additionalProperties", detail))
        if isinstance(declared, dict) and schema.additional is not None:
            inner = place.at(".additionalProperties").repeated(doc.get("maxProperties"))
            if place.inside_meta:
                inner = replace(inner, no_defaults_because="inside additionalProperties applying to object metadata")
            _check(schema.additional, inner, found)
    for name, child in schema.properties.items():
        inner = place.at(f".properties[{name}]")
        if schema.map_type == "atomic":
            inner = inner.without_old(path)
        if (place.is_root or schema.is_embedded_resource) and name in _META_FIELDS:
            inner = replace(inner, inside_meta=True)
            if place.is_root:
                inner = replace(inner, no_defaults_because=f"in top-level {name}")
        _check(child, inner, found)


def _check_allowed(doc: JsonObject, place: _Place) -> list[FieldError]:
    path, kind = place.path, doc.get("type") or ""
    found = []
    if kind and kind not in _TYPES:
        found.append(FieldError.unsupported(f"{path}.type", kind, _TYPES))
    if doc.get("default") is not None and place.no_defaults_because is not None:
        found.append(FieldError.forbidden(f"{path}.default", f"must not be set {place.no_defaults_because}"))
    found += [
        FieldError.forbidden(f"{path}.{name}", f"{name} is not supported") for name in _UNSUPPORTED if doc.get(name)
    ]
    if kind == "null":
        detail = "type cannot be set to null, use nullable as an alternative"
        found.append(FieldError.forbidden(f"{path}.type", detail))
    if isinstance(doc.get("items"), list):
        found.append(FieldError.forbidden(f"{path}.items", "items must be a schema object and not an array"))
    if place.inside_meta and doc.get("x-kubernetes-embedded-resource"):
        at = f"{path}.x-kubernetes-embedded-resource"
        found.append(FieldError.forbidden(at, "must not be used inside of resource meta"))
    if doc.get("x-kubernetes-preserve-unknown-fields") is False:
        at = f"{path}.x-kubernetes-preserve-unknown-fields"
        found.append(FieldError.invalid(at, False, "must be true or undefined"))
    return found


def _needs_type(doc: JsonObject, keyword: str, wanted: str, path: str) -> list[FieldError]:
    kind = doc.get("type") or ""
    if doc.get(keyword) is None or kind == wanted:
        return []
    detail = f"must be {wanted} if {keyword} is specified"
    return [FieldError.invalid(f"{path}.type", kind, detail) if kind else FieldError.required(f"{path}.type", detail)]


def _check_list_and_map_types(schema: Schema, path: str) -> list[FieldError]:
    doc = schema.doc
    map_type, list_type = doc.get("x-kubernetes-map-type"), doc.get("x-kubernetes-list-type")
    found = _needs_type(doc, "x-kubernetes-map-type", "object", path)
    if map_type is not None and map_type not in {"atomic", "granular"}:
        found.append(FieldError.unsupported(f"{path}.x-kubernetes-map-type", map_type, ("atomic", "granular")))
    found += _needs_type(doc, "x-kubernetes-list-type", "array", path) or _check_set_items(schema, path)
    if list_type is not None and list_type not in {"atomic", "set", "map"}:
        found.append(FieldError.unsupported(f"{path}.x-kubernetes-list-type", list_type, ("atomic", "set", "map")))
    if doc.get("x-kubernetes-list-map-keys") and list_type != "map":
        detail, at = "must be map if x-kubernetes-list-map-keys is non-empty", f"{path}.x-kubernetes-list-type"
        found.append(
            FieldError.required(at, detail) if list_type is None else FieldError.invalid(at, list_type, detail)
        )
    if list_type == "map":
        found += _check_map_list(schema, path)
    if list_type in {"set", "map"} and schema.items is not None:
        found += _check_keys_present(schema, schema.items, path)
    return found


def _check_set_items(schema: Schema, path: str) -> list[FieldError]:
    item = schema.items
    if schema.doc.get("x-kubernetes-list-type") != "set" or item is None:
        return []
    detail = "must be atomic as item of a list with x-kubernetes-list-type=set"
    said = item.doc.get("x-kubernetes-list-type")
    if item.type == "array" and said not in {None, "atomic"}:
        return [FieldError.invalid(f"{path}.items.x-kubernetes-list-type", said, detail)]
    if item.type == "object" and item.map_type != "atomic":
        return [FieldError.invalid(f"{path}.items.x-kubernetes-map-type", said, detail)]
    return []


def _check_map_list(schema: Schema, path: str) -> list[FieldError]:
    found = []
    item, keys = schema.items, schema.list_map_keys
    at = f"{path}.x-kubernetes-list-map-keys"
    if not keys:
        found.append(FieldError.required(at, "must not be empty if x-kubernetes-list-type is map"))
    if item is None:
        found.append(FieldError.required(f"{path}.items", "must have a schema if x-kubernetes-list-type is map"))
        return found
    if item.type != "object":
        detail = "must be object if parent array's x-kubernetes-list-type is map"
        return [*found, FieldError.invalid(f"{path}.items.type", item.type, detail)]
    if any(key not in item.properties for key in keys):
        found.append(FieldError.invalid(at, list(keys), "entries must all be names of item properties"))
    for key in keys:
        child = item.properties.get(key)
        if child is not None and child.type in {"array", "object"}:
            detail = "must be a scalar type if parent array's x-kubernetes-list-type is map"
            found.append(FieldError.invalid(f"{path}.items.properties[{key}].type", item.type, detail))
    if repeated(keys):
        found.append(FieldError.invalid(at, list(keys), "must not contain duplicate entries"))
    return found


def _check_keys_present(schema: Schema, item: Schema, path: str) -> list[FieldError]:
    found = []
    if item.is_nullable:
        detail = f"cannot be nullable when x-kubernetes-list-type is {schema.list_type}"
        found.append(FieldError.forbidden(f"{path}.items.nullable", detail))
    required = item.doc.get("required") or ()
    for key in schema.list_map_keys if schema.list_type == "map" else ():
        child = item.properties.get(key)
        if child is None:
            continue
        at = f"{path}.items.properties[{key}]"
        if key not in required and child.doc.get("default") is None:
            detail = (
                "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property"
            )
            found.append(FieldError.required(f"{at}.default", detail))
        if child.is_nullable:
            detail = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable"
            found.append(FieldError.forbidden(f"{at}.nullable", detail))
    return found


def _check_rule_text(rule: JsonObject, schema: Schema, path: str) -> list[FieldError]:
    found = []
    text, message, wording, below = (
        str(rule.get(n) or "") for n in ("rule", "message", "messageExpression", "fieldPath")
    )
    if not text.strip():
        found.append(FieldError.required(f"{path}.rule", "rule is not specified"))
    elif message and not message.strip():
        found.append(FieldError.invalid(f"{path}.message", message, "must be non-empty if specified"))
    elif _NEWLINE.search(message.strip()):
        found.append(FieldError.invalid(f"{path}.message", message, "must not contain line breaks"))
    elif _NEWLINE.search(text.strip()) and not message.strip():
        found.append(FieldError.required(f"{path}.message", "message must be specified if rule contains line breaks"))
    if wording and not wording.strip():
        detail = "messageExpression must be non-empty if specified"
        found.append(FieldError.required(f"{path}.messageExpression", detail))
    if rule.get("reason") is not None and rule["reason"] not in _REASONS:
        found.append(FieldError.unsupported(f"{path}.reason", rule["reason"], _REASONS))
    at = f"{path}.fieldPath"
    if below and not below.strip():
        found.append(FieldError.invalid(at, below, "must be non-empty if specified"))
    if _NEWLINE.search(below):
        found.append(FieldError.invalid(at, below, "must not contain line breaks"))
    if below and not is_field_path(below, schema):
        found.append(FieldError.invalid(at, below, "must be a valid path"))
    return found


def is_field_path(text: str, schema: Schema) -> bool:
    """Whether a path such as ``.spec['x-y']`` leads to a declared field."""
    at, node = 0, schema
    while at < len(text):
        step = _FIELD_PATH.match(text, at)
        if step is None:
            return False
        name = step.group(1) or re.sub(r"\\(.)", r"\1", step.group(2) or "")
        child = node.properties.get(name) if node.properties else node.additional
        if child is None:
            return False
        at, node = step.end(), child
    return True


def _check_rules(schema: Schema, rules: list[JsonObject], place: _Place, found: _Findings) -> None:
    base = f"{place.path}.x-kubernetes-validations"
    declared = declare(schema, is_root=place.is_root or schema.is_embedded_resource)
    if declared is None:
        detail = "internal error: failed to retrieve type information for x-kubernetes-validations"
        found.rules.append(FieldError("InternalError", base, detail))
        return
    occurrences = cardinality(declared.min_size) if place.occurrences is None else place.occurrences
    for index, doc in enumerate(rules):
        compiled = compile_rule(doc, declared)
        path = f"{base}[{index}]"
        cost = compiled.program.max_cost * occurrences if compiled.program is not None and occurrences else 0
        _charge(cost, f"{path}.rule", "estimated rule cost", found)
        if compiled.error is not None:
            found.rules.append(FieldError.invalid(f"{path}.rule", rule_form(doc), compiled.error))
        if compiled.message_error is not None:
            found.rules.append(FieldError.invalid(f"{path}.messageExpression", rule_form(doc), compiled.message_error))
        elif compiled.message is not None:
            _charge(compiled.message.max_cost, f"{path}.messageExpression", "estimated messageExpression cost", found)
        found.rules += _check_old_self(doc, compiled, place, path)


def _charge(cost: float, path: str, name: str, found: _Findings) -> None:
    if cost > RULE_COST_LIMIT:
        found.rules.append(FieldError.forbidden(path, cost_message(name, cost, RULE_COST_LIMIT)))
    if cost >= 1:
        found.costs.append((cost, path))


def _check_old_self(doc: JsonObject, compiled: CompiledRule, place: _Place, path: str) -> list[FieldError]:
    if compiled.is_transition:
        if place.uncorrelatable is None:
            return []
        detail = f"oldSelf cannot be used on the uncorrelatable portion of the schema within {place.uncorrelatable}"
        return [FieldError.invalid(f"{path}.rule", doc["rule"], detail)]
    if doc.get("optionalOldSelf") is not None:
        detail = "may not be set if oldSelf is not used in rule"
        return [FieldError.invalid(f"{path}.optionalOldSelf", doc["optionalOldSelf"], detail)]
    return []
