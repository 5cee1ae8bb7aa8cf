"""Rules of devices that pods claim: classes, claims and their templates, and the slices that drivers publish."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attractor.apiserver.kinds.builtin.internal_form import shown
from attractor.apiserver.kinds.builtin.validation.rules import IMMUTABLE, each, named, one_of, required, required_name
from attractor.objects import names
from attractor.objects.field import FieldError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from attractor.apiserver.kinds.builtin.validation.rules import UpdateValidator, Validator
    from attractor.objects.json_types import JsonObject

_GROUP = "resource.k8s.io"
_MODES = ("All", "ExactCount")
_PLACES = ("nodeName", "nodeSelector", "allNodes", "perDeviceNodeSelection")


def _selector_errors(obj: JsonObject, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for selector, at in each(obj, "selectors", path):
        if selector.get("cel") is None:
            errors.append(FieldError.required(f"{at}.cel"))
        else:
            errors += required(selector["cel"], f"{at}.cel", "expression")
    return errors


def _config_errors(obj: JsonObject, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for config, at in each(obj, "config", path):
        opaque = config.get("opaque")
        if opaque is None:
            errors.append(FieldError.required(f"{at}.opaque"))
            continue
        errors += required_name(names.dns1123_subdomain, opaque.get("driver"), f"{at}.opaque.driver")
        if opaque.get("parameters") is None:
            errors.append(FieldError.required(f"{at}.opaque.parameters"))
    return errors


def validate_device_class(device_class: JsonObject) -> list[FieldError]:
    """What it selects, and how that is configured."""
    return _selector_errors(device_class["spec"], "spec") + _config_errors(device_class["spec"], "spec")


def _claim_errors(spec: JsonObject, path: str) -> list[FieldError]:
    devices, at = spec.get("devices") or {}, f"{path}.devices"
    errors: list[FieldError] = []
    seen: set[str] = set()
    for request, where in each(devices, "requests", at):
        name = request.get("name", "")
        errors += required_name(names.dns1123_label, name, f"{where}.name")
        errors += _request_errors(request, where)
        if name in seen:
            errors.append(FieldError.duplicate(where, name))
        seen.add(name)
    return errors + _constraint_errors(devices, at, _request_names(devices)) + _config_errors(devices, at)


def _request_errors(request: JsonObject, path: str) -> list[FieldError]:
    exactly, alternatives = request.get("exactly"), request.get("firstAvailable") or []
    why = "exactly one of `exactly` or `firstAvailable` is required"
    if exactly is None and not alternatives:
        return [FieldError.required(path, why)]
    if exactly is not None and alternatives:
        return [FieldError.invalid(path, None, f"{why}, but multiple fields are set")]
    if exactly is not None:
        return _wanted_errors(exactly, f"{path}.exactly")
    errors: list[FieldError] = []
    for alternative, at in each(request, "firstAvailable", path):
        errors += required_name(names.dns1123_label, alternative.get("name"), f"{at}.name")
        errors += _wanted_errors(alternative, at)
    return errors


def _wanted_errors(wanted: JsonObject, path: str) -> list[FieldError]:
    """Of which class, and how many."""
    errors = required_name(names.dns1123_subdomain, wanted.get("deviceClassName"), f"{path}.deviceClassName")
    errors += _selector_errors(wanted, path)
    mode, count = wanted.get("allocationMode"), wanted.get("count") or 0
    if mode == "ExactCount" and count <= 0:
        errors.append(FieldError.invalid(f"{path}.count", count, "must be greater than zero"))
    elif mode == "All" and count:
        errors.append(FieldError.invalid(f"{path}.count", count, "must not be specified when allocationMode is 'All'"))
    return errors + one_of(mode, f"{path}.allocationMode", _MODES)


def _request_names(devices: JsonObject) -> set[str]:
    found: set[str] = set()
    for request in devices.get("requests") or ():
        name = request.get("name", "")
        found |= {name, *(f"{name}/{one.get('name', '')}" for one in request.get("firstAvailable") or ())}
    return found


def _constraint_errors(devices: JsonObject, path: str, known: set[str]) -> list[FieldError]:
    errors: list[FieldError] = []
    for constraint, at in each(devices, "constraints", path):
        for name, where in each(constraint, "requests", at):
            if name not in known:
                why = "must be the name of a request in the claim or the name of a request and a subrequest separated "
                errors.append(FieldError.invalid(where, name, f"{why}by '/'"))
        attribute = constraint.get("matchAttribute")
        if attribute is not None and "/" not in attribute:
            why = "a fully qualified name must be a domain and a name separated by a slash"
            errors.append(FieldError.invalid(f"{at}.matchAttribute", attribute, why))
    return errors


def validate_claim(claim: JsonObject) -> list[FieldError]:
    """What is wanted."""
    return _claim_errors(claim["spec"], "spec")


def validate_claim_template(template: JsonObject) -> list[FieldError]:
    """What is wanted by each claim that is made from it."""
    return _claim_errors(template["spec"].get("spec") or {}, "spec.spec")


def _kept(kind: str) -> UpdateValidator:
    def validate(obj: JsonObject, old: JsonObject) -> list[FieldError]:
        if obj["spec"] == old["spec"]:
            return []
        return [FieldError.invalid("spec", shown(obj["spec"], kind), IMMUTABLE)]

    return validate


def validate_claim_status(claim: JsonObject, old: JsonObject) -> list[FieldError]:
    """What is allocated stays until it is given back."""
    allocation, before = ((one.get("status") or {}).get("allocation") for one in (claim, old))
    if allocation is None or before is None or allocation == before:
        return []
    return [FieldError.invalid("status.allocation", shown(allocation, "resource.AllocationResult"), IMMUTABLE)]


def validate_slice(resource_slice: JsonObject) -> list[FieldError]:
    """Whose devices, where, and in how many parts."""
    spec = resource_slice["spec"]
    pool = spec.get("pool") or {}
    errors = required_name(names.dns1123_subdomain, spec.get("driver"), "spec.driver")
    errors += required(pool, "spec.pool", "name")
    count = pool.get("resourceSliceCount") or 0
    if count <= 0:
        errors.append(FieldError.invalid("spec.pool.resourceSliceCount", count, "must be greater than zero"))
    places = [field for field in _PLACES if spec.get(field)]
    why = f"exactly one of {', '.join(f'`{field}`' for field in _PLACES)} is required"
    if not places:
        errors.append(FieldError.required("spec", why))
    elif len(places) > 1:
        said = "{" + ", ".join(places) + "}"
        errors.append(FieldError.invalid("spec", said, f"{why}, but multiple fields are set"))
    for device, at in each(spec, "devices", "spec"):
        errors += named(names.dns1123_label, device.get("name", ""), f"{at}.name")
    return errors


VALIDATE: Mapping[tuple[str, str], Validator] = {
    (_GROUP, "DeviceClass"): validate_device_class,
    (_GROUP, "ResourceClaim"): validate_claim,
    (_GROUP, "ResourceClaimTemplate"): validate_claim_template,
    (_GROUP, "ResourceSlice"): validate_slice,
}
UPDATE_ONLY: Mapping[tuple[str, str], UpdateValidator] = {
    (_GROUP, "ResourceClaim"): _kept("resource.ResourceClaimSpec"),
    (_GROUP, "ResourceClaimTemplate"): _kept("resource.ResourceClaimTemplateSpec"),
}
STATUS: Mapping[tuple[str, str], UpdateValidator] = {(_GROUP, "ResourceClaim"): validate_claim_status}
