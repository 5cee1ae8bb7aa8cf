"""The schemas of OpenAPI documents: what built-in definitions refer to, and what definitions of custom kinds become."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attractor.httpd.formats.openapi.paths import META
from attractor.k8s import catalog

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from attractor.httpd.formats.catalog import CustomVersion
    from attractor.objects.gvk import GroupVersion, GroupVersionKind
    from attractor.objects.json_types import JsonObject

REF = "#/components/schemas/"
GVK = "x-kubernetes-group-version-kind"
OBJECT_META, LIST_META = f"{META}.ObjectMeta", f"{META}.ListMeta"
_CONVENTIONS = "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md"
_OF_MANY_GROUPS = frozenset({f"{META}.DeleteOptions", f"{META}.WatchEvent"})
API_VERSION: JsonObject = {
    "description": "APIVersion defines the versioned schema of this representation of an object. Servers should "
    "convert recognized schemas to the latest internal value, and may reject unrecognized values. More info: "
    f"{_CONVENTIONS}#resources",
    "type": "string",
}
KIND: JsonObject = {
    "description": "Kind is a string value representing the REST resource this object represents. Servers may infer "
    "this from the endpoint the client submits requests to. Cannot be updated. In CamelCase. More info: "
    f"{_CONVENTIONS}#types-kinds",
    "type": "string",
}

BEARER_TOKEN: JsonObject = {
    "BearerToken": {
        "description": "Bearer Token authentication",
        "type": "apiKey",
        "name": "authorization",
        "in": "header",
    }
}
"""How clients authenticate, as both versions of the documents say it."""


def gvk_mark(gvk: GroupVersionKind) -> JsonObject:
    """How OpenAPI names a kind."""
    return {"group": gvk.group, "version": gvk.version, "kind": gvk.kind}


def reference(name: str, description: str = "") -> JsonObject:
    """A reference to a schema, with words of its own if any."""
    ref: JsonObject = {"$ref": REF + name}
    return {"allOf": [ref], "description": description} if description else ref


def builtin_schemas(names: Iterable[str], served: GroupVersion | None = None) -> dict[str, JsonObject]:
    """These definitions and all that they refer to, by name, with descriptions.

    Kinds of every group are marked as those of one, for a document about it.
    """
    found: dict[str, JsonObject] = {}
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        doc = catalog.document(name)
        _limit(doc, catalog.enums(name))
        if name in _OF_MANY_GROUPS and served is not None:
            own = (("", "v1"), tuple(served))
            doc[GVK] = [mark for mark in doc[GVK] if (mark["group"], mark["version"]) in own]
        found[name] = doc
        waiting += [ref.removeprefix(REF) for ref in _references(doc)]
    return found


def _limit(doc: JsonObject, enums: Mapping[str, tuple[str, list[str], str]]) -> None:
    """Say, in place, which values fields may have; stored objects are judged by rules of their own."""
    for field, (where, values, added) in enums.items():
        sub = doc["properties"][field]
        if added:
            sub["description"] = sub.get("description", "") + added
        if where:
            sub[where] = {**sub[where], "enum": values}
        else:
            sub["enum"] = values


def _references(doc: Any) -> Iterator[str]:
    if isinstance(doc, dict):
        ref = doc.get("$ref")
        if isinstance(ref, str):
            yield ref
        for value in doc.values():
            yield from _references(value)
    elif isinstance(doc, list):
        for value in doc:
            yield from _references(value)


def custom_schema(custom: CustomVersion) -> JsonObject:
    """The schema of a custom kind, completed by what every object has."""
    given = (custom.version.get("schema") or {}).get("openAPIV3Schema")
    if given is None:
        return {"type": "object", GVK: [gvk_mark(custom.info.gvk)]}
    doc = _completed(given)
    doc["properties"] = {
        **(doc.get("properties") or {}),
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": reference(OBJECT_META, f"Standard object's metadata. More info: {_CONVENTIONS}#metadata"),
    }
    doc[GVK] = [gvk_mark(custom.info.gvk)]
    fields = [one["jsonPath"].removeprefix(".") for one in custom.version.get("selectableFields") or ()]
    if fields:
        doc["x-kubernetes-selectable-fields"] = [{"fieldPath": field} for field in fields]
    return doc


def _completed(doc: JsonObject) -> JsonObject:
    """A copy in which embedded resources have their identity and int-or-string says what it means."""
    doc = dict(doc)
    if isinstance(doc.get("properties"), dict):
        doc["properties"] = {key: _completed(value) for key, value in doc["properties"].items()}
    for name in ("items", "additionalProperties"):
        if isinstance(doc.get(name), dict):
            doc[name] = _completed(doc[name])
    if doc.get("x-kubernetes-int-or-string") and "anyOf" not in doc and "allOf" not in doc:
        doc["anyOf"] = [{"type": "integer"}, {"type": "string"}]
    if doc.get("x-kubernetes-embedded-resource"):
        identity = {
            "apiVersion": API_VERSION,
            "kind": KIND,
            "metadata": reference(OBJECT_META, f"Standard object's metadata. More info: {_CONVENTIONS}#metadata"),
        }
        doc["properties"] = {**(doc.get("properties") or {}), **identity}
        doc["required"] = list(dict.fromkeys([*(doc.get("required") or ()), "kind", "apiVersion"]))
    return doc


def custom_list_schema(custom: CustomVersion, name: str) -> JsonObject:
    """The schema of a list of custom objects; ``name`` is the definition of one of them."""
    gvk = custom.info.gvk
    return {
        "description": f"{custom.list_kind} is a list of {gvk.kind}",
        "type": "object",
        "required": ["items"],
        "properties": {
            "apiVersion": API_VERSION,
            "items": {
                "description": f"List of {custom.info.resource}. More info: {_CONVENTIONS}",
                "type": "array",
                "items": reference(name),
            },
            "kind": KIND,
            "metadata": reference(LIST_META, f"Standard list metadata. More info: {_CONVENTIONS}#types-kinds"),
        },
        GVK: [gvk_mark(gvk._replace(kind=custom.list_kind))],
    }
