"""The status of CustomResourceDefinitions: are the names free, is the kind served?

A planner: from a snapshot to the status that each definition should have. Names belong to the definition that took
them first; a name that another one in the group holds is not accepted, and the kind is then not established.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from attractor.apiserver.kinds.custom.registry import PREFIX

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attractor.objects.json_types import JsonObject
    from attractor.store.contract import Snapshot

MANAGER = "kube-apiserver"


def plan_names(snapshot: Snapshot, now: str) -> Iterator[tuple[str, JsonObject]]:
    """For each definition whose status is not as it should be: its name and the status it should have."""
    entries = sorted(snapshot.range(PREFIX), key=lambda entry: entry.created)
    definitions = [orjson.loads(entry.value) for entry in entries]
    for definition in definitions:
        others = [other for other in definitions if other is not definition and _group(other) == _group(definition)]
        status = _status(definition, others, now)
        if status != definition.get("status"):
            yield definition["metadata"]["name"], status


def _group(definition: JsonObject) -> str:
    return str(definition["spec"]["group"])


def _status(definition: JsonObject, others: list[JsonObject], now: str) -> JsonObject:
    status = dict(definition.get("status") or {})
    wanted = definition["spec"]["names"]
    accepted, conflicts = _accepted_names(wanted, dict(status.get("acceptedNames") or {}), others)
    conditions: list[dict[str, Any]] = list(status.get("conditions") or ())
    if conflicts:
        reason, message = conflicts[-1]  # each conflict overwrites the one before
        _set(conditions, "NamesAccepted", "False", reason, message, now)
        if not _holds(conditions, "Established"):
            _set(conditions, "Established", "False", "NotAccepted", "not all names are accepted", now)
    else:
        _set(conditions, "NamesAccepted", "True", "NoConflicts", "no conflicts found", now)
        if not _holds(conditions, "Established"):
            message = "the initial names have been accepted"
            _set(conditions, "Established", "True", "InitialNamesAccepted", message, now)
    return {"conditions": conditions, "acceptedNames": accepted, "storedVersions": status.get("storedVersions") or []}


def _holds(conditions: list[dict[str, Any]], kind: str) -> bool:
    return any(item["type"] == kind and item["status"] == "True" for item in conditions)


def _set(conditions: list[dict[str, Any]], kind: str, status: str, reason: str, message: str, now: str) -> None:
    """Set a condition; its time moves only when its status does."""
    at = next((index for index, item in enumerate(conditions) if item["type"] == kind), len(conditions))
    before = conditions[at] if at < len(conditions) else {}
    time = before["lastTransitionTime"] if before.get("status") == status else now
    item = {"type": kind, "status": status, "lastTransitionTime": time, "reason": reason, "message": message}
    conditions[at : at + 1] = [item]


def _accepted_names(
    wanted: JsonObject, accepted: JsonObject, others: list[JsonObject]
) -> tuple[JsonObject, list[tuple[str, str]]]:
    """The names that the definition gets, and why it does not get the others."""
    taken_resources: set[str] = set()
    taken_kinds: set[str] = set()
    for other in others:
        held = (other.get("status") or {}).get("acceptedNames") or {}
        resources = [held.get("plural"), held.get("singular"), *(held.get("shortNames") or ())]
        taken_resources |= {name for name in resources if name}
        taken_kinds |= {name for name in (held.get("kind"), held.get("listKind")) if name}
    conflicts: list[tuple[str, str]] = []
    result = {name: value for name, value in accepted.items() if value}
    for name, reason, taken in (
        ("plural", "PluralConflict", taken_resources),
        ("singular", "SingularConflict", taken_resources),
        ("shortNames", "ShortNamesConflict", taken_resources),
        ("kind", "KindConflict", taken_kinds),
        ("listKind", "ListKindConflict", taken_kinds),
    ):
        values = wanted.get(name)
        clash = next((item for item in _as_list(values) if item in taken), None)
        if clash is not None:
            conflicts.append((reason, f'"{clash}" is already in use'))
        elif values:
            result[name] = values
        else:
            result.pop(name, None)
    if wanted.get("categories"):
        result["categories"] = wanted["categories"]
    else:
        result.pop("categories", None)
    return {"plural": "", "kind": "", **result}, conflicts


def _as_list(value: Any) -> list[str]:
    return value if isinstance(value, list) else [value] if value else []
