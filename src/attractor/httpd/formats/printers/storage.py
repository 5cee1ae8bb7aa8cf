"""Volumes, claims, classes and drivers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attractor.httpd.formats.printers.columns import (
    AGE,
    NAME,
    NONE,
    UNSET,
    Cells,
    Column,
    age_of,
    at,
    items,
    name_of,
    prints,
    wide,
)

if TYPE_CHECKING:
    from attractor.httpd.formats.ages import Clock
    from attractor.objects.json_types import JsonObject

_CORE, _STORAGE = "io.k8s.api.core.v1", "io.k8s.api.storage.v1"
_MODES = {"ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX", "ReadWriteOncePod": "RWOP"}
_BETA_CLASS = "volume.beta.kubernetes.io/storage-class"
_DEFAULT_CLASS = ("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")


def _or(value: Any, otherwise: Any) -> Any:
    """The value, unless the field is absent; an empty text is a value."""
    return otherwise if value is None else value


def _modes(found: list[str]) -> str:
    return ",".join(short for mode, short in _MODES.items() if mode in found)


def _class(obj: JsonObject) -> str:
    annotations = at(obj, "metadata", "annotations") or {}
    return str(_or(annotations.get(_BETA_CLASS), at(obj, "spec", "storageClassName") or ""))


def _phase(obj: JsonObject) -> str:
    return "Terminating" if at(obj, "metadata", "deletionTimestamp") else at(obj, "status", "phase") or ""


@prints(
    "",
    "PersistentVolume",
    NAME,
    Column("Capacity", about=f"{_CORE}.PersistentVolumeSpec#capacity"),
    Column("Access Modes", about=f"{_CORE}.PersistentVolumeSpec#accessModes"),
    Column("Reclaim Policy", about=f"{_CORE}.PersistentVolumeSpec#persistentVolumeReclaimPolicy"),
    Column("Status", about=f"{_CORE}.PersistentVolumeStatus#phase"),
    Column("Claim", about=f"{_CORE}.PersistentVolumeSpec#claimRef"),
    Column("StorageClass", about="StorageClass of the pv"),
    Column("VolumeAttributesClass", about="VolumeAttributesClass of the pv"),
    Column("Reason", about=f"{_CORE}.PersistentVolumeStatus#reason"),
    AGE,
    wide("VolumeMode", f"{_CORE}.PersistentVolumeSpec#volumeMode"),
)
def persistent_volume(obj: JsonObject, clock: Clock) -> Cells:
    """A volume."""
    claim = at(obj, "spec", "claimRef")
    return [
        name_of(obj),
        at(obj, "spec", "capacity", "storage") or "0",
        _modes(items(obj, "spec", "accessModes")),
        at(obj, "spec", "persistentVolumeReclaimPolicy") or "",
        _phase(obj),
        "" if claim is None else f"{claim.get('namespace', '')}/{claim.get('name', '')}",
        _class(obj),
        _or(at(obj, "spec", "volumeAttributesClassName"), UNSET),
        at(obj, "status", "reason") or "",
        age_of(obj, clock),
        _or(at(obj, "spec", "volumeMode"), UNSET),
    ]


@prints(
    "",
    "PersistentVolumeClaim",
    NAME,
    Column("Status", about=f"{_CORE}.PersistentVolumeClaimStatus#phase"),
    Column("Volume", about=f"{_CORE}.PersistentVolumeClaimSpec#volumeName"),
    Column("Capacity", about=f"{_CORE}.PersistentVolumeClaimStatus#capacity"),
    Column("Access Modes", about=f"{_CORE}.PersistentVolumeClaimStatus#accessModes"),
    Column("StorageClass", about="StorageClass of the pvc"),
    Column("VolumeAttributesClass", about="VolumeAttributesClass of the pvc"),
    AGE,
    wide("VolumeMode", f"{_CORE}.PersistentVolumeClaimSpec#volumeMode"),
)
def persistent_volume_claim(obj: JsonObject, clock: Clock) -> Cells:
    """A claim; what it got is shown only once it is bound."""
    volume = at(obj, "spec", "volumeName") or ""
    return [
        name_of(obj),
        _phase(obj),
        volume,
        (at(obj, "status", "capacity", "storage") or "0") if volume else "",
        _modes(items(obj, "status", "accessModes")) if volume else "",
        _class(obj),
        _or(at(obj, "spec", "volumeAttributesClassName"), UNSET),
        age_of(obj, clock),
        _or(at(obj, "spec", "volumeMode"), UNSET),
    ]


@prints(
    "storage.k8s.io",
    "StorageClass",
    NAME,
    Column("Provisioner", about=f"{_STORAGE}.StorageClass#provisioner"),
    Column("ReclaimPolicy", about=f"{_STORAGE}.StorageClass#reclaimPolicy"),
    Column("VolumeBindingMode", about=f"{_STORAGE}.StorageClass#volumeBindingMode"),
    Column("AllowVolumeExpansion", about=f"{_STORAGE}.StorageClass#allowVolumeExpansion"),
    AGE,
)
def storage_class(obj: JsonObject, clock: Clock) -> Cells:
    """A class."""
    annotations = at(obj, "metadata", "annotations") or {}
    is_default = any(annotations.get(name) == "true" for name in _DEFAULT_CLASS)
    return [
        f"{name_of(obj)} (default)" if is_default else name_of(obj),
        obj.get("provisioner") or "",
        _or(obj.get("reclaimPolicy"), "Delete"),
        _or(obj.get("volumeBindingMode"), "Immediate"),
        bool(obj.get("allowVolumeExpansion")),
        age_of(obj, clock),
    ]


@prints(
    "storage.k8s.io",
    "VolumeAttributesClass",
    NAME,
    Column("DriverName", about=f"{_STORAGE}.VolumeAttributesClass#driverName"),
    AGE,
)
def volume_attributes_class(obj: JsonObject, clock: Clock) -> Cells:
    """A class of volume attributes."""
    return [name_of(obj), obj.get("driverName") or "", age_of(obj, clock)]


@prints(
    "storage.k8s.io",
    "VolumeAttachment",
    NAME,
    Column("Attacher", about=f"{_STORAGE}.VolumeAttachmentSpec#attacher", format="name"),
    Column("PV", about=f"{_STORAGE}.VolumeAttachmentSource#persistentVolumeName"),
    Column("Node", about=f"{_STORAGE}.VolumeAttachmentSpec#nodeName"),
    Column("Attached", "boolean", f"{_STORAGE}.VolumeAttachmentStatus#attached"),
    AGE,
)
def volume_attachment(obj: JsonObject, clock: Clock) -> Cells:
    """An attachment."""
    return [
        name_of(obj),
        at(obj, "spec", "attacher") or "",
        at(obj, "spec", "source", "persistentVolumeName") or "",
        at(obj, "spec", "nodeName") or "",
        bool(at(obj, "status", "attached")),
        age_of(obj, clock),
    ]


@prints(
    "storage.k8s.io",
    "CSINode",
    NAME,
    Column("Drivers", "integer", "Drivers indicates the number of CSI drivers registered on the node"),
    AGE,
)
def csi_node(obj: JsonObject, clock: Clock) -> Cells:
    """The drivers of a node."""
    return [name_of(obj), len(items(obj, "spec", "drivers")), age_of(obj, clock)]


@prints(
    "storage.k8s.io",
    "CSIDriver",
    NAME,
    Column("AttachRequired", "boolean", f"{_STORAGE}.CSIDriverSpec#attachRequired"),
    Column("PodInfoOnMount", "boolean", f"{_STORAGE}.CSIDriverSpec#podInfoOnMount"),
    Column("StorageCapacity", "boolean", f"{_STORAGE}.CSIDriverSpec#storageCapacity"),
    Column("TokenRequests", about=f"{_STORAGE}.CSIDriverSpec#tokenRequests"),
    Column("RequiresRepublish", "boolean", f"{_STORAGE}.CSIDriverSpec#requiresRepublish"),
    Column("Modes", about=f"{_STORAGE}.CSIDriverSpec#volumeLifecycleModes"),
    AGE,
)
def csi_driver(obj: JsonObject, clock: Clock) -> Cells:
    """A driver."""
    spec = obj.get("spec") or {}
    tokens = spec.get("tokenRequests")
    return [
        name_of(obj),
        bool(_or(spec.get("attachRequired"), True)),
        bool(spec.get("podInfoOnMount")),
        bool(spec.get("storageCapacity")),
        UNSET if tokens is None else ",".join(one.get("audience") or "" for one in tokens),
        bool(spec.get("requiresRepublish")),
        ",".join(items(spec, "volumeLifecycleModes")) or NONE,
        age_of(obj, clock),
    ]
