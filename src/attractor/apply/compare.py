"""Changes between two objects, as sets of fields.

Equal subtrees are skipped by ``==``, so the cost follows the change. Python takes ``1`` and ``True`` as equal: kinds
whose schemas allow one in the place of the other are compared by ``same_json`` instead.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from attractor.apply.atoms import DEDUCED, LIST, MAP, Atom
from attractor.apply.fieldset import LEAF, FieldSet, recursive_difference
from attractor.apply.typing import item_element
from attractor.objects.json_equality import same_json

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from attractor.objects.json_types import JsonObject

UNTRACKED_METADATA: Final = frozenset(
    {
        "name",
        "namespace",
        "creationTimestamp",
        "selfLink",
        "uid",
        "clusterName",
        "generation",
        "managedFields",
        "resourceVersion",
    }
)
"""What nobody owns; nor is the type, or metadata as such, anybody's."""

REMEMBERED_NAMES: Final = 32
"""Sets of names up to this size are worked out once."""

_UNTRACKED: Final = frozenset({"apiVersion", "kind", "metadata"})
"""What of an object itself is not compared like the rest."""
_MISSING: Final[Any] = object()
_NOTHING: Final[JsonObject] = {}
_NO_FACES: Final[frozenset[int]] = frozenset()
_NO_NAMES: Final[frozenset[str]] = frozenset()


class Comparison:
    """Three disjoint sets of fields; all empty when nothing that is tracked changed."""

    __slots__ = ("added", "modified", "removed")

    def __init__(self, added: FieldSet, modified: FieldSet, removed: FieldSet) -> None:
        self.added = added
        self.modified = modified
        self.removed = removed

    def without(self, fields: FieldSet) -> Comparison:
        """The comparison, blind to these fields and all below them."""
        return Comparison(
            recursive_difference(self.added, fields),
            recursive_difference(self.modified, fields),
            recursive_difference(self.removed, fields),
        )

    def __bool__(self) -> bool:
        return bool(self.added or self.modified or self.removed)


def compare_objects(atom: Atom, old: JsonObject, new: JsonObject) -> Comparison:
    """Compare two whole objects, leaving out what is never tracked; raises ``Untypable`` for items without keys."""
    result = Comparison({}, {}, {})
    _compare_maps(atom, old, new, result, atom.holds_untyped, _UNTRACKED)
    before, after = old.get("metadata"), new.get("metadata")
    if before is not after and before != after:
        _compare_metadata(child_of(atom, "metadata"), before, after, result)
    return result


def child_of(atom: Atom, name: str) -> Atom:
    """What a field of a map is."""
    return atom.fields.get(name) or atom.element or DEDUCED


def _compare_metadata(atom: Atom, old: Any, new: Any, into: Comparison) -> None:
    before = old if isinstance(old, dict) else _NOTHING
    after = new if isinstance(new, dict) else _NOTHING
    below = Comparison({}, {}, {})
    _compare_maps(atom, before, after, below, False, UNTRACKED_METADATA)
    if below.added:
        into.added["f:metadata"] = below.added
    if below.modified:
        into.modified["f:metadata"] = below.modified
    if below.removed:
        into.removed["f:metadata"] = below.removed


def is_same(old: Any, new: Any, is_exact: bool) -> bool:
    """Whether two values are equal; exactly, where a truth value may stand for a number."""
    return same_json(old, new) if is_exact else bool(old == new)


def _compare_maps(
    atom: Atom,
    old: JsonObject,
    new: JsonObject,
    into: Comparison,
    is_exact: bool,
    skipped: frozenset[str] = _NO_NAMES,
) -> None:
    """Compare two maps, but for the fields to be skipped."""
    shared = 0
    for name, after in new.items():
        before = old.get(name, _MISSING)
        if before is not _MISSING:
            shared += 1
            if before is after or name in skipped or is_same(before, after, is_exact):
                continue
            _compare_values(f"f:{name}", child_of(atom, name), before, after, into, is_exact)
        elif name not in skipped:
            into.added[f"f:{name}"] = whole(child_of(atom, name), after)
    if shared == len(old):
        return
    for name, before in old.items():
        if name not in new and name not in skipped:
            into.removed[f"f:{name}"] = whole(child_of(atom, name), before)


def _compare_values(element: str, atom: Atom, old: Any, new: Any, into: Comparison, is_exact: bool) -> None:
    """Compare two present values that are not equal."""
    if not isinstance(old, (dict, list)) and not isinstance(new, (dict, list)):
        into.modified[element] = LEAF
        return
    below = Comparison({}, {}, {})
    is_modified = False
    if type(old) is dict and type(new) is dict and atom.is_map and not atom.is_atomic_map:
        _compare_maps(atom, old, new, below, is_exact)
        faces: AbstractSet[int] = _NO_FACES
    else:
        faces = {atom.face(old), atom.face(new)}
    for face in faces:
        if face == MAP:
            before = old if isinstance(old, dict) else _NOTHING
            after = new if isinstance(new, dict) else _NOTHING
            if atom.is_atomic_map or not (before or after):
                is_modified = True
            else:
                _compare_maps(atom, before, after, below, is_exact)
        elif face == LIST:
            old_items = old if isinstance(old, list) else []
            new_items = new if isinstance(new, list) else []
            if not atom.is_associative or not (old_items or new_items):
                is_modified = True
            else:
                _compare_lists(atom, old_items, new_items, below, is_exact)
        else:
            is_modified = True
    if below.added:
        into.added[element] = below.added
    if below.removed:
        into.removed[element] = below.removed
    if is_modified:
        into.modified[element] = {".": LEAF, **below.modified} if below.modified else LEAF
    elif below.modified:
        into.modified[element] = below.modified


def _compare_lists(atom: Atom, old: list[Any], new: list[Any], into: Comparison, is_exact: bool) -> None:
    before, after = _by_element(atom, old), _by_element(atom, new)
    items = atom.items
    for element in dict.fromkeys((*before, *after)):
        was, now = before.get(element, []), after.get(element, [])
        if len(was) == 1 and len(now) == 1:
            if not is_same(was[0], now[0], is_exact):
                _compare_values(element, items, was[0], now[0], into, is_exact)
        elif len(was) > 1 and len(now) > 1:
            if not is_same(was, now, is_exact):
                into.modified[element] = LEAF
        else:
            if now:
                into.added[element] = whole(items, now[0]) if len(now) == 1 else LEAF
            if was:
                into.removed[element] = whole(items, was[0]) if len(was) == 1 else LEAF


def _by_element(atom: Atom, items: list[Any]) -> dict[str, list[Any]]:
    result: dict[str, list[Any]] = {}
    for item in items:
        result.setdefault(item_element(atom, item), []).append(item)
    return result


def whole(atom: Atom, value: Any) -> FieldSet:
    """Every path of a value that only one side has, below and including its own."""
    if not value or not isinstance(value, (dict, list)):
        return LEAF
    result: FieldSet = {".": LEAF}
    if isinstance(value, dict):
        if not atom.is_map or atom.is_atomic_map:
            return LEAF
        if len(value) <= REMEMBERED_NAMES and not any(isinstance(item, (dict, list)) for item in value.values()):
            return _leaves(tuple(value))
        for name, item in value.items():
            if isinstance(item, (dict, list)):
                result[f"f:{name}"] = whole(child_of(atom, name), item)
            else:
                result[f"f:{name}"] = LEAF
        return result
    if not atom.is_associative:
        return LEAF
    twice: set[str] = set()
    for item in value:
        key = item_element(atom, item)
        if key in result:
            twice.add(key)
        result[key] = whole(atom.items, item)
    for key in twice:
        result[key] = LEAF
    return result


@lru_cache(maxsize=1024)
def _leaves(names: tuple[str, ...]) -> FieldSet:
    """The paths of a map of scalars; whoever makes objects gives all of them the same labels, annotations and keys."""
    return {".": LEAF, **{f"f:{name}": LEAF for name in sorted(names)}}
