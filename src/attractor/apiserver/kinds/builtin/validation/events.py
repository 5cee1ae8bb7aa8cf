"""Rules of events, of the old API and of the new: one kind in two shapes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attractor.apiserver.kinds.builtin.internal_form import shown
from attractor.apiserver.kinds.builtin.validation.rules import named, unchanged
from attractor.objects import names
from attractor.objects.field import FieldError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from attractor.apiserver.kinds.builtin.validation.rules import UpdateValidator, Validator
    from attractor.objects.json_types import JsonObject

_MAX_LENGTH = 128
_MAX_NOTE = 1024
_FROZEN = {
    "regarding": "involvedObject",
    "reason": "reason",
    "note": "message",
    "deprecatedSource": "source",
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
    "deprecatedCount": "count",
    "type": "type",
    "eventTime": "eventTime",
    "action": "action",
    "related": "related",
    "reportingController": "reportingController",
    "reportingInstance": "reportingInstance",
}
"""Fields of the newer API that never change, and the names under which refusals know them."""
_FROZEN_TYPES = {
    "involvedObject": "core.ObjectReference",
    "source": "core.EventSource",
    "related": "*core.ObjectReference",
    "count": "int",
    "firstTimestamp": "*string",
    "lastTimestamp": "*string",
    "eventTime": "*string",
}
"""What those are that are no texts."""


def _validate_any(event: JsonObject, about: JsonObject, note: str, controller: str) -> list[FieldError]:
    """What both APIs ask for; ``controller`` is the field that names the reporter."""
    namespace, own = about.get("namespace", ""), event["metadata"].get("namespace", "")
    is_new = bool(event.get("eventTime"))
    homes = {"default", "kube-system"} if is_new else {"", "default"}
    errors = []
    if (not namespace and own not in homes) or (namespace and not is_new and own != namespace):
        detail = "does not match event.namespace"
        errors.append(FieldError.invalid("involvedObject.namespace", namespace, detail))
    if not is_new:
        return errors
    reporter = event.get(controller, "")
    errors += [] if reporter else [FieldError.required(controller)]
    errors += named(names.qualified_name, reporter, controller)
    for field in ("reportingInstance", "action", "reason"):
        value = event.get(field, "")
        if not value:
            errors.append(FieldError.required(field))
        elif len(value) > _MAX_LENGTH:
            errors.append(FieldError.invalid(field, "", f"can have at most {_MAX_LENGTH} characters"))
    if len(note) > _MAX_NOTE:
        errors.append(FieldError.invalid("message", "", f"can have at most {_MAX_NOTE} characters"))
    return errors


def validate_event(event: JsonObject) -> list[FieldError]:
    """An event of the core group; one with an eventTime is as strict as the newer API's."""
    return _validate_any(event, event.get("involvedObject") or {}, event.get("message", ""), "reportingComponent")


def validate_new_event(event: JsonObject) -> list[FieldError]:
    """An event of the newer API, when it is made and when it changes."""
    return _validate_any(event, event.get("regarding") or {}, event.get("note", ""), "reportingController")


def create_new_event(event: JsonObject) -> list[FieldError]:
    """What a new event must say, and what only old ones may."""
    name = event["metadata"].get("name")
    errors = [] if name else [FieldError.required("metadata.name", "name or generateName is required")]
    errors += named(names.dns1123_subdomain, name, "metadata.name") if name else []
    errors += _validate_series(event)
    if not event.get("eventTime"):
        errors.append(FieldError.required("eventTime"))
    if event.get("type") not in {"Normal", "Warning"}:
        errors.append(FieldError.invalid("type", "", f"has invalid value: {event.get('type', '')}"))
    for field in ("deprecatedFirstTimestamp", "deprecatedLastTimestamp", "deprecatedCount"):
        if event.get(field):
            errors.append(FieldError.invalid(_FROZEN[field], "", "needs to be unset"))
    source = event.get("deprecatedSource") or {}
    if source.get("component") or source.get("host"):
        errors.append(FieldError.invalid("source", "", "needs to be unset"))
    return errors


def update_new_event(event: JsonObject, old: JsonObject) -> list[FieldError]:
    """Only the series goes on."""
    errors = _validate_series(event) if event.get("series") != old.get("series") else []
    for field, name in _FROZEN.items():
        errors += [_frozen(error, name, event.get(field)) for error in unchanged(event, old, "", field)]
    again = unchanged(event, old, "", "reason")  # which Kubernetes asks for twice
    return errors + [_frozen(error, "reason", event.get("reason")) for error in again]


def _frozen(error: FieldError, name: str, value: Any) -> FieldError:
    """The refusal of a change, with the field's name and its value as Kubernetes' own type has them."""
    return error._replace(path=name, value=shown(value, _FROZEN_TYPES.get(name, "string")))


def _validate_series(event: JsonObject) -> list[FieldError]:
    series = event.get("series")
    if series is None:
        return []
    errors = []
    if series.get("count", 0) < 2:
        errors.append(FieldError.invalid("series.count", "", "should be at least 2"))
    if not series.get("lastObservedTime"):
        errors.append(FieldError.required("series.lastObservedTime"))
    return errors


VALIDATE: Mapping[tuple[str, str], Validator] = {
    ("", "Event"): validate_event,
    ("events.k8s.io", "Event"): validate_new_event,
}
CREATE: Mapping[tuple[str, str], Validator] = {("events.k8s.io", "Event"): create_new_event}
UPDATE: Mapping[tuple[str, str], UpdateValidator] = {("events.k8s.io", "Event"): update_new_event}
