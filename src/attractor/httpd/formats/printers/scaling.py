"""Autoscalers, scales, and claims of devices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attractor.httpd.formats.printers.columns import (
    AGE,
    NAME,
    NONE,
    UNSET,
    Column,
    at,
    count,
    field,
    items,
    of,
    prints,
)

if TYPE_CHECKING:
    from attractor.objects.json_types import JsonObject

_SCALING, _RESOURCE = "io.k8s.api.autoscaling", "io.k8s.api.resource.v1"
_UNKNOWN = "<unknown>"
_METRICS = {
    "External": "external",
    "Pods": "pods",
    "Object": "object",
    "Resource": "resource",
    "ContainerResource": "containerResource",
}
_SHOWN_METRICS = 2


def _percent(value: Any, otherwise: str) -> str:
    return otherwise if value is None else f"{value}%"


def _metric(spec: JsonObject, status: JsonObject | None) -> str:
    field = _METRICS.get(spec.get("type") or "")
    if field is None:
        return "<unknown type>"
    target, current = at(spec, field, "target") or {}, at(status, field, "current")
    average = target.get("averageValue")
    if field in {"resource", "containerResource"}:
        name = at(spec, field, "name") or ""
        if average is not None:
            return f"{name}: {_UNKNOWN if current is None else current.get('averageValue') or '0'}/{average}"
        now = _percent(at(current, "averageUtilization"), _UNKNOWN)
        return f"{name}: {now}/{_percent(target.get('averageUtilization'), '<auto>')}"
    if field == "pods":
        return f"{_UNKNOWN if current is None else current.get('averageValue') or '0'}/{average}"
    if average is not None:
        return f"{at(current, 'averageValue') or _UNKNOWN}/{average} (avg)"
    return f"{_UNKNOWN if current is None else current.get('value') or '0'}/{target.get('value') or '0'}"


def _metrics(obj: JsonObject) -> str:
    specs, statuses = items(obj, "spec", "metrics"), items(obj, "status", "currentMetrics")
    shown = [_metric(spec, statuses[i] if i < len(statuses) else None) for i, spec in enumerate(specs)]
    text = ", ".join(shown[:_SHOWN_METRICS])
    if len(shown) > _SHOWN_METRICS:
        return f"{text} + {len(shown) - _SHOWN_METRICS} more..."
    return text or NONE


def _reference(obj: JsonObject) -> str:
    target = at(obj, "spec", "scaleTargetRef") or {}
    return f"{target.get('kind', '')}/{target.get('name', '')}"


def _least(obj: JsonObject) -> str:
    least = at(obj, "spec", "minReplicas")
    return UNSET if least is None else str(least)


_AUTOSCALER = f"{_SCALING}.v2.HorizontalPodAutoscaler"
prints(
    "autoscaling",
    "HorizontalPodAutoscaler",
    NAME,
    Column("Reference", of(_reference), f"{_AUTOSCALER}Spec#scaleTargetRef"),
    Column("Targets", of(_metrics), f"{_AUTOSCALER}Spec#metrics"),
    Column("MinPods", of(_least), f"{_AUTOSCALER}Spec#minReplicas"),
    Column("MaxPods", count("spec", "maxReplicas"), f"{_AUTOSCALER}Spec#maxReplicas"),
    Column("Replicas", count("status", "currentReplicas"), f"{_AUTOSCALER}Status#currentReplicas"),
    AGE,
)
prints(
    "autoscaling",
    "Scale",
    NAME._replace(format=""),
    Column("Desired", count("spec", "replicas"), f"{_SCALING}.v1.ScaleSpec#replicas", "integer"),
    Column("Available", count("status", "replicas"), f"{_SCALING}.v1.ScaleStatus#replicas", "integer"),
    AGE,
)
prints("resource.k8s.io", "DeviceClass", NAME, AGE)
prints("resource.k8s.io", "ResourceClaimTemplate", NAME, AGE)


def _claim_state(obj: JsonObject) -> str:
    states = ["deleted"] if at(obj, "metadata", "deletionTimestamp") else []
    if at(obj, "status", "allocation") is not None:
        states.append("allocated")
        if items(obj, "status", "reservedFor"):
            states.append("reserved")
    elif not states:
        states.append("pending")
    return ",".join(states)


_STATE = "A summary of the current state (allocated, pending, reserved, etc.)."
prints("resource.k8s.io", "ResourceClaim", NAME, Column("State", of(_claim_state), _STATE), AGE)
prints(
    "resource.k8s.io",
    "ResourceSlice",
    NAME,
    Column("Node", field("spec", "nodeName"), f"{_RESOURCE}.ResourceSliceSpec#nodeName"),
    Column("Driver", field("spec", "driver"), f"{_RESOURCE}.ResourceSliceSpec#driver"),
    Column("Pool", field("spec", "pool", "name"), f"{_RESOURCE}.ResourcePool#name"),
    AGE,
)
