"""Merge an applied configuration into an object: nothing is removed, and what both say is as applied."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from attractor.apply.atoms import DEDUCED, LIST, MAP, Atom
from attractor.apply.fieldset import element_text
from attractor.apply.typing import Untypable, item_element
from attractor.objects.field import repeated

if TYPE_CHECKING:
    from attractor.objects.json_types import JsonObject

_MISSING: Final[Any] = object()


def merge(atom: Atom, live: JsonObject, applied: JsonObject) -> JsonObject:
    """The live object with the applied one merged in; raises ``Untypable`` for list items that cannot be told apart."""
    merged: JsonObject = _merge_values(atom, live, applied)
    return merged


def _merge_values(atom: Atom, live: Any, applied: Any) -> Any:
    """Merge two present values. The applied one's face decides; null shows whatever face there is."""
    if live is applied:
        return live
    face = atom.face(applied)
    if face == MAP and not atom.is_atomic_map:
        return _merge_maps(atom, live, applied)
    if face == LIST and atom.is_associative:
        mine = live if isinstance(live, list) else []
        theirs = applied if isinstance(applied, list) else []
        return _merge_lists(atom, mine, theirs) if mine or theirs else applied
    return applied


def _merge_maps(atom: Atom, live: Any, applied: Any) -> Any:
    if not applied or not isinstance(applied, dict):
        return live if isinstance(live, dict) and live else applied
    if not isinstance(live, dict) or not live:
        return applied
    result = dict(live)
    for name, theirs in applied.items():
        mine = result.get(name, _MISSING)
        if mine is _MISSING:
            result[name] = theirs
        else:
            result[name] = _merge_values(atom.fields.get(name) or atom.element or DEDUCED, mine, theirs)
    return result


def _merge_lists(atom: Atom, live: list[Any], applied: list[Any]) -> list[Any]:
    """Items that both have come in the applied order; each side's own items stay beside their neighbours."""
    mine = [item_element(atom, item) for item in live]
    theirs = [item_element(atom, item) for item in applied]
    live_items: dict[str, Any] = {}
    for element, item in zip(mine, live, strict=True):
        live_items[element] = None if element in live_items else item  # duplicates do not merge
    applied_items = dict(zip(theirs, applied, strict=True))
    if len(applied_items) < len(theirs):
        twice = theirs[min(repeated(theirs))]
        raise Untypable(f"duplicate entries for key {element_text(twice)}")

    def merged(element: str) -> Any:
        if live_items.get(element) is None:
            return applied_items[element]
        return _merge_values(atom.items, live_items[element], applied_items[element])

    result: list[Any] = []
    shared = [element for element in theirs if element in live_items]
    done: set[str] = set()
    left = right = 0
    while left < len(mine) or right < len(theirs):
        if left < len(mine):
            element = mine[left]
            if element not in applied_items:
                result.append(live[left])
                left += 1
                continue
            if right < len(theirs) and len(done) < len(shared) and element != shared[len(done)]:
                left += 1  # comes, or came, in its applied place
                continue
            if element in done:
                left += 1
        if right < len(theirs):
            element = theirs[right]
            result.append(merged(element))
            right += 1
            if element in live_items:
                done.add(element)
                if left < len(mine) and mine[left] == element:
                    left += 1
    return result
