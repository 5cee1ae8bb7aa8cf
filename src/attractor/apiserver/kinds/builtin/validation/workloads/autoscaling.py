"""Rules of HorizontalPodAutoscalers: bounds, the target, metrics, behaviour."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attractor.apiserver.kinds.builtin.autoscaler_conversion import to_hub
from attractor.apiserver.kinds.builtin.validation.resources import validate_container_resource
from attractor.apiserver.kinds.builtin.validation.rules import amount, at_least_zero, each, named, required_name
from attractor.objects import names
from attractor.objects.field import FieldError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from attractor.apiserver.kinds.builtin.validation.rules import UpdateValidator, Validator
    from attractor.objects.json_types import JsonObject

_METRICS = {
    "ContainerResource": "containerResource",
    "External": "external",
    "Object": "object",
    "Pods": "pods",
    "Resource": "resource",
}
"""Types of metrics, and the field that describes each."""
_LOOKED_AT = ("object", "external", "pods", "resource", "containerResource")
_TARGETS = ("Utilization", "Value", "AverageValue")
_MAX_WINDOW_S = 3600
_MAX_PERIOD_S = 1800


def validate_autoscaler(autoscaler: JsonObject) -> list[FieldError]:
    """The whole spec; of v1 by what it means in v2."""
    spec = (to_hub(autoscaler) if autoscaler.get("apiVersion") == "autoscaling/v1" else autoscaler)["spec"]
    errors = []
    low, high = spec.get("minReplicas"), spec.get("maxReplicas", 0)
    if low is not None and low < 1:
        errors.append(FieldError.invalid("spec.minReplicas", low, "must be greater than or equal to 1"))
    if high == 0:
        errors.append(FieldError.required("spec.maxReplicas", "must be set and greater than 0"))
    elif high < 0:
        errors.append(FieldError.invalid("spec.maxReplicas", high, "must be greater than or equal to 1"))
    if low is not None and high < low:
        errors.append(FieldError.invalid("spec.maxReplicas", high, "must be greater than or equal to `minReplicas`"))
    errors += _validate_reference(spec.get("scaleTargetRef") or {}, "spec.scaleTargetRef")
    for metric, at in each(spec, "metrics", "spec"):
        errors += _validate_metric(metric, at)
    if low == 0 and not {one.get("type") for one in spec.get("metrics") or ()} & {"Object", "External"}:
        detail = "must specify at least one Object or External metric to support scaling to zero replicas"
        errors.append(FieldError.forbidden("spec.metrics", detail))
    for field in ("scaleUp", "scaleDown"):
        rules = (spec.get("behavior") or {}).get(field)
        if rules is not None:
            errors += _validate_rules(rules, f"spec.behavior.{field}")
    return errors


def _validate_metric(metric: JsonObject, path: str) -> list[FieldError]:
    kind = metric.get("type", "")
    errors = [] if kind else [FieldError.required(f"{path}.type", "must specify a metric source type")]
    unknown = FieldError.unsupported(f"{path}.type", kind, sorted(_METRICS))
    if kind not in _METRICS:
        errors.append(unknown)
    present = [field for field in _LOOKED_AT if metric.get(field) is not None]
    if present:
        errors += _validate_source(present[0], metric[present[0]], f"{path}.{present[0]}")
    if kind not in _METRICS:
        errors.append(unknown)
    elif metric.get(_METRICS[kind]) is None:
        detail = "must populate information for the given metric source"
        errors.append(FieldError.required(f"{path}.{_METRICS[kind]}", detail))
    if len(present) != 1:
        detail = "must populate the given metric source only"
        others = [field for field in present if field != _METRICS.get(kind)]
        errors += [FieldError.forbidden(f"{path}.{field}", detail) for field in others]
    return errors


def _validate_source(name: str, source: JsonObject, path: str) -> list[FieldError]:
    target, at = source.get("target") or {}, f"{path}.target"
    average, utilization = target.get("averageValue"), target.get("averageUtilization")
    errors: list[FieldError] = []
    if name in {"resource", "containerResource"}:
        if not source.get("name"):
            errors.append(FieldError.required(f"{path}.name", "must specify a resource name"))
        elif name == "containerResource":
            errors += validate_container_resource(source["name"], f"{path}.name")
        if name == "containerResource" and not source.get("container"):
            errors.append(FieldError.required(f"{path}.container", "must specify a container"))
        elif name == "containerResource":
            errors += named(names.dns1123_label, source["container"], f"{path}.container")
    elif not (source.get("metric") or {}).get("name"):
        errors.append(FieldError.required(f"{path}.metric.name", "must specify a metric name"))
    else:
        errors += named(names.path_segment, source["metric"]["name"], f"{path}.metric.name")
    if name == "object":
        errors += _validate_reference(source.get("describedObject") or {}, f"{path}.describedObject")
    errors += _validate_target(target, at)
    if name in {"resource", "containerResource"}:
        if average is None and utilization is None:
            detail = "must set either a target raw value or a target utilization"
            errors.append(FieldError.required(f"{at}.averageUtilization", detail))
        if average is not None and utilization is not None:
            detail = "may not set both a target raw value and a target utilization"
            errors.append(FieldError.forbidden(f"{at}.averageValue", detail))
    elif name == "pods" and average is None:
        errors.append(FieldError.required(f"{at}.averageValue", "must specify a positive target averageValue"))
    elif name in {"object", "external"} and average is None and target.get("value") is None:
        what = "target value or averageValue" if name == "object" else "target value for metric or a per-pod target"
        errors.append(FieldError.required(f"{at}.averageValue", f"must set either a {what}"))
    elif name == "external" and average is not None and target.get("value") is not None:
        detail = "may not set both a target value for metric and a per-pod target"
        errors.append(FieldError.forbidden(f"{at}.value", detail))
    return errors


def _validate_reference(reference: JsonObject, path: str) -> list[FieldError]:
    """What is scaled, or looked at: its kind and its name."""
    errors = required_name(names.path_segment, reference.get("kind"), f"{path}.kind")
    return errors + required_name(names.path_segment, reference.get("name"), f"{path}.name")


def _validate_target(target: JsonObject, path: str) -> list[FieldError]:
    kind = target.get("type", "")
    errors = [] if kind else [FieldError.required(f"{path}.type", "must specify a metric target type")]
    if kind not in _TARGETS:
        errors.append(FieldError.invalid(f"{path}.type", kind, "must be either Utilization, Value, or AverageValue"))
    values = [field for field in ("value", "averageValue") if target.get(field) is not None]
    wrong = [field for field in values if amount(target[field]).sign <= 0]
    errors += [FieldError.invalid(f"{path}.{field}", target[field], "must be positive") for field in wrong]
    utilization = target.get("averageUtilization")
    if utilization is not None and utilization < 1:
        errors.append(FieldError.invalid(f"{path}.averageUtilization", utilization, "must be greater than 0"))
    return errors


def _validate_rules(rules: JsonObject, path: str) -> list[FieldError]:
    window, policy = rules.get("stabilizationWindowSeconds"), rules.get("selectPolicy")
    at, errors = f"{path}.stabilizationWindowSeconds", []
    if window is not None and window < 0:
        errors.append(FieldError.invalid(at, window, "must be greater than or equal to zero"))
    if window is not None and window > _MAX_WINDOW_S:
        errors.append(FieldError.invalid(at, window, f"must be less than or equal to {_MAX_WINDOW_S}"))
    if policy is not None and policy not in {"Disabled", "Max", "Min"}:
        errors.append(FieldError.unsupported(f"{path}.selectPolicy", policy, ("Disabled", "Max", "Min")))
    if not rules.get("policies"):
        errors.append(FieldError.required(f"{path}.policies", "must specify at least one Policy"))
    for one, where in each(rules, "policies", path):
        if one.get("type") not in {"Percent", "Pods"}:
            errors.append(FieldError.unsupported(f"{where}.type", one.get("type", ""), ("Percent", "Pods")))
        wrong = [(f"{where}.{field}", one.get(field, 0)) for field in ("value", "periodSeconds")]
        errors += [FieldError.invalid(p, value, "must be greater than zero") for p, value in wrong if value <= 0]
        if one.get("periodSeconds", 0) > _MAX_PERIOD_S:
            detail = f"must be less than or equal to {_MAX_PERIOD_S}"
            errors.append(FieldError.invalid(f"{where}.periodSeconds", one["periodSeconds"], detail))
    return errors


def create_autoscaler(autoscaler: JsonObject) -> list[FieldError]:
    """The target's group; only ReplicationControllers of the core group have a scale."""
    target = autoscaler["spec"].get("scaleTargetRef") or {}
    version = target.get("apiVersion", "")
    if "/" in version or target.get("kind") == "ReplicationController":
        return []
    return [FieldError.invalid("spec.scaleTargetRef.apiVersion", version, "apiVersion must specify API group")]


def update_autoscaler(autoscaler: JsonObject, old: JsonObject) -> list[FieldError]:
    """A target that stays is not judged again."""
    target, before = (one["spec"].get("scaleTargetRef") or {} for one in (autoscaler, old))
    is_same = all(target.get(field) == before.get(field) for field in ("apiVersion", "kind"))
    return [] if is_same else create_autoscaler(autoscaler)


def validate_autoscaler_status(autoscaler: JsonObject, _old: JsonObject) -> list[FieldError]:
    """Counts are not negative."""
    return at_least_zero(autoscaler.get("status"), "status", "currentReplicas", "desiredReplicas")


_KIND = ("autoscaling", "HorizontalPodAutoscaler")
VALIDATE: Mapping[tuple[str, str], Validator] = {_KIND: validate_autoscaler}
CREATE: Mapping[tuple[str, str], Validator] = {_KIND: create_autoscaler}
UPDATE: Mapping[tuple[str, str], UpdateValidator] = {_KIND: update_autoscaler}
STATUS: Mapping[tuple[str, str], UpdateValidator] = {_KIND: validate_autoscaler_status}
