"""The operator of kopf's walkthrough: an EphemeralVolumeClaim gets a PersistentVolumeClaim that follows its size and labels.

Run by kopf itself, as its documentation says: ``kopf run ephemeral_operator.py``. Handlers for creation, for a change of
the spec, for a change of labels, and for deletion (which makes kopf put a finalizer on every claim).
"""

from typing import Any

import kopf
import kubernetes


@kopf.on.create("ephemeralvolumeclaims")
def claim_created(spec: kopf.Spec, name: str, namespace: str, logger: kopf.Logger, **_: Any) -> dict[str, str]:
    size = spec.get("size")
    if not size:
        raise kopf.PermanentError(f"a size must be set; got {size!r}")
    volume = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}},
    }
    kopf.adopt(volume)
    made = kubernetes.client.CoreV1Api().create_namespaced_persistent_volume_claim(namespace, volume)
    logger.info(f"volume claim {made.metadata.name} is created")
    return {"pvc-name": made.metadata.name}


@kopf.on.update("ephemeralvolumeclaims", field="spec.size")
def size_changed(new: str, status: kopf.Status, namespace: str, **_: Any) -> None:
    patch = {"spec": {"resources": {"requests": {"storage": new}}}}
    name = status["claim_created"]["pvc-name"]
    kubernetes.client.CoreV1Api().patch_namespaced_persistent_volume_claim(name, namespace, patch)


@kopf.on.field("ephemeralvolumeclaims", field="metadata.labels")
def labels_changed(new: dict[str, str] | None, status: kopf.Status, namespace: str, **_: Any) -> None:
    name = status.get("claim_created", {}).get("pvc-name")
    if name:
        patch = {"metadata": {"labels": new or {}}}
        kubernetes.client.CoreV1Api().patch_namespaced_persistent_volume_claim(name, namespace, patch)


@kopf.on.delete("ephemeralvolumeclaims")
def claim_deleted(name: str, namespace: str, body: kopf.Body, **_: Any) -> None:
    kopf.info(body, reason="Farewell", message=f"claim {name} of {namespace} is let go")
