"""From a stored CustomResourceDefinition to the kinds that it serves.

A definition's name is its plural and group, so the kind behind a request is one look-up away, and what was made of a
definition's bytes is remembered: it depends on nothing else.
"""

from __future__ import annotations

from functools import cache, lru_cache, partial
from typing import TYPE_CHECKING, Any

import orjson

from attractor.apiserver.kinds.builtin.decode import decoder
from attractor.apiserver.kinds.custom.resource import CustomStrategy, check_embedded_metadata
from attractor.apiserver.kinds.custom.webhook_conversion import RemoteConversion
from attractor.apiserver.kinds.served_kind import Kind, ScalePaths
from attractor.apply.prune import Unconvertible
from attractor.k8s import catalog
from attractor.objects.fields import SelectableFields
from attractor.objects.gvk import GroupVersionKind, version_order
from attractor.schema import Schema
from attractor.schema.custom import CustomSchema

if TYPE_CHECKING:
    from collections.abc import Mapping

    from attractor.apiserver.kinds.builtin.decode import Decode
    from attractor.apiserver.transaction import Transaction
    from attractor.apply.manager import Convert
    from attractor.objects.json_types import JsonObject

PREFIX = "apiextensions.k8s.io/customresourcedefinitions/"
OBJECT_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"


def find_custom(txn: Transaction, group: str, version: str, resource: str) -> Kind | None:
    """The custom kind behind a request; None when no established definition serves it."""
    entry = txn.get(f"{PREFIX}{resource}.{group}")
    kind = served_kinds(entry.value).get(version) if entry else None
    return kind.bound_to(txn) if kind else None


@lru_cache(maxsize=1024)
def served_kinds(value: bytes) -> Mapping[str, Kind]:
    """The kinds that a stored definition serves, by version; none before it is established."""
    definition: JsonObject = orjson.loads(value)
    if not is_established(definition):
        return {}
    versions = definition["spec"]["versions"]
    storage = next((version for version in versions if version.get("storage")), versions[0])
    schemas = {f"{definition['spec']['group']}/{one['name']}": _with_metadata(_document(one)) for one in versions}
    convert = partial(_in_version, schemas)
    return {one["name"]: _kind(definition, one, storage, convert) for one in versions if one.get("served")}


def is_established(definition: JsonObject) -> bool:
    """Whether the definition's condition Established is true."""
    conditions = (definition.get("status") or {}).get("conditions") or ()
    return any(item["type"] == "Established" and item["status"] == "True" for item in conditions)


def _is_terminating(definition: JsonObject) -> bool:
    conditions = definition["status"].get("conditions") or ()
    return any(item["type"] == "Terminating" and item["status"] == "True" for item in conditions)


def _document(version: JsonObject) -> JsonObject:
    """The schema of a version; of one without it, that of anything."""
    doc: JsonObject | None = (version.get("schema") or {}).get("openAPIV3Schema")
    return doc or {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def _deprecation(spec: JsonObject, version: JsonObject) -> str:
    """What callers of a deprecated version are told: what its author says, or which newer version to use."""
    if not version.get("deprecated"):
        return ""
    if version.get("deprecationWarning"):
        return str(version["deprecationWarning"])
    group, name, kind = spec["group"], version["name"], spec["names"]["kind"]
    said = f"{group}/{name} {kind} is deprecated"
    newer = [one["name"] for one in spec["versions"] if one.get("served") and not one.get("deprecated")]
    newer = sorted((one for one in newer if version_order(one) < version_order(name)), key=version_order)
    return f"{said}; use {group}/{newer[0]} {kind}" if newer else said


def _shape(definition: JsonObject, storage: JsonObject) -> CustomSchema | None:
    """The shape that objects take on their way into and out of the store; None where they have it already.

    They have it where there is one version and it has not changed: all that is stored was read by that schema.
    """
    is_first = len(definition["spec"]["versions"]) == 1 and definition["metadata"].get("generation", 1) == 1
    return None if is_first else CustomSchema(_document(storage))


def _in_version(schemas: Mapping[str, Schema], obj: JsonObject, api_version: str) -> tuple[JsonObject, Schema]:
    """An object as it would be in another version, to which nothing but its name changes."""
    if api_version not in schemas:
        raise Unconvertible(f"request to convert CR to an invalid group/version: {api_version}")
    return {**obj, "apiVersion": api_version}, schemas[api_version]


def _kind(definition: JsonObject, version: JsonObject, storage: JsonObject, convert: Convert) -> Kind:
    spec = definition["spec"]
    accepted = definition["status"]["acceptedNames"]
    gvk = GroupVersionKind(spec["group"], version["name"], accepted["kind"])
    doc = _document(version)
    subresources = version.get("subresources") or {}
    scale = _scale_paths(subresources["scale"]) if subresources.get("scale") else None
    has_status = subresources.get("status") is not None
    schema = CustomSchema(doc, check_metadata=check_embedded_metadata)
    strategy = CustomStrategy(gvk, schema, _metadata_decoder(), has_status=has_status, scale=scale)
    remote = _remote(spec, gvk, storage["name"])
    return Kind(
        gvk=gvk,
        resource=accepted["plural"],
        namespaced=spec["scope"] == "Namespaced",
        strategy=strategy,
        schema=_with_metadata(doc),
        list_kind=accepted.get("listKind") or f"{accepted['kind']}List",
        singular=accepted.get("singular") or accepted["kind"].lower(),
        storage_version=storage["name"],
        remote=remote,
        stored_shape=None if remote else _shape(definition, storage),
        served_shape=None if remote or version is storage else schema,
        in_version=None if remote else convert,
        deprecation=_deprecation(spec, version),
        is_terminating=_is_terminating(definition),
        subresources=frozenset(name for name in ("status", "scale") if subresources.get(name) is not None),
        is_custom=True,
        scale=scale,
        selectable=_selectable(version),
    )


def _remote(spec: JsonObject, gvk: GroupVersionKind, storage: str) -> RemoteConversion | None:
    conversion = spec.get("conversion") or {}
    if conversion.get("strategy") != "Webhook":
        return None
    return RemoteConversion.of(conversion["webhook"], gvk, gvk._replace(version=storage))


@cache
def _metadata_decoder() -> Decode:
    return decoder(OBJECT_META)


def _with_metadata(doc: JsonObject) -> Schema:
    """The schema that field ownership and merging go by: the definition's, with metadata as every kind has it."""
    identity: dict[str, Any] = {
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        "metadata": {"$ref": OBJECT_META},
    }
    return Schema({**doc, "properties": {**(doc.get("properties") or {}), **identity}}, catalog.definition)


def _scale_paths(scale: JsonObject) -> ScalePaths:
    selector = scale.get("labelSelectorPath")
    return ScalePaths(
        _path(scale["specReplicasPath"]), _path(scale["statusReplicasPath"]), _path(selector) if selector else None
    )


def _path(text: str) -> tuple[str, ...]:
    return tuple(text.removeprefix(".").split("."))


def _selectable(version: JsonObject) -> SelectableFields:
    fields = [item["jsonPath"].removeprefix(".") for item in version.get("selectableFields") or ()]
    return SelectableFields.of(*fields)
