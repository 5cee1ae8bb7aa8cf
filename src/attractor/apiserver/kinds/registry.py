"""Which kind a request is about: a built-in one, or one that a CustomResourceDefinition registers."""

from __future__ import annotations

from functools import cache, lru_cache, partial
from typing import TYPE_CHECKING

from attractor.apiserver.kinds.builtin import strategy_for
from attractor.apiserver.kinds.conversion import CONVERSIONS
from attractor.apiserver.kinds.custom.definition import DefinitionStrategy
from attractor.apiserver.kinds.custom.registry import find_custom
from attractor.apiserver.kinds.served_kind import Kind, ScalePaths
from attractor.apiserver.kinds.service_allocation import allocate_service
from attractor.k8s import catalog

if TYPE_CHECKING:
    from attractor.apiserver.transaction import Transaction
    from attractor.k8s.catalog import ResourceInfo
    from attractor.objects.json_types import JsonObject
    from attractor.schema import Schema

_REPLICAS = ScalePaths(("spec", "replicas"), ("status", "replicas"), ("spec", "selector"), selector_is_text=False)

_RETURN_DELETED = frozenset(
    {
        ("", "persistentvolumeclaims"),
        ("", "persistentvolumes"),
        ("", "pods"),
        ("", "podtemplates"),
        ("", "resourcequotas"),
        ("", "serviceaccounts"),
        ("", "services"),
        ("resource.k8s.io", "deviceclasses"),
        ("resource.k8s.io", "resourceclaims"),
        ("resource.k8s.io", "resourceclaimtemplates"),
        ("resource.k8s.io", "resourceslices"),
        ("storage.k8s.io", "csidrivers"),
        ("storage.k8s.io", "csinodes"),
        ("storage.k8s.io", "storageclasses"),
        ("storage.k8s.io", "volumeattachments"),
        ("storage.k8s.io", "volumeattributesclasses"),
    }
)
"""Kinds whose delete answers with the object, as their published API says."""


def find_kind(txn: Transaction, group: str, version: str, resource: str) -> Kind | None:
    """The kind behind a resource path; None when nothing serves it."""
    found = builtin_kind(group, version, resource)
    if found is None and "." in group:
        found = find_custom(txn, group, version, resource)
    return found


@lru_cache(maxsize=512)
def builtin_kind(group: str, version: str, resource: str) -> Kind | None:
    """The built-in kind of that name, if this server serves its version."""
    info = catalog.find(group, version, resource)
    if info is None or not info.is_enabled_by_default:
        return None
    strategy = strategy_for(info)
    if info.kind == "CustomResourceDefinition":
        strategy = DefinitionStrategy(strategy)
    conversion = CONVERSIONS.get((group, version, info.kind))
    return Kind(
        gvk=info.gvk,
        resource=info.resource,
        namespaced=info.namespaced,
        strategy=strategy,
        schema=info.schema,
        list_kind=info.list_kind,
        singular=info.singular,
        conversion=conversion,
        empty=catalog.zero_object(info.definition),
        subresources=frozenset(info.subresources),
        verbs=frozenset(info.verbs),
        allocate=allocate_service if (group, resource) == ("", "services") else None,
        scale=_REPLICAS if "scale" in info.subresources else None,
        returns_deleted=(group, resource) in _RETURN_DELETED,
        selectable=strategy.selectable,
        in_version=partial(_in_version, resource) if (group, info.kind) in _CONVERTED else None,
    )


_CONVERTED = frozenset((group, kind) for (group, _, kind), way in CONVERSIONS.items() if way.hub.group == group)
"""Kinds with different fields in versions of one group."""


def _in_version(resource: str, obj: JsonObject, api_version: str) -> tuple[JsonObject, Schema | None] | None:
    """A built-in object in another version of its group, and that version's schema; None when it is not served."""
    own, other = (builtin_kind(*one.split("/"), resource) for one in (obj["apiVersion"], api_version))
    if own is None or other is None:
        return None
    hub = own.conversion.to_hub(obj) if own.conversion else obj
    made = other.conversion.from_hub(hub) if other.conversion else hub
    return {**made, "apiVersion": api_version}, other.schema


@cache
def builtin_groups() -> frozenset[str]:
    """The API groups that are served whatever is defined."""
    return frozenset(info.group for info in served_builtin())


def served_builtin() -> list[ResourceInfo]:
    """Every built-in resource that this server serves."""
    return [info for info in catalog.resources() if info.is_enabled_by_default]
