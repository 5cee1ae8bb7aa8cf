"""Rules of drivers for storage: CSIDriver, CSINode and VolumeAttachment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attractor.apiserver.kinds.builtin.internal_form import shown
from attractor.apiserver.kinds.builtin.validation.rules import (
    IMMUTABLE,
    at_least_zero,
    each,
    known,
    named,
    required,
    token_lifetime,
)
from attractor.objects import names
from attractor.objects.field import FieldError, repeated

if TYPE_CHECKING:
    from collections.abc import Mapping

    from attractor.apiserver.kinds.builtin.validation.rules import UpdateValidator, Validator
    from attractor.objects.json_types import JsonObject

_GROUP = "storage.k8s.io"
_MAX_NODE_ID = 192
_MAX_DRIVER_BYTES = 63
_MIN_PERIOD_S = 10
_GROUP_POLICIES = ("File", "None", "ReadWriteOnceWithFSType")


def validate_csi_node(node: JsonObject) -> list[FieldError]:
    """Each driver once, with the node's name for it."""
    errors: list[FieldError] = []
    seen: set[str] = set()
    for driver, at in each(node["spec"], "drivers", "spec"):
        name, node_id = driver.get("name", ""), driver.get("nodeID", "")
        errors += named(names.dns1123_subdomain, name.lower(), f"{at}.name") if name else []
        errors += required(driver, at, *(field for field in ("name", "nodeID") if not driver.get(field)))
        if len(node_id) > _MAX_NODE_ID:
            errors.append(FieldError.invalid(f"{at}.nodeID", node_id, f"must be {_MAX_NODE_ID} characters or less"))
        errors += at_least_zero(driver.get("allocatable"), f"{at}.allocatable", "count")
        if name in seen:
            errors.append(FieldError.duplicate(f"{at}.name", name))
        seen.add(name)
        errors += _topology_errors(driver.get("topologyKeys") or [], at)
    return errors


def _topology_errors(keys: list[str], path: str) -> list[FieldError]:
    """Kubernetes blames the driver for its keys."""
    errors: list[FieldError] = []
    twice = repeated(keys)
    for index, key in enumerate(keys):
        if not key:
            errors.append(FieldError.required(path))
        if index in twice:
            errors.append(FieldError.duplicate(path, key))
        errors += named(names.qualified_name, key, path)
    return errors


def update_csi_node(node: JsonObject, old: JsonObject) -> list[FieldError]:
    """A driver that is there stays as it is; it may learn how many volumes it has room for."""
    before = {driver.get("name"): driver for driver in old["spec"].get("drivers") or ()}
    errors: list[FieldError] = []
    for driver in node["spec"].get("drivers") or ():
        had = before.get(driver.get("name"))
        kept = {name: value for name, value in driver.items() if name != "allocatable"}
        if had is None or kept == {name: value for name, value in had.items() if name != "allocatable"}:
            continue
        errors.append(FieldError.invalid("spec.drivers", shown(kept, "storage.CSINodeDriver"), IMMUTABLE))
    return errors


def _validate_attacher(name: str) -> list[FieldError]:
    errors = []
    if len(name.encode()) > _MAX_DRIVER_BYTES:
        errors.append(FieldError.too_long("spec.attacher", _MAX_DRIVER_BYTES))
    complaints = names.dns1123_subdomain(name.lower())
    return errors + [FieldError.invalid("spec.attacher", name, why) for why in complaints]


def validate_volume_attachment(attachment: JsonObject) -> list[FieldError]:
    """Who attaches what to which node."""
    spec = attachment["spec"]
    source = spec.get("source") or {}
    errors = required(spec, "spec", "attacher") or _validate_attacher(spec["attacher"])
    if source.get("persistentVolumeName"):
        at = "spec.source.persistentVolumeName"
        errors += named(names.dns1123_subdomain, source["persistentVolumeName"], at)
    errors += named(names.dns1123_subdomain, spec.get("nodeName", ""), "spec.nodeName")
    said = [field for field in ("inlineVolumeSpec", "persistentVolumeName") if source.get(field) is not None]
    if len(said) != 1:
        detail = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"
        wrong = FieldError.forbidden("spec.source", detail) if said else FieldError.required("spec.source", detail)
        errors.append(wrong)
    return errors


def update_volume_attachment(attachment: JsonObject, old: JsonObject) -> list[FieldError]:
    """What is attached where never changes."""
    if attachment["spec"] == old["spec"]:
        return []
    return [FieldError.invalid("spec", shown(attachment["spec"], "storage.VolumeAttachmentSpec"), IMMUTABLE)]


def validate_csi_driver(driver: JsonObject) -> list[FieldError]:
    """How a driver works with pods and their accounts."""
    spec = driver["spec"]
    errors = known(spec.get("fsGroupPolicy"), "spec.fsGroupPolicy", _GROUP_POLICIES)
    audiences: set[str] = set()
    for request, at in each(spec, "tokenRequests", "spec"):
        audience, lifetime = request.get("audience", ""), request.get("expirationSeconds")
        if audience in audiences:
            errors.append(FieldError.duplicate(f"{at}.audience", audience))
            continue
        audiences.add(audience)
        errors += [] if lifetime is None else token_lifetime(lifetime, f"{at}.expirationSeconds")
    for mode in spec.get("volumeLifecycleModes") or ():
        errors += known(mode, "spec.volumeLifecycleModes", ("Persistent", "Ephemeral"))
    period, in_secrets = spec.get("nodeAllocatableUpdatePeriodSeconds"), spec.get("serviceAccountTokenInSecrets")
    if period is not None and period < _MIN_PERIOD_S:
        detail = f"must be greater than or equal to {_MIN_PERIOD_S} seconds"
        errors.append(FieldError.invalid("spec.nodeAllocatableUpdatePeriodSeconds", period, detail))
    if in_secrets is not None and not spec.get("tokenRequests"):
        detail = "serviceAccountTokenInSecrets is set but no tokenRequests are specified"
        errors.append(FieldError.invalid("spec.serviceAccountTokenInSecrets", in_secrets, detail))
    return errors


VALIDATE: Mapping[tuple[str, str], Validator] = {
    (_GROUP, "CSIDriver"): validate_csi_driver,
    (_GROUP, "CSINode"): validate_csi_node,
    (_GROUP, "VolumeAttachment"): validate_volume_attachment,
}
UPDATE: Mapping[tuple[str, str], UpdateValidator] = {
    (_GROUP, "CSINode"): update_csi_node,
    (_GROUP, "VolumeAttachment"): update_volume_attachment,
}
