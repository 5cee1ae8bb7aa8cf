"""The structural schema of a built-in type inside an author's kind, made from the schema that Kubernetes publishes.

    class WorkerSpec(Struct):
        resources: ResourceRequirements = ResourceRequirements()
        template: PodTemplateSpec

The published schema knows what the Go types say and the Python classes do not: which fields are required, which lists
are maps and by which keys. It is written as controller-gen writes it: references are resolved, amounts and ports are
``x-kubernetes-int-or-string``, the metadata of a template has what a template can say, and a type that contains itself
keeps any fields. Descriptions are left out: those of a PodSpec alone exceed what ``kubectl apply`` can note down.
"""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING

from attractor.k8s import archive
from attractor.objects.resource.scalars import QUANTITY_PATTERN

if TYPE_CHECKING:
    from attractor.objects.json_types import JsonObject

_REFERENCE = "#/components/schemas/"
_META = "io.k8s.apimachinery.pkg.apis.meta.v1"
_TEXTS: JsonObject = {"type": "object", "additionalProperties": {"type": "string"}}
_INT_OR_STRING: JsonObject = {"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": True}
_ANY_FIELDS: JsonObject = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
_KNOWN: dict[str, JsonObject] = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": {**_INT_OR_STRING, "pattern": QUANTITY_PATTERN},
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": _INT_OR_STRING,
    f"{_META}.ObjectMeta": {
        "type": "object",
        "properties": {
            "annotations": _TEXTS,
            "finalizers": {"type": "array", "items": {"type": "string"}},
            "labels": _TEXTS,
            "name": {"type": "string"},
            "namespace": {"type": "string"},
        },
    },
}
"""Types that are written in a way of their own."""
_EMPTY: JsonObject = {"string": "", "integer": 0}
_KEPT = (
    "type",
    "format",
    "enum",
    "required",
    "x-kubernetes-list-type",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-map-type",
)


def published_schema(definition: str) -> JsonObject:
    """The structural schema of a built-in type, such as ``io.k8s.api.core.v1.PodSpec``; a new document at each call."""
    return _resolved(definition, ())


def _resolved(definition: str, around: tuple[str, ...]) -> JsonObject:
    if definition in _KNOWN:
        return deepcopy(_KNOWN[definition])
    if definition in around:
        return dict(_ANY_FIELDS)
    found = archive.entry("schema", definition)
    return dict(_ANY_FIELDS) if found is None else _structural(found, (*around, definition))


def _structural(published: JsonObject, around: tuple[str, ...]) -> JsonObject:
    reference = published.get("$ref") or next((one["$ref"] for one in published.get("allOf", ()) if "$ref" in one), "")
    made = _resolved(reference.removeprefix(_REFERENCE), around) if reference else {}
    made |= {name: deepcopy(published[name]) for name in _KEPT if name in published}
    if properties := published.get("properties"):
        made["properties"] = {name: _structural(one, around) for name, one in properties.items()}
    for name in ("items", "additionalProperties"):
        if isinstance(published.get(name), dict):
            made[name] = _structural(published[name], around)
    if published.get("default"):  # empty ones only say that Go has no other value
        made["default"] = deepcopy(published["default"])
    for key in made.get("x-kubernetes-list-map-keys", ()):
        _identify(made["items"], key)
    return made if _says_something(made) else dict(_ANY_FIELDS)


def _identify(item: JsonObject, key: str) -> None:
    """See that an item's key has a value: Go's empty one where it is neither required nor has a default."""
    field = item["properties"][key]
    if key not in item.get("required", ()):
        field.setdefault("default", _EMPTY[field["type"]])


def _says_something(made: JsonObject) -> bool:
    """Whether anything is allowed: an object without a word about its fields would lose them all."""
    if not made or made == {"type": "object"}:
        return False
    return "type" in made or "x-kubernetes-int-or-string" in made
