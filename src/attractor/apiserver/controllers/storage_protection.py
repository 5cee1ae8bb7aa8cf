"""Storage in use stays: when a deleted claim, volume or class of volume attributes may go, as a planner.

The admission plug-in StorageObjectInUseProtection puts a finalizer on every new one of them. It is taken away once the
object is being deleted and nothing uses it: no unfinished pod names the claim, the volume is bound to nothing, and no
claim or volume names the class.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson

from attractor.apiserver.admission.plugins.storage import CLAIM_FINALIZER, CLASS_FINALIZER, VOLUME_FINALIZER
from attractor.apiserver.controllers.quota_usage import attributes_classes
from attractor.apiserver.request.operation import MERGE_PATCH, Operation, WriteOptions
from attractor.objects.gvk import GroupResource

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attractor.objects.json_types import JsonObject
    from attractor.store.contract import Snapshot

_DELETED = b'"deletionTimestamp"'
_FINISHED = frozenset({"Failed", "Succeeded"})


CLAIMS, VOLUMES = GroupResource("", "persistentvolumeclaims"), GroupResource("", "persistentvolumes")
CLASSES = GroupResource("storage.k8s.io", "volumeattributesclasses")
_FINALIZERS = {CLAIMS: CLAIM_FINALIZER, VOLUMES: VOLUME_FINALIZER, CLASSES: CLASS_FINALIZER}


def _prefix(resource: GroupResource) -> str:
    return f"{resource.group or 'core'}/{resource.resource}/"


PROTECTED = tuple(map(_prefix, _FINALIZERS))
"""Where the objects are that are protected, and those that use them, but for pods."""


def plan_storage_protection(snapshot: Snapshot) -> Iterator[Operation]:
    """Let go of what is being deleted and not used."""
    uses = _Uses(snapshot)
    for resource, finalizer in _FINALIZERS.items():
        for entry in snapshot.range(_prefix(resource)):
            if _DELETED not in entry.value or finalizer.encode() not in entry.value:
                continue
            obj = orjson.loads(entry.value)
            metadata = obj["metadata"]
            if not metadata.get("deletionTimestamp") or finalizer not in (metadata.get("finalizers") or ()):
                continue
            if not uses.has(resource, obj):
                yield _without(resource, metadata, finalizer, entry.revision)


class _Uses:
    """Storage in use in a snapshot, looked up when it is needed."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._claims: dict[str, set[str]] = {}
        self._classes: set[str] | None = None

    def has(self, resource: GroupResource, obj: JsonObject) -> bool:
        """Whether something uses the object."""
        metadata = obj["metadata"]
        if resource == VOLUMES:
            return bool((obj.get("status") or {}).get("phase") == "Bound")
        if resource == CLASSES:
            if self._classes is None:
                self._classes = _classes_in_use(self._snapshot)
            return metadata["name"] in self._classes
        namespace = metadata["namespace"]
        if namespace not in self._claims:
            self._claims[namespace] = _claims_in_use(self._snapshot, namespace)
        return metadata["name"] in self._claims[namespace]


def _classes_in_use(snapshot: Snapshot) -> set[str]:
    entries = (*snapshot.range(_prefix(CLAIMS)), *snapshot.range(_prefix(VOLUMES)))
    return {name for entry in entries for name in attributes_classes(orjson.loads(entry.value))}


def _claims_in_use(snapshot: Snapshot, namespace: str) -> set[str]:
    found: set[str] = set()
    for entry in snapshot.range(f"core/pods/{namespace}/"):
        pod = orjson.loads(entry.value)
        if (pod.get("status") or {}).get("phase") not in _FINISHED:
            found.update(_claims_of(pod))
    return found


def _claims_of(pod: JsonObject) -> Iterator[str]:
    for volume in pod["spec"].get("volumes") or ():
        if volume.get("persistentVolumeClaim"):
            yield volume["persistentVolumeClaim"]["claimName"]
        elif volume.get("ephemeral"):
            yield f"{pod['metadata']['name']}-{volume['name']}"


def _without(resource: GroupResource, metadata: JsonObject, finalizer: str, revision: int) -> Operation:
    kept = [one for one in metadata["finalizers"] if one != finalizer]
    return Operation(
        verb="patch",
        group=resource.group,
        version="v1",
        resource=resource.resource,
        namespace=metadata.get("namespace") or "",
        name=metadata["name"],
        patch_type=MERGE_PATCH,
        body={"metadata": {"finalizers": kept, "uid": metadata["uid"], "resourceVersion": str(revision)}},
        write=WriteOptions(field_manager="kube-controller-manager"),
    )
