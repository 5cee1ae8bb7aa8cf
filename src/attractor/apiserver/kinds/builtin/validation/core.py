"""Rules of the core group's kinds other than pods and services, and of leases."""

from __future__ import annotations

import binascii
from base64 import b64decode
from typing import TYPE_CHECKING

import orjson

from attractor.apiserver.kinds.builtin.validation.pods.pods import validate_pod, validate_template
from attractor.apiserver.kinds.builtin.validation.resources import (
    CONTAINER_RESOURCES,
    is_huge_pages,
    validate_resource_name,
)
from attractor.apiserver.kinds.builtin.validation.rules import (
    amount,
    each,
    named,
    unchanged,
)
from attractor.objects import names
from attractor.objects.field import FieldError
from attractor.objects.go_wording import GO_MAP, cannot_unmarshal, syntax_error

if TYPE_CHECKING:
    from collections.abc import Mapping

    from attractor.apiserver.kinds.builtin.validation.rules import UpdateValidator, Validator
    from attractor.objects.json_types import JsonObject

MAX_DATA_BYTES = 1024 * 1024
_NOT_FOR_CONTAINERS = "must be a standard resource for containers"
_FROZEN = "field is immutable when `immutable` is set"
_REQUIRED_KEYS = {
    "kubernetes.io/dockercfg": (".dockercfg",),
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
}
_SERVICE_ACCOUNT = "kubernetes.io/service-account.name"


def validate_config_map(config_map: JsonObject) -> list[FieldError]:
    """Keys and total size."""
    data: JsonObject = config_map.get("data") or {}
    binary: JsonObject = config_map.get("binaryData") or {}
    errors = _key_errors(data, "data")
    if binary:
        for key in binary.keys() & data.keys():
            errors.append(FieldError.invalid(f"data[{key}]", key, "duplicate of key present in binaryData"))
        errors += _key_errors(binary, "binaryData")
    size = _total(data)
    if size * 4 > MAX_DATA_BYTES:  # characters have up to four bytes; count them only when it may matter
        size = sum(len(value.encode()) for value in data.values())
    if binary:
        size += sum(map(_decoded_size, binary.values()))
    if size > MAX_DATA_BYTES:
        errors.append(FieldError.too_long("[]", MAX_DATA_BYTES))
    return errors


def _key_errors(data: JsonObject, path: str) -> list[FieldError]:
    if names.are_config_map_keys(data):
        return []
    return [error for key in data for error in named(names.config_map_key, key, f"{path}[{key}]")]


def _total(texts: JsonObject) -> int:
    """Characters of all texts."""
    total = 0
    for text in texts.values():
        total += len(text)
    return total


def _decoded_size(value: str) -> int:
    return len(value) * 3 // 4 - value.count("=")


def update_immutable(obj: JsonObject, old: JsonObject) -> list[FieldError]:
    """Once ``immutable`` is set, neither it nor the data changes."""
    if not old.get("immutable"):
        return []
    errors = [] if obj.get("immutable") else [FieldError.forbidden("immutable", _FROZEN)]
    changed = (field for field in ("data", "binaryData") if (obj.get(field) or {}) != (old.get(field) or {}))
    return errors + [FieldError.forbidden(field, _FROZEN) for field in changed]


def validate_secret(secret: JsonObject) -> list[FieldError]:
    """Keys, total size, and what the type needs."""
    data = secret.get("data") or {}
    errors = _key_errors(data, "data")
    if sum(map(_decoded_size, data.values())) > MAX_DATA_BYTES:
        errors.append(FieldError.too_long("data", MAX_DATA_BYTES))
    kind = secret.get("type", "")
    if kind == "kubernetes.io/service-account-token":
        if not (secret["metadata"].get("annotations") or {}).get(_SERVICE_ACCOUNT):
            errors.append(FieldError.required(f"metadata.annotations[{_SERVICE_ACCOUNT}]"))
    elif kind == "kubernetes.io/basic-auth":
        if "username" not in data and "password" not in data:
            errors += [FieldError.required("data[username]"), FieldError.required("data[password]")]
    else:
        errors += [
            FieldError.required(f"data[{key}]") for key in _REQUIRED_KEYS.get(kind, ()) if not _has(data, key, kind)
        ]
    for key in (".dockercfg", ".dockerconfigjson"):
        if key in _REQUIRED_KEYS.get(kind, ()) and key in data:
            errors += _validate_redacted_json(data[key], f"data[{key}]")
    return errors


def _has(data: JsonObject, key: str, kind: str) -> bool:
    return bool(data.get(key)) if kind == "kubernetes.io/ssh-auth" else key in data


def _validate_redacted_json(encoded: str, path: str) -> list[FieldError]:
    data = b""
    try:
        data = b64decode(encoded)
        trouble = syntax_error(data)
    except binascii.Error as error:
        trouble = str(error)
    if not trouble and not isinstance(value := orjson.loads(data), dict | None):
        trouble = cannot_unmarshal(value, GO_MAP)
    return [FieldError.invalid(path, "<secret contents redacted>", trouble)] if trouble else []


def update_secret(secret: JsonObject, old: JsonObject) -> list[FieldError]:
    """The type never changes; an immutable secret does not change at all."""
    return unchanged(secret, old, "", "type") + update_immutable(secret, old)


def validate_namespace(namespace: JsonObject) -> list[FieldError]:
    """Finalizers of the spec; none of them is told by its place in the list."""
    return [error._replace(path="spec.finalizers") for error in validate_finalizers(namespace)]


def validate_finalizers(namespace: JsonObject) -> list[FieldError]:
    """Finalizers of the spec, as whoever finalizes a namespace is told of them."""
    errors = []
    for finalizer, at in each(namespace["spec"], "finalizers", "spec"):
        errors += named(names.qualified_name, finalizer, at)
        if "/" not in finalizer and finalizer not in {"kubernetes", "orphan", "foregroundDeletion"}:
            detail = "name is neither a standard finalizer name nor is it fully qualified"
            errors.append(FieldError.invalid(at, finalizer, detail))
    return errors


def validate_limit_range(limit_range: JsonObject) -> list[FieldError]:
    """Each item: bounds in order."""
    errors: list[FieldError] = []
    seen: set[str] = set()
    for limit, at in each(limit_range["spec"], "limits", "spec"):
        kind = limit.get("type", "")
        if kind in seen:
            errors.append(FieldError.duplicate(f"{at}.type", kind))
        seen.add(kind)
        errors += _validate_limit_type(kind, f"{at}.type")
        errors += _validate_limit_names(limit, kind, at)
        if kind == "Pod":
            said = (field for field in ("default", "defaultRequest") if limit.get(field))
            errors += [
                FieldError.forbidden(f"{at}.{field}", "may not be specified when `type` is 'Pod'") for field in said
            ]
        if kind == "PersistentVolumeClaim" and "storage" not in {*(limit.get("min") or ()), *(limit.get("max") or ())}:
            detail = "either minimum or maximum storage value is required, but neither was provided"
            errors.append(FieldError.required(f"{at}.limits", detail))
        errors += _validate_bounds(limit, at) + _validate_ratios(limit, at)
    return errors


def _validate_limit_type(kind: str, path: str) -> list[FieldError]:
    errors = named(names.qualified_name, kind, path)
    if not errors and "/" not in kind and kind not in {"Pod", "Container", "PersistentVolumeClaim"}:
        errors.append(FieldError.invalid(path, kind, "must be a standard limit type or fully qualified"))
    return errors


def _validate_ratios(limit: JsonObject, path: str) -> list[FieldError]:
    """A limit may be so many times a request: at least once, and no more than the bounds allow."""
    errors = []
    lows, highs = limit.get("min") or {}, limit.get("max") or {}
    for name, ratio in (limit.get("maxLimitRequestRatio") or {}).items():
        at = f"{path}.maxLimitRequestRatio[{name}]"
        if amount(ratio) < amount("1"):
            errors.append(FieldError.invalid(at, ratio, f"ratio {ratio} is less than 1"))
        if name in lows and name in highs and amount(lows[name]).sign:
            most = amount(highs[name]).milli_value / amount(lows[name]).milli_value
            if amount(ratio).milli_value / 1000 > most:
                detail = f"ratio {ratio} is greater than max/min = {most:f}"
                errors.append(FieldError.invalid(at, ratio, detail))
    return errors


_BOUNDS = ("min", "max", "default", "defaultRequest", "maxLimitRequestRatio")


def _validate_limit_names(limit: JsonObject, kind: str, path: str) -> list[FieldError]:
    """Containers and pods have resources that Kubernetes knows."""
    errors = []
    for field in _BOUNDS:
        for name in limit.get(field) or {}:
            at = f"{path}.{field}[{name}]"
            errors += validate_resource_name(name, at)
            if kind in {"Container", "Pod"} and "/" not in name and name not in CONTAINER_RESOURCES:
                errors += [] if is_huge_pages(name) else [FieldError.invalid(at, name, _NOT_FOR_CONTAINERS)]
    return errors


_TITLES = {
    "min": "min value",
    "defaultRequest": "default request value",
    "default": "default value",
    "max": "max value",
}
_ORDERED = (
    ("min", "max", "min"),
    ("min", "defaultRequest", "defaultRequest"),
    ("defaultRequest", "max", "defaultRequest"),
    ("defaultRequest", "default", "defaultRequest"),
    ("min", "default", "default"),
    ("default", "max", "default"),
)
"""Lower bound, upper bound, and the field that is blamed when they are the wrong way round."""


def _validate_bounds(limit: JsonObject, path: str) -> list[FieldError]:
    errors = []
    for low, high, shown in _ORDERED:
        lows, highs = limit.get(low) or {}, limit.get(high) or {}
        for name in sorted(set(lows) & set(highs)):
            if amount(lows[name]) > amount(highs[name]):
                limit_value = "default limit value" if low == "defaultRequest" and high == "default" else _TITLES[high]
                detail = f"{_TITLES[low]} {lows[name]} is greater than {limit_value} {highs[name]}"
                value = highs[name] if high == "defaultRequest" or low == "default" else lows[name]
                errors.append(FieldError.invalid(f"{path}.{shown}[{name}]", value, detail))
    return errors


def validate_pod_template(template: JsonObject) -> list[FieldError]:
    """The template inside."""
    return validate_template(template["template"], "template")


VALIDATE: Mapping[tuple[str, str], Validator] = {
    ("", "ConfigMap"): validate_config_map,
    ("", "LimitRange"): validate_limit_range,
    ("", "Namespace"): validate_namespace,
    ("", "Pod"): validate_pod,
    ("", "PodTemplate"): validate_pod_template,
    ("", "Secret"): validate_secret,
}
UPDATE: Mapping[tuple[str, str], UpdateValidator] = {
    ("", "ConfigMap"): update_immutable,
    ("", "Secret"): update_secret,
}
