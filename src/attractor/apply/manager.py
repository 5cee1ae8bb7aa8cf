"""The flow of a write through field management: ``on_update`` after a change, ``on_apply`` to make one.

Expected flow in the API core::

    fields = FieldManager(schema, empty)                # once for each kind and version
    entries = fields.on_update(None, new, manager="kubectl", now=now)                      # POST
    entries = fields.on_update(live, new, manager="kubectl", now=now, reset=RESET_STATUS)  # PUT and the other patches
    entries = fields.on_update(live, new, manager="m", subresource="status", now=now, reset=RESET_SPEC)
    merged, entries = fields.on_apply(live, applied, manager="m", force=False, now=now)    # apply; live=None creates

``entries`` becomes ``metadata.managedFields`` (left out when empty). ``new`` and ``merged`` are complete, defaulted
where the kind defaults on decoding; after ``on_apply`` the core applies defaults to ``merged`` and goes on as for an
update, without calling ``on_update``.

Guarantees: no argument is changed; what did not change is shared. A write that changes nothing that is tracked
returns the live entries themselves. Deterministic: ``now`` is the only time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from attractor.apply import entries as managed_entries
from attractor.apply import last_applied
from attractor.apply.atoms import root_atom_of
from attractor.apply.compare import UNTRACKED_METADATA, Comparison, child_of, compare_objects, whole
from attractor.apply.entries import Managed, ManagerId, Owned, applier, updater
from attractor.apply.fieldset import (
    FieldSet,
    difference,
    encode,
    intersection,
    path_text,
    paths,
    recursive_difference,
    union,
)
from attractor.apply.merge import merge
from attractor.apply.prune import Unconvertible, Versions, prune
from attractor.apply.shape import shape_of
from attractor.apply.typing import Untypable, fields_of, reconciled, validate
from attractor.objects.errors import ApiError, BadRequest, Conflict
from attractor.objects.json_equality import same_json

if TYPE_CHECKING:
    from collections.abc import Callable

    from attractor.apply.shape import Shape
    from attractor.objects.json_types import JsonObject
    from attractor.schema.node import Schema

RESET_STATUS: FieldSet = {"f:status": {}}
"""What a write of the main resource does not touch, for a kind with a status subresource."""
RESET_SPEC: FieldSet = {"f:metadata": {}, "f:spec": {}}
"""What a write of the status subresource does not touch."""

Convert: TypeAlias = "Callable[[JsonObject, str], tuple[JsonObject, Schema | None] | None]"
"""An object in another version of its kind, with that version's schema; None when there is no such version."""

REMEMBERED_SHAPES = 64
"""Of so many shapes of a kind it is remembered what their creation takes."""

_BEFORE_FIRST_APPLY = "before-first-apply"
_UNTRACKED: FieldSet = {
    "f:apiVersion": {},
    "f:kind": {},
    "f:metadata": {".": {}, **{f"f:{name}": {} for name in UNTRACKED_METADATA}},
}


class FieldManager:
    """Field management of one kind in one version.

    ``schema`` is the kind's, or None for a kind without one. ``empty`` is what a fresh object of the kind encodes to
    before anything was set (``apiVersion``, ``kind``, and, for built-in kinds, the structs that are always present).
    ``convert`` finds the object in another version when managedFields names one; without it, versions are taken to
    share one shape.
    """

    def __init__(self, schema: Schema | None, empty: JsonObject, convert: Convert | None = None) -> None:
        self._atom = root_atom_of(schema)
        self._empty = empty
        self._empty_names = frozenset(empty) - {"apiVersion", "kind", "metadata"}
        self._taken: dict[Shape, FieldSet] = {}
        """What creations of plain objects took; whoever makes objects makes many of one shape."""
        self._api_version: str = empty["apiVersion"]
        self._versions = Versions(self._atom, self._api_version, convert)

    def differ(self, one: Any, other: Any) -> bool:
        """Whether two values in objects of the kind differ; exact where the kind has fields of any type."""
        return one != other or (self._atom.holds_untyped and not same_json(one, other))

    def on_update(
        self,
        live: JsonObject | None,
        new: JsonObject,
        *,
        manager: str,
        now: str,
        subresource: str = "",
        reset: FieldSet | None = None,
    ) -> list[JsonObject]:
        """The managedFields of ``new``, written by ``manager`` at ``now`` (RFC 3339, whole seconds).

        ``new`` may carry managedFields of its own: ``[]`` or ``[{}]`` forgets all owners, well-formed entries replace
        the live ones (not through a subresource), anything else is ignored. ``reset`` names what the write cannot
        touch, and so cannot own. Never raises for an object that does not fit the kind, or a version of it in which
        somebody owns fields: it then forgets all owners, as Kubernetes does.
        """
        if live is None and new["metadata"].get("managedFields") is None:
            return self._on_create(new, updater(manager, self._api_version, subresource), now, reset)
        stored: list[JsonObject] = (live["metadata"].get("managedFields") or []) if live is not None else []
        managed, is_stored = _live_or_new(stored, new, subresource)
        if not managed and live is not None and live["metadata"].get("uid"):
            return []
        name = updater(manager, self._api_version, subresource)
        try:
            changed = self._updated(live if live is not None else self._empty, new, managed, name, now, reset)
        except (Untypable, Unconvertible):
            return []
        if changed is managed and is_stored:
            return stored
        return managed_entries.written(managed_entries.capped(changed))

    def _on_create(self, new: JsonObject, name: ManagerId, now: str, reset: FieldSet | None) -> list[JsonObject]:
        """The managedFields of a new object that brings none: whoever makes it owns what it has."""
        shape = shape_of(new) if self._empty_names.isdisjoint(new) else None
        if shape is None or (reset and any(element[2:] in new for element in reset)):
            taken = self._taken_by_creation(new, reset)
        else:  # on the names of fields alone it depends what is taken, and nothing of it is reset
            known = self._taken.get(shape)
            if known is not None:
                taken = self._with_own_lists(known, new["metadata"])
            else:
                taken = self._taken_by_creation(new, None)
                if taken and len(self._taken) < REMEMBERED_SHAPES:
                    self._taken[shape] = taken
        return [managed_entries.entry_of(name, self._api_version, now, taken)] if taken else []

    def _with_own_lists(self, known: FieldSet, metadata: JsonObject) -> FieldSet:
        """What an object of that shape took, with the items of this one's lists; nothing if they do not fit."""
        own: FieldSet | None = None
        for name, value in metadata.items():
            if isinstance(value, list) and name not in UNTRACKED_METADATA:
                own = known["f:metadata"].copy() if own is None else own
                try:
                    own[f"f:{name}"] = encode(whole(child_of(child_of(self._atom, "metadata"), name), value))
                except Untypable:
                    return {}
        return {**known, "f:metadata": own} if own is not None else known

    def _taken_by_creation(self, new: JsonObject, reset: FieldSet | None) -> FieldSet:
        """What the maker of an object owns, in Kubernetes' order; nothing of an object that does not fit its kind."""
        try:
            comparison = compare_objects(self._atom, self._empty, new)
        except Untypable:
            return {}
        if reset:
            comparison = comparison.without(reset)
        return encode(union(comparison.added, comparison.modified))

    def on_apply(
        self,
        live: JsonObject | None,
        applied: JsonObject,
        *,
        manager: str,
        force: bool,
        now: str,
        subresource: str = "",
        reset: FieldSet | None = None,
    ) -> tuple[JsonObject, list[JsonObject]]:
        """The object after ``applied`` is merged into it, without managedFields, and its new managedFields.

        The object equals ``live`` when nothing changed. Raises ``Conflict`` with a cause for every field that another
        manager owns with a different value (unless ``force``), ``BadRequest`` for an object of another kind or with
        managedFields, and a plain ``ApiError`` (500, as Kubernetes) for one that does not fit the schema.
        """
        self._check_kind(applied)
        current = _without_managed_fields(live) if live is not None else self._empty
        managed = managed_entries.read((live["metadata"].get("managedFields") or []) if live is not None else [])
        try:
            if not managed and live is not None:
                first = updater(_BEFORE_FIRST_APPLY, self._api_version, subresource)
                managed = self._updated(self._empty, current, managed, first, now, reset)
            name = applier(manager, subresource)
            merged, managed = self._applied(current, applied, managed, name, force, now, reset)
        except Untypable as reason:
            raise ApiError(f"failed to create typed live object ({shown_object(current)}): {reason}") from None
        except Unconvertible as refusal:
            raise ApiError(str(refusal)) from None
        if manager == last_applied.MANAGER:
            merged = last_applied.refreshed(merged, applied)
        return merged, managed_entries.written(managed)

    def _check_kind(self, applied: JsonObject) -> None:
        version, kind = applied.get("apiVersion") or "", applied.get("kind") or ""
        if (version, kind) != (self._api_version, self._empty["kind"]):
            raise BadRequest(f"invalid object type: {_gvk_text(version, kind)}")
        if (applied.get("metadata") or {}).get("managedFields") is not None:
            raise BadRequest("metadata.managedFields must be nil")

    def _updated(
        self, old: JsonObject, new: JsonObject, managed: Managed, name: ManagerId, now: str, reset: FieldSet | None
    ) -> Managed:
        """Owners after a change: whoever writes takes what it changed. The same dict when it changed nothing."""
        comparison = compare_objects(self._atom, old, new)
        if reset and comparison:
            comparison = comparison.without(reset)
        added, modified, removed = comparison.added, comparison.modified, comparison.removed
        if not (added or modified or removed):
            return managed
        taken = union(added, modified) if added else modified
        if not managed:  # a new object: whoever makes it owns what it has
            return {name: Owned(taken, self._api_version, now)} if taken else {}
        if len(managed) == 1 and name in managed:  # nobody else has anything that could be taken
            rest = managed.copy()
        else:
            rest, _ = self._others(old, new, comparison, managed, name, reset)
        previous = rest.pop(name, None)
        if previous is None:
            if taken:
                rest[name] = Owned(taken, self._api_version, now)
            return rest
        before = reconciled(self._atom, previous.fields)
        after = union(difference(before, removed) if removed else before, taken)
        if after:
            entry = previous.entry if after is previous.fields else None
            retimed = {**entry, "time": now} if entry is not None and taken and now else entry
            rest[name] = Owned(after, self._api_version, now if taken else previous.time, retimed)
        return rest

    def _others(
        self,
        old: JsonObject,
        new: JsonObject,
        comparison: Comparison,
        managed: Managed,
        writer: ManagerId | None,
        reset: FieldSet | None,
    ) -> tuple[Managed, dict[ManagerId, FieldSet]]:
        """What everyone but the writer still owns after a change, and what the change takes from whom."""
        comparisons: dict[str, Comparison | None] = {self._api_version: comparison}
        rest: Managed = {}
        conflicts: dict[ManagerId, FieldSet] = {}
        for name, owned in managed.items():
            if name == writer:
                rest[name] = owned
                continue
            if owned.api_version not in comparisons:
                comparisons[owned.api_version] = self._versions.compare(old, new, owned.api_version, reset)
            seen = comparisons[owned.api_version]
            if seen is None:  # the version is gone, and with it what was known of it
                continue
            is_own = owned.api_version == self._api_version
            before = reconciled(self._atom if is_own else self._versions.atom(owned.api_version), owned.fields)
            taken = intersection(before, union(seen.modified, seen.added))
            after = difference(difference(before, taken), seen.removed)
            if taken:
                conflicts[name] = taken
            if after is owned.fields or after == owned.fields:
                rest[name] = owned
            elif after:
                rest[name] = Owned(after, owned.api_version, owned.time)
        return rest, conflicts

    def _applied(
        self,
        live: JsonObject,
        applied: JsonObject,
        managed: Managed,
        name: ManagerId,
        force: bool,
        now: str,
        reset: FieldSet | None,
    ) -> tuple[JsonObject, Managed]:
        try:
            validate(self._atom, applied)
        except Untypable as reason:
            raise ApiError(f"failed to create typed patch object ({shown_object(applied)}): {reason}") from None
        for owned in managed.values():  # what cannot be shown in a version where somebody owns it is refused first
            self._versions.convert(live, owned.api_version)
        merged = merge(self._atom, live, applied)
        fields = fields_of(self._atom, applied)
        if reset:
            fields = recursive_difference(fields, reset)
        last = managed.get(name)
        owners: Managed = {**managed, name: Owned(fields, self._api_version, last.time if last is not None else "")}
        merged = prune(self._versions, merged, owners, name, last)
        comparison = compare_objects(self._atom, live, merged)
        if reset:
            comparison = comparison.without(reset)
        rest, conflicts = self._others(live, merged, comparison, owners, name, reset)
        if conflicts and not force:
            conflicts = self._not_from_client_side_apply(name, live, conflicts)
            if conflicts:
                raise _conflict(conflicts)
        is_changed = self.differ(merged, live)
        owned = rest.pop(name)
        kept = difference(owned.fields, _UNTRACKED)
        if kept:
            time = now if is_changed else owned.time
            same = last is not None and (kept, self._api_version, time) == (last.fields, last.api_version, last.time)
            rest[name] = last if same and last is not None else Owned(kept, self._api_version, time)
        return (merged if is_changed else live), rest

    def _not_from_client_side_apply(
        self, name: ManagerId, live: JsonObject, conflicts: dict[ManagerId, FieldSet]
    ) -> dict[ManagerId, FieldSet]:
        """Conflicts left when kubectl moves from client-side to server-side apply: its own earlier values are none."""
        if name.manager != last_applied.MANAGER:
            return conflicts
        own = last_applied.fields(self._atom, live)
        left = {other: difference(fields, own) for other, fields in conflicts.items()}
        return {other: fields for other, fields in left.items() if fields}


def _live_or_new(stored: list[JsonObject], new: JsonObject, subresource: str) -> tuple[Managed, bool]:
    """Whose entries count, the stored ones or the caller's, and whether it is the stored ones."""
    said: Any = new["metadata"].get("managedFields")
    if subresource or said is None or (said and said == stored):
        return managed_entries.read(stored), True
    if managed_entries.is_reset(said):
        return {}, False
    managed = managed_entries.decode(said)
    return (managed, False) if managed else (managed_entries.read(stored), True)


def _without_managed_fields(obj: JsonObject) -> JsonObject:
    if "managedFields" not in obj["metadata"]:
        return obj
    metadata = {name: value for name, value in obj["metadata"].items() if name != "managedFields"}
    return {**obj, "metadata": metadata}


def _conflict(conflicts: dict[ManagerId, FieldSet]) -> Conflict:
    """The answer to an apply that others' fields stand against, in Kubernetes' wording."""
    found = [(name, path_text(path)) for name in sorted(conflicts) for path in paths(conflicts[name])]
    causes = [
        {"reason": "FieldManagerConflict", "message": f"conflict with {name}", "field": path} for name, path in found
    ]
    if len(found) == 1:
        ((name, path),) = found
        return Conflict(f"Apply failed with 1 conflict: conflict with {name}: {path}", details={"causes": causes})
    lines: list[str] = []
    for name in sorted(conflicts):
        lines += [f"conflicts with {name}:", *(f"- {path}" for owner, path in found if owner == name)]
    text = "\n".join(lines)
    return Conflict(f"Apply failed with {len(found)} conflicts: {text}", details={"causes": causes})


def shown_object(obj: JsonObject) -> str:
    """An object as errors of field management name it: place and kind."""
    metadata = obj.get("metadata") or {}
    kind = _gvk_text(obj.get("apiVersion") or "", obj.get("kind") or "")
    namespace, name = (said if isinstance(said := metadata.get(field), str) else "" for field in ("namespace", "name"))
    return f"{namespace}/{name}; {kind}"


def _gvk_text(api_version: str, kind: str) -> str:
    return f"{api_version if '/' in api_version else f'/{api_version}'}, Kind={kind}"
