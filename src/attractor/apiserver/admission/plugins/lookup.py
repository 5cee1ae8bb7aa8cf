"""Shared parts of plug-ins for built-in kinds: which write they are asked about, other objects, refusals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attractor.apiserver.kinds.registry import builtin_kind
from attractor.objects.errors import Forbidden
from attractor.objects.gvk import GroupResource

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attractor.apiserver.admission.plugin import Attributes
    from attractor.apiserver.kinds.served_kind import Kind
    from attractor.apiserver.transaction import Transaction
    from attractor.objects.json_types import JsonObject

PODS = GroupResource("", "pods")
CLAIMS = GroupResource("", "persistentvolumeclaims")
TEMPLATES = {
    ("", "podtemplates"): ("template",),
    ("", "replicationcontrollers"): ("spec", "template"),
    ("apps", "daemonsets"): ("spec", "template"),
    ("apps", "deployments"): ("spec", "template"),
    ("apps", "replicasets"): ("spec", "template"),
    ("apps", "statefulsets"): ("spec", "template"),
    ("batch", "cronjobs"): ("spec", "jobTemplate", "spec", "template"),
    ("batch", "jobs"): ("spec", "template"),
}
"""Where kinds of workloads have their pod template."""


def is_about(attributes: Attributes, group: str, resource: str) -> bool:
    """Whether an object of this resource itself is written, not one of its subresources."""
    kind = attributes.kind
    return kind.resource == resource and kind.gvk.group == group and not attributes.op.subresource


def find(txn: Transaction, group: str, resource: str, namespace: str, name: str) -> JsonObject | None:
    """A stored object of a built-in kind in version v1."""
    kind = _kind(group, resource)
    entry = txn.get(kind.key(namespace, name))
    return kind.decode(entry.value) if entry else None


def every(txn: Transaction, group: str, resource: str, namespace: str = "") -> Iterator[JsonObject]:
    """All stored objects of a built-in kind in version v1, in one namespace if it is given."""
    kind = _kind(group, resource)
    for entry in txn.range(kind.prefix(namespace)):
        yield kind.decode(entry.value)


def forbidden(attributes: Attributes, why: str) -> Forbidden:
    """A plug-in's refusal; an object whose name is yet to be generated goes by the beginning of it."""
    metadata = (attributes.obj or {}).get("metadata") or {}
    name = attributes.name or metadata.get("generateName") or "Unknown"
    return Forbidden.of(attributes.kind.group_resource, name, why)


def _kind(group: str, resource: str) -> Kind:
    kind = builtin_kind(group, "v1", resource)
    assert kind is not None, f"{resource} are built in"
    return kind
