"""The catalog of served resources: built-in kinds and those of established CustomResourceDefinitions.

``catalog(snapshot)`` is the one source of discovery and OpenAPI. Groups, versions and resources stand in the order in
which Kubernetes lists them: built-in groups first, then custom groups by name; within a group stable versions before
beta before alpha, higher numbers first.

Guarantee: the same definitions give the same catalog object for as long as it is remembered, so callers may hold what
they derive from one in caches keyed by it.
"""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

import orjson

from attractor.k8s import catalog as builtin
from attractor.k8s.catalog import KUBERNETES_VERSION, ResourceInfo, SubresourceInfo
from attractor.objects.gvk import GroupVersion, GroupVersionResource, version_order

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from attractor.objects.json_types import JsonObject
    from attractor.store.contract import Snapshot

DEFINITIONS = "apiextensions.k8s.io/customresourcedefinitions/"
"""Where the store keeps CustomResourceDefinitions."""

_VERBS = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
_VERBS_WHILE_TERMINATING = ("delete", "deletecollection", "get", "list", "watch")
_SUBRESOURCE_VERBS = ("get", "patch", "update")


class CustomVersion(NamedTuple):
    """One served version of a custom kind: how discovery shows it, and what its definition says."""

    info: ResourceInfo
    version: JsonObject
    """The entry of the definition's ``spec.versions``."""
    list_kind: str


@dataclass(frozen=True, eq=False)
class Catalog:
    """Groups, versions and resources that are served; told apart by identity, so that caches may be keyed by it."""

    tag: str
    """Changes whenever anything in the catalog does."""
    groups: Mapping[str, Mapping[str, Sequence[ResourceInfo]]]
    """Resources by group and version; the core group is the empty string and comes first."""
    custom: Mapping[GroupVersionResource, CustomVersion] = field(default_factory=dict)

    @cached_property
    def group_versions(self) -> Sequence[GroupVersion]:
        """Every served group and version, in order."""
        return tuple(GroupVersion(group, version) for group, versions in self.groups.items() for version in versions)

    @cached_property
    def custom_groups(self) -> frozenset[str]:
        """The groups that only definitions make."""
        return frozenset(gvr.group for gvr in self.custom)

    def resources(self, group: str, version: str) -> Sequence[ResourceInfo] | None:
        """The resources of a group and version; None when it is not served."""
        return self.groups.get(group, {}).get(version)

    def list_kind(self, info: ResourceInfo) -> str:
        """The kind of the lists of a resource."""
        return info.list_kind if info.definition else self.custom[info.gvr].list_kind


def catalog(snapshot: Snapshot) -> Catalog:
    """What is served at a snapshot."""
    return catalog_of(tuple(entry.value for entry in snapshot.range(DEFINITIONS)))


@lru_cache(maxsize=8)
def catalog_of(definitions: tuple[bytes, ...]) -> Catalog:
    """What is served when these are the stored definitions."""
    digest = sha256(KUBERNETES_VERSION.encode())
    for value in definitions:
        digest.update(sha256(value).digest())
    custom = {one.info.gvr: one for value in definitions for one in _served(value)}
    groups: dict[str, dict[str, list[ResourceInfo]]] = {}
    for info in builtin.resources():
        if info.is_enabled_by_default:
            groups.setdefault(info.group, {}).setdefault(info.version, []).append(info)
    by_group: dict[str, list[ResourceInfo]] = {}
    for gvr, one in custom.items():
        by_group.setdefault(gvr.group, []).append(one.info)
    for name in sorted(by_group):
        _add_group(groups.setdefault(name, {}), by_group[name])
    return Catalog(digest.hexdigest(), groups, custom)


def _add_group(versions: dict[str, list[ResourceInfo]], found: Iterable[ResourceInfo]) -> None:
    """Add custom resources to a group; built-in resources of the same name are not replaced."""
    by_version: dict[str, list[ResourceInfo]] = {}
    for info in found:
        by_version.setdefault(info.version, []).append(info)
    for version in sorted(by_version, key=version_order):
        served = versions.setdefault(version, [])
        taken = {info.resource for info in served}
        more = [info for info in by_version[version] if info.resource not in taken]
        served += sorted(more, key=lambda info: info.resource)


@lru_cache(maxsize=1024)
def _served(value: bytes) -> Sequence[CustomVersion]:
    definition: JsonObject = orjson.loads(value)
    conditions = {one["type"]: one["status"] for one in (definition.get("status") or {}).get("conditions") or ()}
    if conditions.get("Established") != "True":
        return ()
    verbs = _VERBS_WHILE_TERMINATING if conditions.get("Terminating") == "True" else _VERBS
    spec, names = definition["spec"], definition["status"]["acceptedNames"]
    storage = next((version["name"] for version in spec["versions"] if version.get("storage")), "")
    served = [version for version in spec["versions"] if version.get("served")]
    list_kind = names.get("listKind") or f"{names['kind']}List"
    order = tuple(sorted((version["name"] for version in served), key=version_order))
    return tuple(
        CustomVersion(_info(spec, names, version, verbs, storage, order), version, list_kind) for version in served
    )


def _info(
    spec: JsonObject,
    names: JsonObject,
    version: JsonObject,
    verbs: tuple[str, ...],
    storage: str,
    order: tuple[str, ...],
) -> ResourceInfo:
    group, kind, at = spec["group"], names["kind"], version["name"]
    subresources = {}
    given = version.get("subresources") or {}
    if given.get("status") is not None:
        subresources["status"] = SubresourceInfo("status", group, at, kind, _SUBRESOURCE_VERBS)
    if given.get("scale") is not None:
        subresources["scale"] = SubresourceInfo("scale", "autoscaling", "v1", "Scale", _SUBRESOURCE_VERBS)
    return ResourceInfo(
        group=group,
        version=at,
        kind=kind,
        resource=names["plural"],
        singular=names.get("singular") or kind.lower(),
        namespaced=spec["scope"] == "Namespaced",
        verbs=verbs,
        short_names=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
        subresources=subresources,
        group_versions=order,
        storage_version_hash=storage_version_hash(group, storage, kind),
    )


def storage_version_hash(group: str, version: str, kind: str) -> str:
    """The name of a storage version that discovery shows: equal for servers that store alike.

    >>> storage_version_hash("apps", "v1", "Deployment")
    '8aSe+NMegvE='
    """
    return b64encode(sha256(f"{group}/{version}/{kind}".encode()).digest()[:8]).decode()
