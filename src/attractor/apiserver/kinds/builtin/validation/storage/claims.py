"""Rules of storage: claims and volumes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attractor.apiserver.kinds.builtin.internal_form import difference, shown
from attractor.apiserver.kinds.builtin.validation.pods.scheduling import validate_node_selector
from attractor.apiserver.kinds.builtin.validation.rules import (
    amount,
    known,
    named,
    one_of,
    required,
    required_name,
    unchanged,
)
from attractor.objects import names
from attractor.objects.field import FieldError
from attractor.objects.labels import validate_label_selector

if TYPE_CHECKING:
    from collections.abc import Mapping

    from attractor.apiserver.kinds.builtin.validation.rules import UpdateValidator, Validator
    from attractor.objects.json_types import JsonObject

_ACCESS_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
_VOLUME_MODES = ("Block", "Filesystem")
_BETA_LABELS = {
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
    "beta.kubernetes.io/os": "kubernetes.io/os",
    "beta.kubernetes.io/arch": "kubernetes.io/arch",
    "beta.kubernetes.io/instance-type": "node.kubernetes.io/instance-type",
}
_CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"
_PV_FIELDS = frozenset(
    ("capacity", "accessModes", "claimRef", "persistentVolumeReclaimPolicy", "storageClassName", "mountOptions",
     "volumeMode", "nodeAffinity", "volumeAttributesClassName")
)  # fmt: skip


def validate_claim(claim: JsonObject) -> list[FieldError]:
    """What is asked for."""
    return validate_claim_spec(claim["spec"], "spec")


def validate_claim_spec(spec: JsonObject, path: str) -> list[FieldError]:
    """Access modes and the storage that is asked for, in a claim or in a template of one."""
    errors = validate_label_selector(spec.get("selector"), f"{path}.selector")
    if not spec.get("accessModes"):
        errors.append(FieldError.required(f"{path}.accessModes", "at least 1 access mode is required"))
    errors += _validate_access_modes(spec, path)
    storage = (spec["resources"].get("requests") or {}).get("storage")
    if storage is None:
        errors.append(FieldError.required(f"{path}.resources[storage]"))
    elif amount(storage).sign <= 0:
        errors.append(FieldError.invalid(f"{path}.resources[storage]", storage, "must be greater than zero"))
    if spec.get("storageClassName"):
        errors += named(names.dns1123_subdomain, spec["storageClassName"], f"{path}.storageClassName")
    for field in ("dataSource", "dataSourceRef"):
        if spec.get(field) is not None:
            errors += _validate_data_source(spec[field], f"{path}.{field}")
    return errors + known(spec.get("volumeMode"), f"{path}.volumeMode", _VOLUME_MODES)


def _validate_data_source(source: JsonObject, path: str) -> list[FieldError]:
    errors = required(source, path, "name", "kind")
    if not source.get("apiGroup") and source.get("kind") != "PersistentVolumeClaim":
        detail = "must be 'PersistentVolumeClaim' when referencing the default apiGroup"
        errors.append(FieldError.invalid(path, source.get("kind", ""), detail))
    return errors


def _validate_access_modes(spec: JsonObject, path: str) -> list[FieldError]:
    modes = spec.get("accessModes") or []
    unknown = [mode for mode in modes if mode not in _ACCESS_MODES]
    errors = [FieldError.unsupported(f"{path}.accessModes", mode, _ACCESS_MODES) for mode in unknown]
    if "ReadWriteOncePod" in modes and len(modes) > 1:
        detail = "may not use ReadWriteOncePod with other access modes"
        errors.append(FieldError.forbidden(f"{path}.accessModes", detail))
    return errors


def update_claim(claim: JsonObject, old: JsonObject) -> list[FieldError]:
    """A claim may grow; nothing else of its spec changes once a volume is bound."""
    spec, before = dict(claim["spec"]), dict(old["spec"])
    if not before.get("volumeName"):
        before["volumeName"] = spec.get("volumeName")
    if (claim.get("status") or {}).get("phase") == "Bound":
        spec["volumeAttributesClassName"] = before.get("volumeAttributesClassName")
        spec["resources"] = _with_size(spec["resources"], _storage(old))
    notes, noted = ((one["metadata"].get("annotations") or {}).get(_CLASS_ANNOTATION, "") for one in (claim, old))
    errors = []
    if notes != noted:
        at = f"metadata.annotations[{_CLASS_ANNOTATION}]"
        errors.append(FieldError.invalid(at, notes, "field is immutable"))
    if before.get("storageClassName") is None and not noted and spec.get("storageClassName"):
        spec.pop("storageClassName")  # a class may be chosen later
    if {k: v for k, v in spec.items() if v is not None} != {k: v for k, v in before.items() if v is not None}:
        detail = (
            "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"
        )
        what = difference(before, spec, "core.PersistentVolumeClaimSpec")
        errors.append(FieldError.forbidden("spec", f"{detail}\n{what}"))
    new_size, old_size = (_storage(obj) for obj in (claim, old))
    capacity = ((old.get("status") or {}).get("capacity") or {}).get("storage", "0")
    if amount(new_size) < amount(old_size) and amount(new_size) <= amount(capacity):
        detail = "field can not be less than status.capacity"
        errors.append(FieldError.forbidden("spec.resources.requests.storage", detail))
    return errors + unchanged(claim["spec"], old["spec"], "", "volumeMode")


def _with_size(resources: JsonObject, size: str) -> JsonObject:
    requests = resources.get("requests")
    return resources if requests is None else {**resources, "requests": {**requests, "storage": size}}


def _storage(claim: JsonObject) -> str:
    return str((claim["spec"]["resources"].get("requests") or {}).get("storage", "0"))


def validate_volume(volume: JsonObject) -> list[FieldError]:
    """Access modes, capacity, exactly one source."""
    spec = volume["spec"]
    errors = required(spec, "spec", "accessModes") + _validate_access_modes(spec, "spec")
    errors += required(spec, "spec", "capacity")
    capacity = spec.get("capacity") or {}
    if set(capacity) != {"storage"}:
        errors.append(FieldError.unsupported("spec.capacity", spec.get("capacity"), ("storage",)))
    for name, value in capacity.items():
        if amount(value).sign < 0:
            what = "must be a valid resource quantity"
            errors.append(FieldError.invalid(f"spec.capacity[{name}]", amount(value).value, what))
        if amount(value).sign <= 0:
            errors.append(FieldError.invalid(f"spec.capacity[{name}]", value, "must be greater than zero"))
    policies = ("Delete", "Recycle", "Retain")
    errors += one_of(spec.get("persistentVolumeReclaimPolicy"), "spec.persistentVolumeReclaimPolicy", policies)
    sources = [name for name in spec if name not in _PV_FIELDS]
    if not sources:
        errors.append(FieldError.required("spec", "must specify a volume type"))
    detail = "may not specify more than 1 volume type"
    errors += [FieldError.forbidden(f"spec.{name}", detail) for name in sources[1:]]
    if spec.get("storageClassName"):
        errors += named(names.dns1123_subdomain, spec["storageClassName"], "spec.storageClassName")
    errors += known(spec.get("volumeMode"), "spec.volumeMode", _VOLUME_MODES)
    affinity = (spec.get("nodeAffinity") or {}).get("required")
    if affinity is not None:
        errors += validate_node_selector(affinity, "spec.nodeAffinity.required")
    elif spec.get("nodeAffinity") is not None:
        errors.append(FieldError.required("spec.nodeAffinity.required", "must specify required node constraints"))
    if "local" in sources and spec.get("nodeAffinity") is None:
        errors.append(FieldError.required("spec.nodeAffinity", "Local volume requires node affinity"))
    return errors + _validate_source(spec)


_SOURCE_FIELDS = {
    "csi": ("driver", "volumeHandle"),
    "hostPath": ("path",),
    "local": ("path",),
    "nfs": ("server", "path"),
}
_SECRETS = ("controllerPublishSecretRef", "controllerExpandSecretRef", "nodePublishSecretRef", "nodeExpandSecretRef")


def _validate_source(spec: JsonObject) -> list[FieldError]:
    return (
        [
            error
            for name, fields in _SOURCE_FIELDS.items()
            if spec.get(name) is not None
            for error in required(spec[name], f"spec.{name}", *fields)
        ]
        + _path_errors(spec)
        + _secret_errors(spec.get("csi") or {})
    )


def _driver_errors(name: str, path: str) -> list[FieldError]:
    """A driver's name may have capitals, and is shown as it was sent."""
    return [FieldError.invalid(path, name, why) for why in names.dns1123_subdomain(name.lower())]


def _secret_errors(driver: JsonObject) -> list[FieldError]:
    """Secrets of a driver are named with their namespaces."""
    name = driver.get("driver", "")
    errors = _driver_errors(name, "spec.csi.driver") if name else []
    for field in _SECRETS:
        secret, at = driver.get(field), f"spec.csi.{field}"
        if secret is not None:
            errors += required_name(names.dns1123_subdomain, secret.get("name"), f"{at}.name")
            errors += required_name(names.dns1123_label, secret.get("namespace"), f"{at}.namespace")
    return errors


def _path_errors(spec: JsonObject) -> list[FieldError]:
    """Paths do not climb, and one on another machine begins at its root."""
    errors = []
    for source in ("hostPath", "local"):
        path = (spec.get(source) or {}).get("path", "")
        if ".." in path.split("/"):
            errors.append(FieldError.invalid(f"spec.{source}.path", path, "must not contain '..'"))
    share = spec.get("nfs")
    if share is not None and not share.get("path", "").startswith("/"):
        errors.append(FieldError.invalid("spec.nfs.path", share.get("path", ""), "must be an absolute path"))
    return errors


def update_volume(volume: JsonObject, old: JsonObject) -> list[FieldError]:
    """The source never changes once it is there. Kubernetes judges the rest of the spec twice here."""

    def source(obj: JsonObject) -> JsonObject:
        return {name: value for name, value in obj["spec"].items() if name not in _PV_FIELDS}

    errors = validate_volume(volume)
    if source(volume) != source(old):
        what = difference(old["spec"], volume["spec"], "core.PersistentVolumeSource")
        detail = f"spec.persistentvolumesource is immutable after creation\n{what}"
        errors.append(FieldError.forbidden("spec.persistentvolumesource", detail))
    affinity, before = (one["spec"].get("nodeAffinity") for one in (volume, old))
    if before is not None and _with_current_labels(affinity) != _with_current_labels(before):
        detail = "field is immutable, except for updating from beta label to GA"
        errors.append(FieldError.invalid("nodeAffinity", shown(affinity, "*core.VolumeNodeAffinity"), detail))
    return errors + unchanged(volume["spec"], old["spec"], "", "volumeMode")


def _with_current_labels(affinity: JsonObject | None) -> Any:
    """An affinity with the labels of nodes that once were beta by the names that they have now."""
    if affinity is None:
        return None
    terms = (affinity.get("required") or {}).get("nodeSelectorTerms") or []
    return [
        {
            **term,
            "matchExpressions": [
                {**one, "key": _BETA_LABELS.get(one.get("key", ""), one.get("key", ""))}
                for one in term.get("matchExpressions") or ()
            ],
        }
        for term in terms
    ]


def update_csi_driver(driver: JsonObject, old: JsonObject) -> list[FieldError]:
    """How volumes are attached never changes; Kubernetes spells one of the paths otherwise than the field."""
    spec, before = driver["spec"], old["spec"]
    errors = unchanged(spec, before, "spec", "attachRequired", "volumeLifecycleModes")
    wrong = {"spec.attachRequired": "spec.attachedRequired"}
    return [error._replace(path=wrong.get(error.path, error.path)) for error in errors]


VALIDATE: Mapping[tuple[str, str], Validator] = {
    ("", "PersistentVolume"): validate_volume,
    ("", "PersistentVolumeClaim"): validate_claim,
}
UPDATE: Mapping[tuple[str, str], UpdateValidator] = {
    ("", "PersistentVolume"): update_volume,
    ("", "PersistentVolumeClaim"): update_claim,
    ("storage.k8s.io", "CSIDriver"): update_csi_driver,
}
