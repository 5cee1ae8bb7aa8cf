"""Objects that manifests are made of: one with labels, and a role with whoever has it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attractor.objects.json_types import JsonObject
    from attractor.runtime.manifests import Operator

RBAC = "rbac.authorization.k8s.io"


def role(
    operator: Operator, name: str, namespace: str, granted: list[JsonObject], labels: JsonObject
) -> Iterator[JsonObject]:
    """A role and who has it: of one namespace, or of the cluster."""
    kind = "Role" if namespace else "ClusterRole"
    yield {**labelled(f"{RBAC}/v1", kind, name, namespace, labels), "rules": granted}
    yield {
        **labelled(f"{RBAC}/v1", f"{kind}Binding", name, namespace, labels),
        "roleRef": {"apiGroup": RBAC, "kind": kind, "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": operator.name, "namespace": operator.namespace}],
    }


def labelled(api_version: str, kind: str, name: str, namespace: str, labels: JsonObject) -> JsonObject:
    """The head of an object."""
    metadata: JsonObject = {"name": name, "labels": dict(labels)}
    if namespace:
        metadata["namespace"] = namespace
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata}
