"""The end of namespaces and of custom kinds, as planners: what must go before they may go.

A namespace in deletion is emptied and then finalized; a CustomResourceDefinition in deletion loses its objects and
then its finalizer. Nothing is written here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from attractor.apiserver.kinds.custom import registry as custom_registry
from attractor.apiserver.kinds.custom.definition import CLEANUP_FINALIZER
from attractor.apiserver.request.caller import DeleteOptions, Preconditions
from attractor.apiserver.request.operation import MERGE_PATCH, Operation, WriteOptions

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from attractor.apiserver.kinds.served_kind import Kind
    from attractor.store.contract import Entry, Snapshot

NAMESPACE_CONTROLLER = "namespace-controller"


def plan_namespaces(snapshot: Snapshot, kinds: Iterable[Kind]) -> Iterator[Operation]:
    """One step towards the end of every namespace in deletion."""
    namespaced = [kind for kind in kinds if kind.namespaced and "delete" in kind.verbs]
    for entry in snapshot.range("core/namespaces/"):
        namespace = orjson.loads(entry.value)
        if not namespace["metadata"].get("deletionTimestamp"):
            continue
        name = namespace["metadata"]["name"]
        left = False
        for kind in namespaced:
            for content in snapshot.range(kind.prefix(name)):
                left = True
                obj = orjson.loads(content.value)
                if not obj["metadata"].get("deletionTimestamp"):
                    yield _delete(kind, obj)
        if not left and "kubernetes" in (namespace["spec"].get("finalizers") or ()):
            yield _finalize(namespace, entry)


def _delete(kind: Kind, obj: dict[str, Any]) -> Operation:
    metadata = obj["metadata"]
    return Operation(
        verb="delete",
        group=kind.gvk.group,
        version=kind.gvk.version,
        resource=kind.resource,
        namespace=metadata.get("namespace", ""),
        name=metadata["name"],
        delete=DeleteOptions(
            preconditions=Preconditions(uid=metadata["uid"]), propagation="Background", grace_period_s=0
        ),
    )


def _finalize(namespace: dict[str, Any], entry: Entry) -> Operation:
    """The namespace is empty: take our name off its list of finalizers."""
    spec = namespace["spec"]
    kept = [item for item in spec["finalizers"] if item != "kubernetes"]
    metadata = {**namespace["metadata"], "resourceVersion": str(entry.revision)}
    return Operation(
        verb="update",
        group="",
        version="v1",
        resource="namespaces",
        name=metadata["name"],
        subresource="finalize",
        body={**namespace, "metadata": metadata, "spec": {**spec, "finalizers": kept}},
        write=WriteOptions(field_manager=NAMESPACE_CONTROLLER),
    )


def plan_definitions(snapshot: Snapshot, now: str) -> Iterator[Operation]:
    """One step towards the end of every CustomResourceDefinition in deletion."""
    for entry in snapshot.range(custom_registry.PREFIX):
        if b'"deletionTimestamp"' not in entry.value:
            continue
        definition = orjson.loads(entry.value)
        metadata = definition["metadata"]
        if not metadata.get("deletionTimestamp") or CLEANUP_FINALIZER not in (metadata.get("finalizers") or ()):
            continue
        kind = next(iter(custom_registry.served_kinds(entry.value).values()), None)
        left = snapshot.range(kind.prefix()) if kind else ()
        if left and not _has_begun(definition):
            yield _tell(definition, entry, _terminating(now, *_BEGUN))
        for content in left:
            obj = orjson.loads(content.value)
            if kind and not obj["metadata"].get("deletionTimestamp"):
                yield _delete(kind, obj)
        if not left:
            finalizers = [item for item in metadata["finalizers"] if item != CLEANUP_FINALIZER]
            yield _tell(definition, entry, _terminating(now, *_ENDED), finalizers=finalizers)


_BEGUN = ("True", "InstanceDeletionInProgress", "CustomResource deletion is in progress")
_ENDED = ("False", "InstanceDeletionCompleted", "removed all instances")


def _terminating(now: str, status: str, reason: str, message: str) -> dict[str, Any]:
    return {
        "type": "Terminating",
        "status": status,
        "lastTransitionTime": now,
        "reason": reason,
        "message": message,
    }


def _has_begun(definition: dict[str, Any]) -> bool:
    conditions = definition["status"].get("conditions") or ()
    return any(item["type"] == "Terminating" and item["reason"] == _BEGUN[1] for item in conditions)


def _tell(definition: dict[str, Any], entry: Entry, condition: dict[str, Any], **metadata: Any) -> Operation:
    """Write down how far the end of a definition has come."""
    before: list[dict[str, Any]] = definition["status"].get("conditions") or []
    for item in before:
        if item["type"] == "Terminating" and item["status"] == condition["status"]:
            condition["lastTransitionTime"] = item["lastTransitionTime"]
    conditions = [*(item for item in before if item["type"] != "Terminating"), condition]
    return Operation(
        verb="patch",
        group="apiextensions.k8s.io",
        version="v1",
        resource="customresourcedefinitions",
        name=definition["metadata"]["name"],
        subresource="status",
        patch_type=MERGE_PATCH,
        body={
            "metadata": {"resourceVersion": str(entry.revision), **metadata},
            "status": {"conditions": conditions},
        },
        write=WriteOptions(field_manager="kube-apiserver"),
    )
