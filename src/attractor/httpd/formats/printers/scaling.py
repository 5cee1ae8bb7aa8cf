"""Autoscalers, scales, and claims of devices."""

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
    number,
    prints,
)

if TYPE_CHECKING:
    from attractor.httpd.formats.ages import Clock
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


@prints(
    "autoscaling",
    "HorizontalPodAutoscaler",
    NAME,
    Column("Reference", about=f"{_SCALING}.v2.HorizontalPodAutoscalerSpec#scaleTargetRef"),
    Column("Targets", about=f"{_SCALING}.v2.HorizontalPodAutoscalerSpec#metrics"),
    Column("MinPods", about=f"{_SCALING}.v2.HorizontalPodAutoscalerSpec#minReplicas"),
    Column("MaxPods", about=f"{_SCALING}.v2.HorizontalPodAutoscalerSpec#maxReplicas"),
    Column("Replicas", about=f"{_SCALING}.v2.HorizontalPodAutoscalerStatus#currentReplicas"),
    AGE,
)
def horizontal_pod_autoscaler(obj: JsonObject, clock: Clock) -> Cells:
    """An autoscaler."""
    target, least = at(obj, "spec", "scaleTargetRef") or {}, at(obj, "spec", "minReplicas")
    return [
        name_of(obj),
        f"{target.get('kind', '')}/{target.get('name', '')}",
        _metrics(obj),
        UNSET if least is None else str(least),
        number(obj, "spec", "maxReplicas"),
        number(obj, "status", "currentReplicas"),
        age_of(obj, clock),
    ]


@prints(
    "autoscaling",
    "Scale",
    NAME._replace(format=""),
    Column("Desired", "integer", f"{_SCALING}.v1.ScaleSpec#replicas"),
    Column("Available", "integer", f"{_SCALING}.v1.ScaleStatus#replicas"),
    AGE,
)
def scale(obj: JsonObject, clock: Clock) -> Cells:
    """A scale."""
    return [name_of(obj), number(obj, "spec", "replicas"), number(obj, "status", "replicas"), age_of(obj, clock)]


@prints("resource.k8s.io", "DeviceClass", NAME, AGE)
@prints("resource.k8s.io", "ResourceClaimTemplate", NAME, AGE)
def named(obj: JsonObject, clock: Clock) -> Cells:
    """Something of which the name says it all."""
    return [name_of(obj), age_of(obj, clock)]


@prints(
    "resource.k8s.io",
    "ResourceClaim",
    NAME,
    Column("State", about="A summary of the current state (allocated, pending, reserved, etc.)."),
    AGE,
)
def resource_claim(obj: JsonObject, clock: Clock) -> Cells:
    """A claim of devices."""
    states = ["deleted"] if at(obj, "metadata", "deletionTimestamp") else []
    if at(obj, "status", "allocation") is not None:
        states.append("allocated")
        if items(obj, "status", "reservedFor"):
            states.append("reserved")
    elif not states:
        states.append("pending")
    return [name_of(obj), ",".join(states), age_of(obj, clock)]


@prints(
    "resource.k8s.io",
    "ResourceSlice",
    NAME,
    Column("Node", about=f"{_RESOURCE}.ResourceSliceSpec#nodeName"),
    Column("Driver", about=f"{_RESOURCE}.ResourceSliceSpec#driver"),
    Column("Pool", about=f"{_RESOURCE}.ResourcePool#name"),
    AGE,
)
def resource_slice(obj: JsonObject, clock: Clock) -> Cells:
    """Devices that a driver offers."""
    spec = obj.get("spec") or {}
    pool = at(spec, "pool", "name") or ""
    return [name_of(obj), spec.get("nodeName") or "", spec.get("driver") or "", pool, age_of(obj, clock)]
