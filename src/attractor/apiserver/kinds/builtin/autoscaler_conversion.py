"""HorizontalPodAutoscalers in autoscaling/v1, whose fields know one CPU target and nothing else.

What v2, in which they are stored, says beyond that travels in annotations, so that whoever reads and writes v1 loses
nothing: other metrics, what was measured, conditions, and the behavior, written as Go prints the internal type.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from attractor.apiserver.kinds.builtin.decode import decoder
from attractor.objects.quantity import Quantity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from attractor.objects.json_types import JsonObject

_PREFIX = "autoscaling.alpha.kubernetes.io/"
METRICS, CURRENT_METRICS = f"{_PREFIX}metrics", f"{_PREFIX}current-metrics"
CONDITIONS, BEHAVIOR = f"{_PREFIX}conditions", f"{_PREFIX}behavior"
_TOLERANCES = f"{_PREFIX}scale-down-tolerance", f"{_PREFIX}scale-up-tolerance"
_DROPPED = frozenset({METRICS, CURRENT_METRICS, CONDITIONS, BEHAVIOR, *_TOLERANCES})
_SPEC, _STATUS = (f"io.k8s.api.autoscaling.v2.HorizontalPodAutoscaler{part}" for part in ("Spec", "Status"))
DEFAULT_CPU = 80
"""What an autoscaler without any metric aims at, in percent."""
_ESCAPED = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


class _Field(NamedTuple):
    """Where v1 and v2 keep the same thing; ``zero`` is what v1 shows where v2 has nothing."""

    v1: str
    v2: tuple[str, ...]
    zero: str | None = None


_NAME, _SELECTOR = _Field("metricName", ("metric", "name")), _Field("selector", ("metric", "selector"))


def _resource(of: str, zero: str | None, *more: _Field) -> tuple[_Field, ...]:
    utilization = _Field(f"{of}AverageUtilization", (of, "averageUtilization"))
    return (_Field("name", ("name",)), utilization, _Field(f"{of}AverageValue", (of, "averageValue"), zero), *more)


def _fields(of: str, zero: str | None) -> dict[str, tuple[_Field, ...]]:
    """The fields of each type of metric, under ``target`` or ``current``."""
    value, average = (of, "value"), (of, "averageValue")
    object_ = (_Field("target", ("describedObject",)), _NAME, _Field(f"{of}Value", value, "0"), _SELECTOR)
    external = (_NAME, _Field("metricSelector", ("metric", "selector")), _Field(f"{of}Value", value, zero))
    return {
        "object": (*object_, _Field("averageValue", average)),
        "pods": (_NAME, _Field(f"{of}AverageValue", average, "0"), _SELECTOR),
        "resource": _resource(of, zero),
        "containerResource": _resource(of, zero, _Field("container", ("container",))),
        "external": (*external, _Field(f"{of}AverageValue", average)),
    }


_TARGETS, _CURRENT = _fields("target", None), _fields("current", "0")


def to_hub(obj: JsonObject) -> JsonObject:
    """What v2 says where v1 says this; an annotation that cannot be read says nothing."""
    spec, status = dict(obj.get("spec") or {}), dict(obj.get("status") or {})
    said = (obj.get("metadata") or {}).get("annotations") or {}
    cpu, busy = spec.pop("targetCPUUtilizationPercentage", None), status.pop("currentCPUUtilizationPercentage", None)
    metrics = _read(said.get(METRICS), _specs, _SPEC, "metrics") or []
    if cpu is not None:
        metrics.append(_of_cpu("target", {"type": "Utilization", "averageUtilization": cpu}))
    spec["metrics"] = metrics or [_of_cpu("target", {"type": "Utilization", "averageUtilization": DEFAULT_CPU})]
    if behavior := _read(said.get(BEHAVIOR), _external, _SPEC, "behavior"):
        spec["behavior"] = behavior
    seen = None if busy is None else [_of_cpu("current", {"averageValue": "0", "averageUtilization": busy})]
    status["currentMetrics"] = _read(said.get(CURRENT_METRICS), _statuses, _STATUS, "currentMetrics") or seen
    if conditions := _read(said.get(CONDITIONS), list, _STATUS, "conditions"):
        status["conditions"] = conditions
    if not status.get("currentReplicas"):
        status.pop("currentReplicas", None)
    return {**obj, "metadata": _annotated(obj, {}), "spec": spec, "status": status}


def from_hub(obj: JsonObject) -> JsonObject:
    """What v1 shows of it: the first CPU target in its field, the rest in annotations."""
    spec, status = dict(obj.get("spec") or {}), dict(obj.get("status") or {})
    metrics, current = spec.pop("metrics", None) or [], status.pop("currentMetrics", None) or []
    utilizations = [one["resource"]["target"]["averageUtilization"] for one in metrics if _is_cpu(one, "target")]
    if utilizations:
        spec["targetCPUUtilizationPercentage"] = utilizations[0]
    for one in current:
        if _is_cpu(one, "current"):
            status["currentCPUUtilizationPercentage"] = one["resource"]["current"]["averageUtilization"]
    annotations = {
        METRICS: [_to_v1(one, _TARGETS) for one in metrics if not _is_cpu(one, "target")],
        CURRENT_METRICS: [_to_v1(one, _CURRENT) for one in current],
        BEHAVIOR: _internal(spec.pop("behavior", None)),
        CONDITIONS: [_condition(one) for one in status.pop("conditions", None) or ()],
    }
    texts = {name: _text(value) for name, value in annotations.items() if value}
    return {**obj, "metadata": _annotated(obj, texts), "spec": spec, "status": {"currentReplicas": 0, **status}}


def as_said_in_v1(obj: JsonObject) -> None:
    """Bring an object of v1 into the form in which it would be read back, in place.

    So annotations that say nothing are gone and the metric that is meant is named before anybody owns them.
    """
    read = from_hub(to_hub(obj))
    obj["spec"], obj["status"] = read["spec"], read["status"]
    _take_annotations(obj, read)


def without_annotations_of_v1(obj: JsonObject) -> None:
    """Drop, in place, what v1 would say in annotations: v2 has fields for it, and these count."""
    _take_annotations(obj, {"metadata": _annotated(obj, {})})


def _take_annotations(obj: JsonObject, read: JsonObject) -> None:
    annotations = read["metadata"].get("annotations")
    if annotations:
        obj["metadata"]["annotations"] = annotations
    else:
        obj["metadata"].pop("annotations", None)


def _condition(condition: JsonObject) -> JsonObject:
    names = ("type", "status", "lastTransitionTime", "reason", "message")
    return {name: condition.get(name) for name in names if name in condition or name == "lastTransitionTime"}


def _annotated(obj: JsonObject, texts: dict[str, str]) -> JsonObject:
    """The metadata with these annotations instead of those that it had for the same purpose."""
    metadata = dict(obj.get("metadata") or {})
    kept = {name: text for name, text in (metadata.pop("annotations", None) or {}).items() if name not in _DROPPED}
    annotations = {**kept, **texts}
    return {**metadata, "annotations": dict(sorted(annotations.items()))} if annotations else metadata


def _text(value: Any) -> str:
    """JSON as Go writes it."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return "".join(_ESCAPED.get(char, char) for char in text)


def _of_cpu(what: str, amounts: JsonObject) -> JsonObject:
    return {"type": "Resource", "resource": {"name": "cpu", what: amounts}}


def _is_cpu(metric: JsonObject, what: str) -> bool:
    resource = metric.get("resource") or {}
    named = metric.get("type") == "Resource" and resource.get("name") == "cpu"
    return named and (resource.get(what) or {}).get("averageUtilization") is not None


def _to_v1(metric: JsonObject, fields: dict[str, tuple[_Field, ...]]) -> JsonObject:
    shown: JsonObject = {"type": metric["type"]}
    for name, places in fields.items():
        if name in metric:
            pairs = ((place.v1, _at(metric[name], place.v2, place.zero)) for place in places)
            shown[name] = {key: value for key, value in pairs if value is not None}
    return shown


def _at(value: Any, path: Iterable[str], zero: str | None) -> Any:
    for name in path:
        value = (value or {}).get(name)
    return zero if value is None else value


def _to_v2(metric: JsonObject, fields: dict[str, tuple[_Field, ...]]) -> JsonObject:
    made: JsonObject = {"type": metric["type"]}
    for name, places in fields.items():
        if name not in metric:
            continue
        source: JsonObject = {}
        for place in places:
            value = metric[name].get(place.v1, place.zero)
            if value is not None:
                *above, last = place.v2
                into = source
                for each in above:
                    into = into.setdefault(each, {})
                into[last] = value
        made[name] = source
    return made


def _typed(name: str, source: JsonObject) -> JsonObject:
    """A target with the type that follows from what it has; a value of zero beside an average means none."""
    target = source.get("target", {})
    if name == "object" and "averageValue" in target and not Quantity.parse(str(target["value"])).sign:
        del target["value"]
    if name in {"resource", "containerResource"}:
        kind = "Utilization" if "averageUtilization" in target else "AverageValue"
    elif name == "external":
        kind = "Value" if "value" in target else "AverageValue"
    else:
        kind = "AverageValue" if "averageValue" in target else "Value"
    return {**source, "target": {"type": kind, **target}}


def _specs(value: Any) -> list[JsonObject]:
    metrics = [_to_v2(one, _TARGETS) for one in value]
    return [{name: _typed(name, part) if name in _TARGETS else part for name, part in one.items()} for one in metrics]


def _statuses(value: Any) -> list[JsonObject]:
    return [_to_v2(one, _CURRENT) for one in value]


def _lowered(name: str) -> str:
    return name[0].lower() + name[1:]


_RULES = ("StabilizationWindowSeconds", "SelectPolicy", "Policies", "Tolerance")
_POLICY = ("Type", "Value", "PeriodSeconds")


def _internal(behavior: JsonObject | None) -> JsonObject | None:
    if behavior is None:
        return None
    shown: JsonObject = {}
    for name in ("ScaleUp", "ScaleDown"):
        rules = behavior.get(_lowered(name))
        shown[name] = rules and {rule: rules.get(_lowered(rule)) for rule in _RULES}
        if shown[name] and shown[name]["Policies"] is not None:
            shown[name]["Policies"] = [
                {part: one[_lowered(part)] for part in _POLICY} for one in shown[name]["Policies"]
            ]
    return shown


_NAMES = {name.lower(): _lowered(name) for name in ("ScaleUp", "ScaleDown", *_RULES, *_POLICY)}


def _external(value: Any) -> Any:
    """The reverse; Go reads names whatever their case."""
    if isinstance(value, list):
        return [_external(one) for one in value]
    if not isinstance(value, dict):
        return value
    return {_NAMES[name.lower()]: _external(part) for name, part in value.items() if name.lower() in _NAMES}


def _read(text: Any, how: Callable[[Any], Any], definition: str, field: str) -> Any:
    """What an annotation says of a field, as the types of v2 have it; None where it does not fit them."""
    if text is None:
        return None
    try:
        return decoder(definition)({field: how(json.loads(text))}).obj.get(field)
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError):
        return None
