"""Built-in Kubernetes kinds: their resources, schemas and Go types, from one generated archive, loaded on demand.

    >>> find("apps", "v1", "deployments").kind
    'Deployment'
    >>> find("apps", "v1", "deployments").schema.child("spec").child("replicas").type
    'integer'

Importing this package reads nothing. The first question reads the index of resources; the first look at a schema
reads the definitions of its group and version.

Schemas are OpenAPI v3 as a Kubernetes API server publishes them, without descriptions (``document`` has those too).
Their ``default`` says what Go's decoding and the server's defaulting leave behind, ``{}`` and ``""`` included; it
matters for the keys of list items and is no instruction to add fields.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from attractor.k8s import archive
from attractor.k8s.go_types import GoClass, GoField, GoType, go_type, zero_object
from attractor.k8s.resource_info import GroupInfo, ResourceInfo, SubresourceInfo
from attractor.schema.node import Schema

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from attractor.objects.gvk import GroupVersionKind
    from attractor.objects.json_types import JsonObject

KUBERNETES_VERSION = "1.36.4"
"""The version of Kubernetes whose kinds these are."""

_REF = "#/components/schemas/"


@cache
def groups() -> Sequence[GroupInfo]:
    """The API groups in the order of discovery; the core group comes first."""
    return tuple(GroupInfo(group["name"], tuple(group["versions"])) for group in archive.index()["groups"])


@cache
def resources() -> Sequence[ResourceInfo]:
    """Every resource of every group and version, in the order of discovery."""
    return tuple(_resources_by_name().values())


@cache
def _resources_by_name() -> Mapping[tuple[str, str, str], ResourceInfo]:
    found = {}
    for group in archive.index()["groups"]:
        for version, rows in group["resources"].items():
            for row in rows:
                if "/" not in row["name"]:
                    info = _resource_info(group, version, row, rows)
                    found[info.group, info.version, info.resource] = info
    return found


def _resource_info(group: JsonObject, version: str, row: JsonObject, rows: Sequence[JsonObject]) -> ResourceInfo:
    name, kind = str(group["name"]), str(row["kind"])
    subresources = {}
    for sub in rows:
        parent, slash, subname = sub["name"].partition("/")
        if slash and parent == row["name"]:
            group_version = sub.get("group", name), sub.get("version", version)
            subresources[subname] = SubresourceInfo(subname, *group_version, sub["kind"], tuple(sub["verbs"]))
    of_kind: str = archive.index()["kinds"][f"{name}/{version}/{kind}"]
    return ResourceInfo(
        group=name,
        version=version,
        kind=kind,
        resource=row["name"],
        singular=row["singularName"],
        namespaced=row["namespaced"],
        verbs=tuple(row["verbs"]),
        short_names=tuple(row.get("shortNames", ())),
        categories=tuple(row.get("categories", ())),
        subresources=subresources,
        group_versions=tuple(group["versions"]),
        storage_version_hash=row.get("storageVersionHash", ""),
        definition=of_kind,
        load_schema=lambda: definition(of_kind),
    )


def find(group: str, version: str, resource: str) -> ResourceInfo | None:
    """The resource of that plural name, if there is one."""
    return _resources_by_name().get((group, version, resource))


@cache
def _resources_by_kind() -> Mapping[GroupVersionKind, ResourceInfo]:
    return {info.gvk: info for info in resources()}


def find_kind(gvk: GroupVersionKind) -> ResourceInfo | None:
    """The resource that stores objects of that kind, if there is one."""
    return _resources_by_kind().get(gvk)


def definition_of(gvk: GroupVersionKind) -> str | None:
    """The name of a kind's definition, also for kinds that are no resources: ``PodList``, ``Scale``, ``Eviction``."""
    name: str | None = archive.index()["kinds"].get("/".join(gvk))
    return name


@cache
def definition(name: str) -> Schema:
    """The schema of a definition, by name or by ``$ref``; sub-schemas are resolved when visited.

    Raises KeyError when there is no such definition.
    """
    if name.startswith(_REF):
        return definition(name.removeprefix(_REF))
    doc = archive.entry("schema", name)
    if doc is None:
        raise KeyError(f"Kubernetes {KUBERNETES_VERSION} has no definition {name}")
    return Schema(doc, definition, name)


def document(name: str) -> JsonObject:
    """A definition as OpenAPI v3 publishes it, with descriptions; a new object at each call."""
    doc = dict(definition(name).doc)
    texts = archive.entry("text", name) or {}
    if "" in texts:
        doc["description"] = texts[""]
    if "properties" in doc:
        doc["properties"] = {
            field: {"description": texts[field], **sub} if field in texts else dict(sub)
            for field, sub in doc["properties"].items()
        }
    return doc


def enums(name: str) -> Mapping[str, tuple[str, list[str], str]]:
    """The fields of a definition whose values a server's OpenAPI documents name.

    For each field: where the values stand (in itself when empty, else in its ``items`` or ``additionalProperties``),
    the values, and what its description says of them.
    """
    found: Mapping[str, tuple[str, list[str], str]] = archive.entry("enum", name) or {}
    return found


__all__ = [
    "KUBERNETES_VERSION",
    "GoClass",
    "GoField",
    "GoType",
    "GroupInfo",
    "ResourceInfo",
    "SubresourceInfo",
    "definition",
    "definition_of",
    "document",
    "enums",
    "find",
    "find_kind",
    "go_type",
    "groups",
    "resources",
    "zero_object",
]
