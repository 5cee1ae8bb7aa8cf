"""Pruning: fields that an applier no longer applies leave the object, if nobody else owns them.

A field goes when the applier owned it by its last apply, does not apply it now, and no other manager owns it. What
nobody owns (a default, say) stays, unless the item or map that holds it goes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attractor.apply.atoms import DEDUCED, Atom, root_atom_of
from attractor.apply.compare import Comparison, compare_objects
from attractor.apply.fieldset import FieldSet, difference, intersection, is_member, union
from attractor.apply.typing import Untypable, fields_of, item_element, named_fields_as_members, validate

if TYPE_CHECKING:
    from attractor.apply.entries import Managed, ManagerId, Owned
    from attractor.apply.manager import Convert
    from attractor.objects.json_types import JsonObject
    from attractor.schema.node import Schema


class Unconvertible(Exception):
    """An object cannot be shown in a version in which somebody owns fields of it; the text is Kubernetes'."""

    def at(self, where: str) -> Unconvertible:
        """The same, saying what was converted."""
        return Unconvertible(f"{where}: {self}")


class Versions:
    """The versions of a kind: objects and atoms in each, by way of a conversion if there is one."""

    def __init__(self, atom: Atom, api_version: str, convert: Convert | None) -> None:
        self._atom = atom
        self.api_version = api_version
        self._convert = convert
        self._converted: dict[str, tuple[Schema | None, Atom]] = {}

    def atom(self, api_version: str) -> Atom:
        """The atom of a version; that of the own version until an object was converted."""
        return self._converted[api_version][1] if api_version in self._converted else self._atom

    def convert(self, obj: JsonObject, api_version: str) -> JsonObject | None:
        """The object in another version; None when the version is gone; raises ``Unconvertible``."""
        if obj.get("apiVersion") == api_version:
            return obj
        if self._convert is None:
            return obj if _group(api_version) == _group(self.api_version) else None
        converted = self._convert(obj, api_version)
        if converted is None:
            return None
        result, schema = converted
        if api_version != self.api_version:
            known = self._converted.get(api_version)
            if known is None or known[0] is not schema:
                self._converted[api_version] = schema, root_atom_of(schema)
        try:
            validate(self.atom(api_version), result)
        except Untypable as reason:
            raise Unconvertible(str(reason)) from None
        return result

    def convert_for(self, what: str, obj: JsonObject, api_version: str) -> JsonObject | None:
        """The same for an object that has a name in refusals: ``failed to convert WHAT: why``."""
        try:
            return self.convert(obj, api_version)
        except Unconvertible as reason:
            raise reason.at(f"failed to convert {what}") from None

    def compare(self, old: JsonObject, new: JsonObject, api_version: str, reset: FieldSet | None) -> Comparison | None:
        """Compare two objects in another version; None when it is gone."""
        before = self.convert_for("old object", old, api_version)
        after = self.convert_for("new object", new, api_version)
        if before is None or after is None:
            return None
        comparison = compare_objects(self.atom(api_version), before, after)
        return comparison.without(reset) if reset else comparison


def _group(api_version: str) -> str:
    return api_version.rpartition("/")[0]


def prune(
    versions: Versions, merged: JsonObject, owners: Managed, applier: ManagerId, last: Owned | None
) -> JsonObject:
    """The merged object without what its applier stopped applying; ``last`` is what it owned before."""
    try:
        return _pruned(versions, merged, owners, applier, last)
    except Unconvertible as reason:
        raise reason.at("failed to prune fields") from None


def _pruned(
    versions: Versions, merged: JsonObject, owners: Managed, applier: ManagerId, last: Owned | None
) -> JsonObject:
    if last is None or not last.fields:
        return merged
    if last.api_version == versions.api_version and not difference(last.fields, owners[applier].fields):
        return merged  # it still applies everything: nothing can go
    before = versions.convert_for("merged object to last applied version", merged, last.api_version)
    if before is None:
        return merged
    atom = versions.atom(last.api_version)
    owned_last = named_fields_as_members(atom, last.fields)
    pruned = remove(atom, before, owned_last)
    pruned = _with_owned(versions, before, pruned, owners, last.api_version)
    back = versions.convert(pruned, last.api_version)
    if back is None:
        return merged
    gone = difference(_named(atom, before), _named(atom, back))
    kept = remove(atom, before, intersection(gone, owned_last))
    return versions.convert(kept, versions.api_version) or merged


def _named(atom: Atom, obj: JsonObject) -> FieldSet:
    return named_fields_as_members(atom, fields_of(atom, obj))


def _with_owned(versions: Versions, merged: JsonObject, pruned: JsonObject, owners: Managed, first: str) -> JsonObject:
    """The pruned object with everything back that somebody owns, version by version, the last applied one first."""
    owned_at: dict[str, FieldSet] = {first: {}}
    for owned in owners.values():
        owned_at[owned.api_version] = union(owned_at.get(owned.api_version, {}), owned.fields)
    for api_version, owned_fields in owned_at.items():
        at = f"object at version {api_version}"
        try:
            full = versions.convert_for(f"merged {at}", merged, api_version)
            part = versions.convert_for(f"pruned {at}", pruned, api_version)
        except Unconvertible as reason:
            raise reason.at("failed add back owned items") from None
        if full is None or part is None:
            continue
        atom = versions.atom(api_version)
        kept = union(_named(atom, part), named_fields_as_members(atom, owned_fields))
        merged, pruned = full, remove(atom, full, difference(_named(atom, full), kept))
    return pruned


def remove(atom: Atom, value: JsonObject, fields: FieldSet) -> JsonObject:
    """The object without these fields and all below them."""
    if not fields:
        return value
    removed: JsonObject = _removed(atom, value, fields) or {}
    return removed


def _removed(atom: Atom, value: Any, fields: FieldSet) -> Any:
    """The value without some of what is below it; None, as Kubernetes has it, when nothing is left."""
    if isinstance(value, dict):
        if atom.is_atomic_map:
            return None
        kept: JsonObject = {}
        for name, item in value.items():
            below = fields.get(f"f:{name}")
            if below is None:
                kept[name] = item
            elif not is_member(below):
                kept[name] = _removed(atom.fields.get(name) or atom.element or DEDUCED, item, below)
        return kept or None
    if isinstance(value, list):
        if not atom.is_associative:
            return None
        items: list[Any] = []
        for item in value:
            below = fields.get(item_element(atom, item))
            if below is None:
                items.append(item)
            elif not is_member(below):
                items.append(_removed(atom.items, item, below))
        return items or None
    return value
