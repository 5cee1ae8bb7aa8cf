"""Rules of a pod's volumes: each has one source, and each source what it needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attractor.apiserver.kinds.builtin.validation.pods.containers import FIELD_PATHS, validate_field_ref
from attractor.apiserver.kinds.builtin.validation.rules import (
    amount,
    each,
    named,
    relative_path,
    required,
    required_name,
    token_lifetime,
)
from attractor.apiserver.kinds.builtin.validation.storage.claims import validate_claim_spec
from attractor.objects import names
from attractor.objects.field import FieldError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from attractor.objects.json_types import JsonObject

_HOST_PATH_TYPES = (
    "", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket",
)  # fmt: skip
_REQUIRED: Mapping[str, tuple[str, ...]] = {
    "awsElasticBlockStore": ("volumeID",),
    "azureDisk": ("diskName", "diskURI"),
    "azureFile": ("secretName", "shareName"),
    "cephfs": ("monitors",),
    "cinder": ("volumeID",),
    "configMap": ("name",),
    "csi": ("driver",),
    "flexVolume": ("driver",),
    "gcePersistentDisk": ("pdName",),
    "gitRepo": ("repository",),
    "glusterfs": ("endpoints", "path"),
    "hostPath": ("path",),
    "image": ("reference",),
    "iscsi": ("targetPortal", "iqn"),
    "nfs": ("server", "path"),
    "persistentVolumeClaim": ("claimName",),
    "portworxVolume": ("volumeID",),
    "rbd": ("monitors", "image"),
    "secret": ("secretName",),
    "vsphereVolume": ("volumePath",),
}
"""Fields that sources cannot do without."""
_MODE = "must be a number between 0 and 0777 (octal), both inclusive"
_OWN_FIELDS = (*FIELD_PATHS[:3], "metadata.labels", "metadata.annotations")


def validate_volumes(spec: JsonObject, path: str) -> tuple[dict[str, JsonObject], list[FieldError]]:
    """The volumes that can be mounted, by name, and every rule that the others break."""
    found: dict[str, JsonObject] = {}
    errors = []
    for volume, at in each(spec, "volumes", path):
        name = volume.get("name", "")
        sources = sorted((name for name in volume if name != "name"), key=lambda name: name != "emptyDir")
        broken = [] if sources else [FieldError.required(at, "must specify a volume type")]
        for source in sources[:1]:
            broken += _validate_source(source, volume[source] or {}, f"{at}.{source}")
        for source in sources[1:]:
            broken.append(FieldError.forbidden(f"{at}.{source}", "may not specify more than 1 volume type"))
        broken += required_name(names.dns1123_label, name, f"{at}.name")
        if name in found:
            broken.append(FieldError.duplicate(f"{at}.name", name))
        elif not broken:
            found[name] = volume
        errors += broken
    return found, errors


def _validate_source(name: str, source: JsonObject, path: str) -> list[FieldError]:
    errors = required(source, path, *_REQUIRED.get(name, ()))
    validate = _SOURCES.get(name)
    return errors + (validate(source, path) if validate is not None else [])


def _validate_empty_dir(source: JsonObject, path: str) -> list[FieldError]:
    limit = source.get("sizeLimit")
    if limit is None or amount(limit).sign >= 0:
        return []
    return [FieldError.forbidden(f"{path}.sizeLimit", "SizeLimit field must be a valid resource quantity")]


def _validate_host_path(source: JsonObject, path: str) -> list[FieldError]:
    errors = []
    if ".." in source.get("path", "").split("/"):
        errors.append(FieldError.invalid(f"{path}.path", source["path"], "must not contain '..'"))
    if source.get("type") not in {None, *_HOST_PATH_TYPES}:
        errors.append(FieldError.unsupported(f"{path}.type", source["type"], _HOST_PATH_TYPES))
    return errors


def _validate_nfs(source: JsonObject, path: str) -> list[FieldError]:
    where = source.get("path", "")
    return [] if where.startswith("/") else [FieldError.invalid(f"{path}.path", where, "must be an absolute path")]


def _validate_mode(obj: JsonObject, path: str, field: str) -> list[FieldError]:
    mode = obj.get(field)
    return [] if mode is None or 0 <= mode <= 0o777 else [FieldError.invalid(f"{path}.{field}", mode, _MODE)]


def _validate_items(source: JsonObject, path: str) -> list[FieldError]:
    """Keys and the files that they become."""
    errors = _validate_mode(source, path, "defaultMode")
    for item, at in each(source, "items", path):
        errors += required(item, at, "key", "path") + relative_path(item.get("path", ""), f"{at}.path")
        errors += _validate_mode(item, at, "mode")
    return errors


def _validate_downward(source: JsonObject, path: str) -> list[FieldError]:
    """Fields of the pod as files; refusals do not say which file."""
    errors = _validate_mode(source, path, "defaultMode")
    for item in source.get("items") or ():
        where = item.get("path", "")
        errors += relative_path(where, f"{path}.path") if where else [FieldError.required(f"{path}.path")]
        if item.get("fieldRef") is not None:
            errors += validate_field_ref(item["fieldRef"], f"{path}.fieldRef", _OWN_FIELDS)
            if item.get("resourceFieldRef") is not None:
                detail = "fieldRef and resourceFieldRef can not be specified simultaneously"
                errors.append(FieldError.invalid(path, "resource", detail))
        elif item.get("resourceFieldRef") is None:
            errors.append(FieldError.required(path, "one of fieldRef and resourceFieldRef is required"))
        errors += _validate_mode(item, path, "mode")
    return errors


def _validate_projected(source: JsonObject, path: str) -> list[FieldError]:
    errors = _validate_mode(source, path, "defaultMode")
    for one, at in each(source, "sources", path):
        kinds = [name for name in one if one[name] is not None]
        if len(kinds) > 1:
            errors.append(FieldError.forbidden(at, "may not specify more than 1 volume type per source"))
        for name in kinds[:1]:
            errors += _validate_projection(name, one[name], f"{at}.{name}", path)
    return errors


def _validate_projection(name: str, source: JsonObject, path: str, volume: str) -> list[FieldError]:
    if name == "downwardAPI":
        return _validate_downward(source, path)
    if name in {"configMap", "secret"}:
        return required(source, path, "name") + _validate_items(source, path)
    if name != "serviceAccountToken":
        return []
    errors = []
    errors += token_lifetime(source.get("expirationSeconds", 3600), f"{path}.expirationSeconds")
    if not source.get("path"):
        errors.append(FieldError.required(f"{volume}.path"))
    return errors


def _validate_ephemeral(source: JsonObject, path: str) -> list[FieldError]:
    template = source.get("volumeClaimTemplate")
    if template is None:
        return [FieldError.required(f"{path}.volumeClaimTemplate")]
    return validate_claim_spec(template.get("spec") or {}, f"{path}.volumeClaimTemplate.spec")


def _validate_csi(source: JsonObject, path: str) -> list[FieldError]:
    return named(names.dns1123_subdomain, source["driver"], f"{path}.driver") if source.get("driver") else []


_SOURCES: Mapping[str, Callable[[JsonObject, str], list[FieldError]]] = {
    "configMap": _validate_items,
    "csi": _validate_csi,
    "downwardAPI": _validate_downward,
    "emptyDir": _validate_empty_dir,
    "ephemeral": _validate_ephemeral,
    "hostPath": _validate_host_path,
    "nfs": _validate_nfs,
    "projected": _validate_projected,
    "secret": _validate_items,
}
