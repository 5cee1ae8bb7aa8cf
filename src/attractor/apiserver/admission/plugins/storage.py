"""Protection of storage: finalizers against deletion in use, and the rule when a claim may grow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attractor.apiserver.admission.plugin import Plugin
from attractor.apiserver.admission.plugins.lookup import CLAIMS, find, forbidden, is_about
from attractor.objects.gvk import GroupResource
from attractor.objects.quantity import Quantity

if TYPE_CHECKING:
    from attractor.apiserver.admission.plugin import Attributes
    from attractor.objects.json_types import JsonObject

CLAIM_FINALIZER = "kubernetes.io/pvc-protection"
VOLUME_FINALIZER = "kubernetes.io/pv-protection"
CLASS_FINALIZER = "kubernetes.io/vac-protection"
_CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"
_FINALIZERS = {
    CLAIMS: CLAIM_FINALIZER,
    GroupResource("", "persistentvolumes"): VOLUME_FINALIZER,
    GroupResource("storage.k8s.io", "volumeattributesclasses"): CLASS_FINALIZER,
}
"""Each is taken away again by ``controllers.storage_protection``."""


class StorageObjectInUseProtection(Plugin):
    """New claims, volumes and classes of volume attributes are not deleted while they are used."""

    concerns = frozenset(_FINALIZERS)

    def admit(self, attributes: Attributes) -> None:
        """Add the finalizer that the protection controllers take away."""
        obj, kind = attributes.obj, attributes.kind
        finalizer = _FINALIZERS[kind.group_resource]
        if obj is None or attributes.old is not None or attributes.op.subresource:
            return
        present = obj["metadata"].get("finalizers") or []
        if finalizer not in present:
            obj["metadata"]["finalizers"] = [*present, finalizer]


class PersistentVolumeClaimResize(Plugin):
    """A claim grows only when it is bound and its class says that it may."""

    concerns = frozenset({CLAIMS})

    def validate(self, attributes: Attributes) -> None:
        """Refuse growth that nobody would carry out."""
        obj, old = attributes.obj, attributes.old
        if obj is None or old is None or not is_about(attributes, "", "persistentvolumeclaims"):
            return
        if _size(obj) <= _size(old):
            return
        if (old.get("status") or {}).get("phase") != "Bound":
            raise forbidden(attributes, "Only bound persistent volume claims can be expanded")
        name = _class_of(obj)
        found = find(attributes.txn, "storage.k8s.io", "storageclasses", "", name) if name else None
        if name != _class_of(old) or not (found or {}).get("allowVolumeExpansion"):
            raise forbidden(
                attributes,
                "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must "
                "support resize",
            )


def _size(claim: JsonObject) -> Quantity:
    requests = (claim["spec"].get("resources") or {}).get("requests") or {}
    return Quantity.parse(requests.get("storage") or "0")


def _class_of(claim: JsonObject) -> str:
    annotations = claim["metadata"].get("annotations") or {}
    return annotations.get(_CLASS_ANNOTATION) or claim["spec"].get("storageClassName") or ""
