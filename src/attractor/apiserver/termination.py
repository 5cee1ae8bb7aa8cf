"""The end of namespaces and of custom kinds, as planners: what must go before they may go.

A namespace in deletion is emptied and then finalized; a CustomResourceDefinition in deletion loses its objects and
then its finalizer. Nothing is written here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from attractor.apiserver.custom import registry as custom_registry
from attractor.apiserver.custom.definition import CLEANUP_FINALIZER
from attractor.apiserver.operation import MERGE_PATCH, DeleteOptions, Operation, Preconditions, WriteOptions

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from attractor.apiserver.kinds import Kind
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


def plan_definitions(snapshot: Snapshot) -> Iterator[Operation]:
    """One step towards the end of every CustomResourceDefinition in deletion."""
    for entry in snapshot.range(custom_registry.PREFIX):
        definition = orjson.loads(entry.value)
        metadata = definition["metadata"]
        if not metadata.get("deletionTimestamp") or CLEANUP_FINALIZER not in (metadata.get("finalizers") or ()):
            continue
        kind = next(iter(custom_registry.served_kinds(entry.value).values()), None)
        left = snapshot.range(kind.prefix()) if kind else ()
        for content in left:
            obj = orjson.loads(content.value)
            if kind and not obj["metadata"].get("deletionTimestamp"):
                yield _delete(kind, obj)
        if not left:
            finalizers = [item for item in metadata["finalizers"] if item != CLEANUP_FINALIZER]
            yield Operation(
                verb="patch",
                group="apiextensions.k8s.io",
                version="v1",
                resource="customresourcedefinitions",
                name=metadata["name"],
                patch_type=MERGE_PATCH,
                body={"metadata": {"finalizers": finalizers, "resourceVersion": str(entry.revision)}},
                write=WriteOptions(field_manager="kube-apiserver"),
            )
