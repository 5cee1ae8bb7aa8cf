"""Take fields out of an object."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attractor.apply.atoms import DEDUCED, Atom
from attractor.apply.fieldset import FieldSet, is_member
from attractor.apply.typing import item_element

if TYPE_CHECKING:
    from attractor.objects.json_types import JsonObject


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
