"""Storage in use stays: when a deleted claim or volume may go, as a planner.

The admission plug-in StorageObjectInUseProtection puts a finalizer on every new claim and volume. It is taken away once
the object is being deleted and nothing uses it: no unfinished pod names the claim, and the volume is bound to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson

from attractor.apiserver.admissionplugins.storage import CLAIM_FINALIZER, VOLUME_FINALIZER
from attractor.apiserver.operation import MERGE_PATCH, Operation, WriteOptions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attractor.objects.jsontypes import JsonObject
    from attractor.store.contract import Snapshot

_DELETED = b'"deletionTimestamp"'
_FINISHED = frozenset({"Failed", "Succeeded"})


def plan_storage_protection(snapshot: Snapshot) -> Iterator[Operation]:
    """Let go of what is being deleted and not used."""
    used: dict[str, set[str]] = {}
    for resource, finalizer in (("persistentvolumeclaims", CLAIM_FINALIZER), ("persistentvolumes", VOLUME_FINALIZER)):
        for entry in snapshot.range(f"core/{resource}/"):
            if _DELETED not in entry.value or finalizer.encode() not in entry.value:
                continue
            obj = orjson.loads(entry.value)
            metadata = obj["metadata"]
            if not metadata.get("deletionTimestamp") or finalizer not in (metadata.get("finalizers") or ()):
                continue
            if resource == "persistentvolumes":
                is_used = (obj.get("status") or {}).get("phase") == "Bound"
            else:
                namespace = metadata["namespace"]
                if namespace not in used:
                    used[namespace] = _claims_in_use(snapshot, namespace)
                is_used = metadata["name"] in used[namespace]
            if not is_used:
                yield _without(resource, metadata, finalizer, entry.revision)


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


def _without(resource: str, metadata: JsonObject, finalizer: str, revision: int) -> Operation:
    kept = [one for one in metadata["finalizers"] if one != finalizer]
    return Operation(
        verb="patch",
        group="",
        version="v1",
        resource=resource,
        namespace=metadata.get("namespace") or "",
        name=metadata["name"],
        patch_type=MERGE_PATCH,
        body={"metadata": {"finalizers": kept, "uid": metadata["uid"], "resourceVersion": str(revision)}},
        write=WriteOptions(field_manager="kube-controller-manager"),
    )
