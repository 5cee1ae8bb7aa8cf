"""Rules of pods and pod templates."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any

import orjson

from attractor.apiserver.builtin.validation.containers import (
    FIELD_PATHS,
    validate_containers,
    validate_field_ref,
    validate_ids,
)
from attractor.apiserver.builtin.validation.rules import (
    ALWAYS,
    NEVER,
    ON_FAILURE,
    at_least_zero,
    each,
    ip_address,
    named,
    one_of,
    required,
    required_name,
    unique,
)
from attractor.objects import names
from attractor.objects.field import FieldError

if TYPE_CHECKING:
    from collections.abc import Collection

    from attractor.objects.jsontypes import JsonObject

_DNS_POLICIES = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_INT32_MAX = 2**31 - 1
_MAX_NAMESERVERS = 3
_REQUIRED_IN_SOURCE = {
    "secret": "secretName",
    "configMap": "name",
    "persistentVolumeClaim": "claimName",
    "hostPath": "path",
}
_UPDATABLE = (
    "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,"
    "`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)
_TOLERATION_OPERATORS = ("Equal", "Exists", "Lt", "Gt")
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")


def validate_pod(pod: JsonObject) -> list[FieldError]:
    """A new pod."""
    return validate_pod_spec(pod["spec"], "spec", in_pod=True)


def validate_pod_spec(
    spec: JsonObject, path: str, extra_volumes: Collection[str] = (), *, in_pod: bool = False
) -> list[FieldError]:
    """The spec of a pod, in a pod or in a template; ``extra_volumes`` come from claim templates."""
    errors = at_least_zero(spec, path, "terminationGracePeriodSeconds")
    volumes = {volume.get("name", "") for volume, _ in each(spec, "volumes", path)} | set(extra_volumes)
    errors += _validate_volumes(spec, path)
    errors += validate_containers(spec, path, volumes, in_pod=in_pod)
    errors += one_of(spec.get("restartPolicy"), f"{path}.restartPolicy", (ALWAYS, ON_FAILURE, NEVER))
    errors += one_of(spec.get("dnsPolicy"), f"{path}.dnsPolicy", _DNS_POLICIES)
    errors += names.validate_labels(spec.get("nodeSelector") or {}, f"{path}.nodeSelector")
    errors += validate_ids(spec.get("securityContext") or {}, f"{path}.securityContext")
    errors += _validate_scheduling(spec, path)
    errors += _validate_dns(spec, path)
    for field, rule in (("serviceAccountName", names.dns1123_subdomain), ("nodeName", names.dns1123_subdomain),
                        ("hostname", names.dns1123_label), ("subdomain", names.dns1123_label),
                        ("priorityClassName", names.dns1123_subdomain)):  # fmt: skip
        if spec.get(field):
            errors += named(rule, spec[field], f"{path}.{field}")
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None and not 1 <= deadline <= _INT32_MAX:
        errors.append(FieldError.invalid(f"{path}.activeDeadlineSeconds", deadline, names.range_error(1, _INT32_MAX)))
    return errors


def _validate_dns(spec: JsonObject, path: str) -> list[FieldError]:
    config, at = spec.get("dnsConfig"), f"{path}.dnsConfig"
    if spec.get("dnsPolicy") == "None":
        if config is None:
            return [FieldError.required(at, "must provide `dnsConfig` when `dnsPolicy` is None")]
        if not config.get("nameservers"):
            detail = "must provide at least one DNS nameserver when `dnsPolicy` is None"
            return [FieldError.required(f"{at}.nameservers", detail)]
    errors: list[FieldError] = []
    servers = (config or {}).get("nameservers") or []
    if len(servers) > _MAX_NAMESERVERS:
        detail = f"must not have more than {_MAX_NAMESERVERS} nameservers"
        errors.append(FieldError.invalid(f"{at}.nameservers", servers, detail))
    for server, where in each(config, "nameservers", at):
        errors += ip_address(server, where)
    for search, where in each(config, "searches", at):
        errors += named(names.dns1123_subdomain_with_underscore, search.removesuffix("."), where)
    return errors


def validate_template(template: JsonObject, path: str, extra_volumes: Collection[str] = ()) -> list[FieldError]:
    """A pod template: its labels, its annotations, its spec."""
    metadata = template.get("metadata") or {}
    errors = names.validate_labels(metadata.get("labels") or {}, f"{path}.labels")
    errors += names.validate_annotations(metadata.get("annotations") or {}, f"{path}.annotations")
    errors += validate_pod_spec(template["spec"], f"{path}.spec", extra_volumes)
    if template["spec"].get("ephemeralContainers"):
        detail = "ephemeral containers not allowed in pod template"
        errors.append(FieldError.forbidden(f"{path}.spec.ephemeralContainers", detail))
    return errors


def _validate_volumes(spec: JsonObject, path: str) -> list[FieldError]:
    errors = []
    for volume, at in each(spec, "volumes", path):
        errors += required_name(names.dns1123_label, volume.get("name"), f"{at}.name")
        sources = sorted((name for name in volume if name != "name"), key=lambda name: name != "emptyDir")
        if not sources:
            errors.append(FieldError.required(at, "must specify a volume type"))
        for name in sources[1:]:
            errors.append(FieldError.forbidden(f"{at}.{name}", "may not specify more than 1 volume type"))
        for name in sources[:1]:
            errors += _validate_source(name, volume[name] or {}, f"{at}.{name}")
    return errors + unique((volume.get("name"), f"{at}.name") for volume, at in each(spec, "volumes", path))


def _validate_source(name: str, source: JsonObject, path: str) -> list[FieldError]:
    errors = []
    if name in _REQUIRED_IN_SOURCE:
        errors += required(source, path, _REQUIRED_IN_SOURCE[name])
    if name == "hostPath" and ".." in source.get("path", "").split("/"):
        errors.append(FieldError.invalid(f"{path}.path", source["path"], "must not contain '..'"))
    for item, at in each(source, "items", path):
        if name == "downwardAPI":
            errors += required(item, at, "path")
            if item.get("fieldRef") is not None:
                supported = (*FIELD_PATHS[:3], "metadata.labels", "metadata.annotations")
                errors += validate_field_ref(item["fieldRef"], f"{at}.fieldRef", supported)
        else:
            errors += required(item, at, "key", "path")
    mode = source.get("defaultMode")
    if mode is not None and not 0 <= mode <= 0o777:
        detail = "must be a number between 0 and 0777 (octal), both inclusive"
        errors.append(FieldError.invalid(f"{path}.defaultMode", mode, detail))
    return errors


def _validate_scheduling(spec: JsonObject, path: str) -> list[FieldError]:
    errors = []
    for toleration, at in each(spec, "tolerations", path):
        key, operator = toleration.get("key", ""), toleration.get("operator", "")
        if key:
            errors += named(names.qualified_name, key, f"{at}.key")
        elif operator != "Exists":
            detail = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
            errors.append(FieldError.invalid(f"{at}.operator", operator, detail))
        if toleration.get("tolerationSeconds") is not None and toleration.get("effect") != "NoExecute":
            detail = "effect must be 'NoExecute' when `tolerationSeconds` is set"
            errors.append(FieldError.invalid(f"{at}.effect", toleration.get("effect", ""), detail))
        if operator == "Exists" and toleration.get("value"):
            detail = "value must be empty when `operator` is 'Exists'"
            errors.append(FieldError.invalid(f"{at}.operator", toleration["value"], detail))
        errors += one_of(operator, f"{at}.operator", _TOLERATION_OPERATORS, optional=True)
        errors += one_of(toleration.get("effect"), f"{at}.effect", _EFFECTS, optional=True)
    for constraint, at in each(spec, "topologySpreadConstraints", path):
        errors += required(constraint, at, "topologyKey")
        if constraint.get("maxSkew", 0) <= 0:
            errors.append(
                FieldError.invalid(f"{at}.maxSkew", constraint.get("maxSkew", 0), "must be greater than zero")
            )
        errors += one_of(
            constraint.get("whenUnsatisfiable"), f"{at}.whenUnsatisfiable", ("DoNotSchedule", "ScheduleAnyway")
        )
    return errors


def validate_pod_update(pod: JsonObject, old: JsonObject) -> list[FieldError]:
    """A change of a pod: images, the deadline and new tolerations, nothing else."""
    spec, before = pod["spec"], old["spec"]
    errors = []
    for field in ("containers", "initContainers"):
        if len(spec.get(field) or ()) != len(before.get(field) or ()):
            return [FieldError.forbidden(f"spec.{field}", "pod updates may not add or remove containers")]
        for container, at in each(spec, field, "spec"):
            errors += required(container, at, "image")
    errors += _validate_deadline_change(spec.get("activeDeadlineSeconds"), before.get("activeDeadlineSeconds"))
    kept, wanted = before.get("tolerations") or [], spec.get("tolerations") or []
    still = [_without_seconds(toleration) for toleration in wanted]
    if any(_without_seconds(toleration) not in still for toleration in kept):
        errors.append(
            FieldError.forbidden(
                "spec.tolerations", "existing toleration can not be modified except its tolerationSeconds"
            )
        )
    errors += _validate_scheduling({"tolerations": wanted}, "spec")
    if _frozen(spec, before) != before:
        shown = (
            f"pod updates may not change fields other than {_UPDATABLE}\n{_difference(before, _frozen(spec, before))}"
        )
        errors.append(FieldError.forbidden("spec", shown))
    return errors


def _without_seconds(toleration: JsonObject) -> JsonObject:
    return {name: value for name, value in toleration.items() if name != "tolerationSeconds"}


def _frozen(spec: JsonObject, before: JsonObject) -> JsonObject:
    """The new spec with everything that may change put back; equal to the old one when the change is allowed."""
    frozen = dict(spec)
    for field in ("containers", "initContainers"):
        if spec.get(field):
            pairs = zip(spec[field], before.get(field) or (), strict=False)
            frozen[field] = [{**new, "image": old.get("image", "")} for new, old in pairs]
    movable = ["activeDeadlineSeconds", "tolerations"]
    if spec.get("terminationGracePeriodSeconds") == 1 and (before.get("terminationGracePeriodSeconds") or 0) < 0:
        movable.append("terminationGracePeriodSeconds")
    gates, had = spec.get("schedulingGates") or [], before.get("schedulingGates") or []
    if all(gate in had for gate in gates):
        movable.append("schedulingGates")
    for field in movable:
        frozen.pop(field, None)
        if field in before:
            frozen[field] = before[field]
    return frozen


def _validate_deadline_change(new: int | None, old: int | None) -> list[FieldError]:
    path = "spec.activeDeadlineSeconds"
    if new is None:
        if old is None:
            return []
        return [FieldError.invalid(path, new, "must not update from a positive integer to nil value")]
    if not 0 <= new <= _INT32_MAX:
        return [FieldError.invalid(path, new, names.range_error(0, _INT32_MAX))]
    if old is not None and old < new:
        return [FieldError.invalid(path, new, "must be less than or equal to previous value")]
    return []


def _difference(old: Any, new: Any) -> str:
    def lines(value: Any) -> list[str]:
        return orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS).decode().splitlines()

    changes = difflib.unified_diff(lines(old), lines(new), lineterm="", n=1)
    return "\n".join(line for line in changes if not line.startswith(("---", "+++")))
