"""Volumes, claims, classes and drivers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attractor.httpd.formats.printers.columns import (
    AGE,
    NAME,
    NONE,
    UNSET,
    Column,
    at,
    field,
    flag,
    given,
    items,
    join,
    length,
    name_of,
    of,
    prints,
    wide,
)

if TYPE_CHECKING:
    from attractor.objects.json_types import JsonObject

_CORE, _STORAGE = "io.k8s.api.core.v1", "io.k8s.api.storage.v1"
_MODES = {"ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX", "ReadWriteOncePod": "RWOP"}
_BETA_CLASS = "volume.beta.kubernetes.io/storage-class"
_DEFAULT_CLASS = ("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")


def _modes(obj: JsonObject, *path: str) -> str:
    found = items(obj, *path, "accessModes")
    return ",".join(short for mode, short in _MODES.items() if mode in found)


def _class(obj: JsonObject) -> str:
    said = at(obj, "metadata", "annotations", _BETA_CLASS)
    return str((at(obj, "spec", "storageClassName") or "") if said is None else said)


def _phase(obj: JsonObject) -> str:
    return "Terminating" if at(obj, "metadata", "deletionTimestamp") else at(obj, "status", "phase") or ""


def _claim(obj: JsonObject) -> str:
    claim = at(obj, "spec", "claimRef")
    return "" if claim is None else f"{claim.get('namespace', '')}/{claim.get('name', '')}"


_VOLUME, _VOLUME_CLAIM = f"{_CORE}.PersistentVolume", f"{_CORE}.PersistentVolumeClaim"
_ATTRIBUTES = given("spec", "volumeAttributesClassName", absent=UNSET)
_VOLUME_MODE = given("spec", "volumeMode", absent=UNSET)
_RECLAIM = "persistentVolumeReclaimPolicy"

prints(
    "",
    "PersistentVolume",
    NAME,
    Column("Capacity", field("spec", "capacity", "storage", otherwise="0"), f"{_VOLUME}Spec#capacity"),
    Column("Access Modes", of(lambda obj: _modes(obj, "spec")), f"{_VOLUME}Spec#accessModes"),
    Column("Reclaim Policy", field("spec", _RECLAIM), f"{_VOLUME}Spec#{_RECLAIM}"),
    Column("Status", of(_phase), f"{_VOLUME}Status#phase"),
    Column("Claim", of(_claim), f"{_VOLUME}Spec#claimRef"),
    Column("StorageClass", of(_class), "StorageClass of the pv"),
    Column("VolumeAttributesClass", _ATTRIBUTES, "VolumeAttributesClass of the pv"),
    Column("Reason", field("status", "reason"), f"{_VOLUME}Status#reason"),
    AGE,
    wide("VolumeMode", _VOLUME_MODE, f"{_VOLUME}Spec#volumeMode"),
)


def _bound_capacity(obj: JsonObject) -> str:
    """How much a claim got, which is shown only once it is bound."""
    return (at(obj, "status", "capacity", "storage") or "0") if at(obj, "spec", "volumeName") else ""


def _bound_modes(obj: JsonObject) -> str:
    return _modes(obj, "status") if at(obj, "spec", "volumeName") else ""


prints(
    "",
    "PersistentVolumeClaim",
    NAME,
    Column("Status", of(_phase), f"{_VOLUME_CLAIM}Status#phase"),
    Column("Volume", field("spec", "volumeName"), f"{_VOLUME_CLAIM}Spec#volumeName"),
    Column("Capacity", of(_bound_capacity), f"{_VOLUME_CLAIM}Status#capacity"),
    Column("Access Modes", of(_bound_modes), f"{_VOLUME_CLAIM}Status#accessModes"),
    Column("StorageClass", of(_class), "StorageClass of the pvc"),
    Column("VolumeAttributesClass", _ATTRIBUTES, "VolumeAttributesClass of the pvc"),
    AGE,
    wide("VolumeMode", _VOLUME_MODE, f"{_VOLUME_CLAIM}Spec#volumeMode"),
)


def _class_name(obj: JsonObject) -> str:
    annotations = at(obj, "metadata", "annotations") or {}
    is_default = any(annotations.get(name) == "true" for name in _DEFAULT_CLASS)
    return f"{name_of(obj)} (default)" if is_default else name_of(obj)


_STORAGE_CLASS = f"{_STORAGE}.StorageClass"
prints(
    "storage.k8s.io",
    "StorageClass",
    NAME._replace(cell=of(_class_name)),
    Column("Provisioner", field("provisioner"), f"{_STORAGE_CLASS}#provisioner"),
    Column("ReclaimPolicy", given("reclaimPolicy", absent="Delete"), f"{_STORAGE_CLASS}#reclaimPolicy"),
    Column("VolumeBindingMode", given("volumeBindingMode", absent="Immediate"), f"{_STORAGE_CLASS}#volumeBindingMode"),
    Column("AllowVolumeExpansion", flag("allowVolumeExpansion"), f"{_STORAGE_CLASS}#allowVolumeExpansion"),
    AGE,
)
_DRIVER_NAME = Column("DriverName", field("driverName"), f"{_STORAGE}.VolumeAttributesClass#driverName")
prints("storage.k8s.io", "VolumeAttributesClass", NAME, _DRIVER_NAME, AGE)
prints(
    "storage.k8s.io",
    "VolumeAttachment",
    NAME,
    Column("Attacher", field("spec", "attacher"), f"{_STORAGE}.VolumeAttachmentSpec#attacher", format="name"),
    Column(
        "PV",
        field("spec", "source", "persistentVolumeName"),
        f"{_STORAGE}.VolumeAttachmentSource#persistentVolumeName",
    ),
    Column("Node", field("spec", "nodeName"), f"{_STORAGE}.VolumeAttachmentSpec#nodeName"),
    Column("Attached", flag("status", "attached"), f"{_STORAGE}.VolumeAttachmentStatus#attached", "boolean"),
    AGE,
)
_DRIVERS = "Drivers indicates the number of CSI drivers registered on the node"
prints("storage.k8s.io", "CSINode", NAME, Column("Drivers", length("spec", "drivers"), _DRIVERS, "integer"), AGE)


def _tokens(obj: JsonObject) -> str:
    tokens = at(obj, "spec", "tokenRequests")
    return UNSET if tokens is None else ",".join(one.get("audience") or "" for one in tokens)


_CSI = f"{_STORAGE}.CSIDriverSpec"
prints(
    "storage.k8s.io",
    "CSIDriver",
    NAME,
    Column(
        "AttachRequired",
        of(lambda obj: at(obj, "spec", "attachRequired") in {None, True}),
        f"{_CSI}#attachRequired",
        "boolean",
    ),
    Column("PodInfoOnMount", flag("spec", "podInfoOnMount"), f"{_CSI}#podInfoOnMount", "boolean"),
    Column("StorageCapacity", flag("spec", "storageCapacity"), f"{_CSI}#storageCapacity", "boolean"),
    Column("TokenRequests", of(_tokens), f"{_CSI}#tokenRequests"),
    Column("RequiresRepublish", flag("spec", "requiresRepublish"), f"{_CSI}#requiresRepublish", "boolean"),
    Column("Modes", join("spec", "volumeLifecycleModes", otherwise=NONE), f"{_CSI}#volumeLifecycleModes"),
    AGE,
)
