"""Planners of what every namespace has: the ServiceAccount ``default`` and the ConfigMap with the root authority."""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson

from attractor.apiserver.request.operation import Operation, WriteOptions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attractor.store.contract import Snapshot

SERVICE_ACCOUNT = "default"
ROOT_CA = "kube-root-ca.crt"
_CONTROLLER = "kube-controller-manager"
_DESCRIPTION = {
    "kubernetes.io/description": "Contains a CA bundle that can be used to verify the kube-apiserver when using "
    "internal endpoints such as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across "
    "distributions of Kubernetes clusters."
}


def _active_namespaces(snapshot: Snapshot) -> Iterator[str]:
    for entry in snapshot.range("core/namespaces/"):
        # The text test avoids decoding; a namespace going away says so in its status.
        if b'"phase":"Terminating"' not in entry.value:
            yield entry.key.rsplit("/", 1)[1]


def plan_service_accounts(snapshot: Snapshot) -> Iterator[Operation]:
    """Create the service accounts that are missing."""
    for namespace in _active_namespaces(snapshot):
        if snapshot.get(f"core/serviceaccounts/{namespace}/{SERVICE_ACCOUNT}") is None:
            yield Operation(
                verb="create",
                group="",
                version="v1",
                resource="serviceaccounts",
                namespace=namespace,
                body={"metadata": {"name": SERVICE_ACCOUNT}},
                write=WriteOptions(field_manager=_CONTROLLER),
            )


def plan_root_ca(snapshot: Snapshot, root_ca: str) -> Iterator[Operation]:
    """Publish the authority's certificate where it is missing or another; nothing when the server has none."""
    if not root_ca:
        return
    data = {"ca.crt": root_ca}
    for namespace in _active_namespaces(snapshot):
        entry = snapshot.get(f"core/configmaps/{namespace}/{ROOT_CA}")
        if entry is not None and orjson.loads(entry.value).get("data") == data:
            continue
        body = {"metadata": {"name": ROOT_CA, "annotations": _DESCRIPTION}, "data": data}
        yield Operation(
            verb="create" if entry is None else "update",
            group="",
            version="v1",
            resource="configmaps",
            namespace=namespace,
            name="" if entry is None else ROOT_CA,
            body=body,
            write=WriteOptions(field_manager=_CONTROLLER),
        )
