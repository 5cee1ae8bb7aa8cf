"""Field-by-field changes of a plan, as data: ``change_of(vertex)``.

Fields are named by their path (``spec.template.spec.containers[0].image``). What a Secret holds is never shown.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from attractor.k8s.core_v1 import Secret
from attractor.objects.json_equality import ABSENT, FieldChange, differences
from attractor.plan.comparison import overlay
from attractor.plan.object_graph import Action

if TYPE_CHECKING:
    from attractor.objects.json_types import JsonObject
    from attractor.plan.object_graph import Ref, Vertex

SENSITIVE = "(sensitive)"
_STAMPED = ("uid", "resourceVersion", "generation", "creationTimestamp", "managedFields")


@dataclass(frozen=True)
class Change:
    """One object."""

    ref: Ref
    action: Action
    fields: tuple[FieldChange, ...]
    reason: str = ""
    is_awaited: bool = False


def change_of(vertex: Vertex) -> Change:
    """Return the changes that a vertex' action would make."""
    before, after = _sides(vertex)
    if vertex.ref.kind is Secret:
        before, after = _hidden(before, after)
    found = tuple(differences(before, after))
    return Change(vertex.ref, vertex.action, found, vertex.reason, vertex.is_awaited)


def _sides(vertex: Vertex) -> tuple[Any, Any]:
    """The object before and after, as far as the action touches it."""
    before = ABSENT if vertex.before is None else _plain(vertex.before.to_dict())
    match vertex.action:
        case Action.CREATE:
            return ABSENT, _plain(vertex.object.to_dict())
        case Action.DELETE:
            return before, ABSENT
        case Action.STATUS:
            return {"status": before.get("status", {})}, {"status": vertex.object.to_dict().get("status", {})}
        case Action.UPDATE:
            return before, _plain(vertex.object.to_dict())
        case Action.PATCH:
            assert vertex.before is not None, "what is changed is in the snapshot"
            return before, _plain(overlay(vertex.before, vertex.object).to_dict())
        case Action.NONE:
            return ABSENT, ABSENT


def _plain(value: JsonObject) -> JsonObject:
    metadata = {name: part for name, part in value.get("metadata", {}).items() if name not in _STAMPED}
    return {**value, "metadata": metadata}


def _hidden(before: Any, after: Any) -> tuple[Any, Any]:
    """The same without what a Secret holds; that a value changes can still be seen."""
    sides = []
    for side, other in ((before, after), (after, before)):
        if side is ABSENT:
            sides.append(side)
            continue
        hidden = dict(side)
        for part in ("data", "stringData"):
            if part in side:
                known = {} if other is ABSENT else other.get(part, {})
                changed = " changed" if side is after else ""
                hidden[part] = {
                    name: SENSITIVE + (changed if known.get(name, value) != value else "")
                    for name, value in side[part].items()
                }
        sides.append(hidden)
    return sides[0], sides[1]
