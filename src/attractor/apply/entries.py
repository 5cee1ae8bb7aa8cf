"""The entries of ``metadata.managedFields``: one for each manager, operation, version and subresource.

Appliers are told apart by name and subresource only, so that an applier that moves to another version keeps its entry.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import orjson

from attractor.apply import fieldset
from attractor.apply.fieldset import FieldSet

if TYPE_CHECKING:
    from collections.abc import Iterable

    from attractor.objects.json_types import JsonObject

APPLY: Final = "Apply"
UPDATE: Final = "Update"
MAX_UPDATE_MANAGERS: Final = 10
"""More entries of updates than this are folded, oldest first, into one named ``ancient-changes``."""

_ANCIENT: Final = "ancient-changes"


class ManagerId(NamedTuple):
    """The identity of an entry; ``api_version`` is empty for appliers."""

    manager: str
    operation: str
    api_version: str
    subresource: str

    def __str__(self) -> str:
        """The manager as conflict messages name it."""
        text = _quoted(self.manager)
        if self.subresource:
            text += f" with subresource {_quoted(self.subresource)}"
        return f"{text} using {self.api_version}" if self.operation == UPDATE else text


def _quoted(text: str) -> str:
    return orjson.dumps(text).decode()


class Owned:
    """The fields that one manager owns."""

    __slots__ = ("api_version", "entry", "fields", "time")

    def __init__(self, fields: FieldSet, api_version: str, time: str = "", entry: JsonObject | None = None) -> None:
        self.fields = fields
        self.api_version = api_version
        self.time = time
        """When the manager last changed something; empty when it never did, only agreed."""
        self.entry = entry
        """The entry as stored, while it says just this."""


Managed: TypeAlias = dict[ManagerId, Owned]


def applier(manager: str, subresource: str) -> ManagerId:
    """The identity of who applies."""
    return ManagerId(manager, APPLY, "", subresource)


@lru_cache(maxsize=1024)
def updater(manager: str, api_version: str, subresource: str) -> ManagerId:
    """The identity of who writes in any other way."""
    return ManagerId(manager, UPDATE, api_version, subresource)


def read(entries: Iterable[JsonObject]) -> Managed:
    """Entries that this module wrote, so they are known to be well formed."""
    managed: Managed = {}
    for entry in entries:
        operation, version = entry["operation"], entry["apiVersion"]
        manager, subresource = entry.get("manager", ""), entry.get("subresource", "")
        name = (
            updater(manager, version, subresource)
            if operation == UPDATE
            else ManagerId(manager, operation, "" if operation == APPLY else version, subresource)
        )
        managed[name] = Owned(entry.get("fieldsV1") or {}, version, entry.get("time") or "", entry)
    return managed


def decode(entries: Any) -> Managed | None:
    """Entries from a caller; None when they are not well formed."""
    if not isinstance(entries, list):
        return None
    checked: list[JsonObject] = []
    for entry in entries:
        if not isinstance(entry, dict) or entry.get("operation") not in {APPLY, UPDATE}:
            return None
        if not entry.get("apiVersion") or entry.get("fieldsType") != "FieldsV1":
            return None
        texts = [entry.get(name, "") for name in ("manager", "apiVersion", "subresource", "time")]
        if not all(isinstance(text, str) for text in texts):
            return None
        try:
            fields = fieldset.encode(fieldset.decode(entry.get("fieldsV1")))
        except fieldset.BadFieldSet:
            return None
        checked.append({**entry, "fieldsV1": fields})
    return read(checked)


def is_reset(entries: Any) -> bool:
    """Whether a caller asks to forget all owners: an empty list, or one empty entry."""
    return isinstance(entries, list) and (not entries or entries == [{}])


def written(managed: Managed) -> list[JsonObject]:
    """The entries in Kubernetes' order: appliers first, then by time, manager, version and subresource."""
    if len(managed) == 1:
        ((name, owned),) = managed.items()
        return [_entry(name, owned)]
    ordered = sorted(
        managed.items(), key=lambda item: (item[0][1], item[1].time, item[0][0], item[1].api_version, item[0][3])
    )
    return [_entry(name, owned) for name, owned in ordered]


def _entry(name: ManagerId, owned: Owned) -> JsonObject:
    if owned.entry is not None:
        return owned.entry
    return entry_of(name, owned.api_version, owned.time, fieldset.encode(owned.fields))


def entry_of(name: ManagerId, api_version: str, time: str, fields: FieldSet) -> JsonObject:
    """An entry as it is stored; ``fields`` are in order already."""
    entry: JsonObject = {"manager": name.manager, "operation": name.operation, "apiVersion": api_version}
    if time:
        entry["time"] = time
    entry["fieldsType"] = "FieldsV1"
    entry["fieldsV1"] = fields
    if name.subresource:
        entry["subresource"] = name.subresource
    return entry


def capped(managed: Managed) -> Managed:
    """At most ``MAX_UPDATE_MANAGERS`` entries of updates: the oldest of a version become one bucket."""
    if len(managed) <= MAX_UPDATE_MANAGERS:
        return managed
    updaters = [name for name in managed if name.operation == UPDATE]
    if len(updaters) <= MAX_UPDATE_MANAGERS:
        return managed
    managed = dict(managed)
    updaters.sort(key=lambda name: (managed[name].time, name))
    excess = len(updaters) - MAX_UPDATE_MANAGERS
    first_of: dict[str, ManagerId] = {}
    for name in updaters:
        if excess <= 0:
            break
        version = managed[name].api_version
        first = first_of.setdefault(version, name)
        if first == name:
            continue
        bucket = updater(_ANCIENT, version, "")
        if bucket not in managed:
            managed[bucket] = managed.pop(first)
        doomed = managed.pop(name)
        fields = fieldset.union(doomed.fields, managed[bucket].fields) if bucket in managed else doomed.fields
        managed[bucket] = Owned(fields, version, doomed.time)
        excess -= 1
    return managed


def same_but_for_times(old: list[JsonObject], new: list[JsonObject]) -> bool:
    """Whether two lists of entries say the same about owners: such a change alone is not worth a write."""
    return len(old) == len(new) and all(map(_same_but_for_time, old, new))


def _same_but_for_time(old: JsonObject, new: JsonObject) -> bool:
    return old is new or {**old, "time": None} == {**new, "time": None}
