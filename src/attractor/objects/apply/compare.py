"""What changed between two objects, as sets of fields.

Equal subtrees are skipped by ``==``, so the cost follows the change. Python takes ``1`` and ``True`` as equal: kinds
whose schemas allow one in the place of the other are compared by ``differs`` instead.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import compress, repeat
from operator import ne as _differ
from typing import TYPE_CHECKING, Any, TypeAlias

from attractor.objects.apply.atoms import DEDUCED, LIST, MAP, Atom
from attractor.objects.apply.fieldset import LEAF, FieldSet, recursive_difference
from attractor.objects.apply.typing import item_element
from attractor.objects.samejson import differs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from collections.abc import Set as AbstractSet

    from attractor.objects.jsontypes import JsonObject

UNTRACKED_METADATA = frozenset(
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

REMEMBERED_NAMES = 32
"""Sets of names up to this size are worked out once."""

Differ: TypeAlias = "Callable[[Any, Any], bool]"
"""How two values are told apart: ``!=``, or exactly."""

_CONTAINERS = (dict, list)
_SCALARS = frozenset((str, int, bool, float, type(None)))
_MISSING: Any = object()
_NOTHING: JsonObject = {}
_NO_FACES: frozenset[int] = frozenset()


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
    fields = atom.fields
    differ = differs if atom.holds_untyped else _differ
    for name in _differing(old, new, new if old.keys() == new.keys() else {**old, **new}, differ):
        if name in {"apiVersion", "kind"}:
            continue
        before, after = old.get(name, _MISSING), new.get(name, _MISSING)
        child = fields.get(name) or atom.element or DEDUCED
        if name == "metadata":
            _compare_metadata(child, before, after, result)
        elif before is _MISSING:
            result.added[f"f:{name}"] = _whole(child, after)
        elif after is _MISSING:
            result.removed[f"f:{name}"] = _whole(child, before)
        else:
            _compare_values(f"f:{name}", child, before, after, result, differ)
    return result


def _compare_metadata(atom: Atom, old: Any, new: Any, into: Comparison) -> None:
    if not old and isinstance(new, dict) and new.keys() <= UNTRACKED_METADATA:
        return
    before = _tracked(old) if isinstance(old, dict) else _NOTHING
    after = _tracked(new) if isinstance(new, dict) else _NOTHING
    if before != after:
        below = Comparison({}, {}, {})
        _compare_maps(atom, before, after, below, _differ)
        for part, found in (
            (into.added, below.added),
            (into.modified, below.modified),
            (into.removed, below.removed),
        ):
            if found:
                part["f:metadata"] = found


def _tracked(metadata: JsonObject) -> JsonObject:
    return {name: value for name, value in metadata.items() if name not in UNTRACKED_METADATA}


def _compare_maps(atom: Atom, old: JsonObject, new: JsonObject, into: Comparison, differ: Differ) -> None:
    fields, element = atom.fields, atom.element
    for name in _differing(old, new, old, differ):
        before, after = old[name], new.get(name, _MISSING)
        child = fields.get(name) or element or DEDUCED
        if after is _MISSING:
            into.removed[f"f:{name}"] = _whole(child, before)
        else:
            _compare_values(f"f:{name}", child, before, after, into, differ)
    if new.keys() <= old.keys():
        return
    for name, after in new.items():
        if name not in old:
            into.added[f"f:{name}"] = _whole(fields.get(name) or element or DEDUCED, after)


def _differing(old: JsonObject, new: JsonObject, names: Iterable[str], differ: Differ) -> Iterator[str]:
    """Those of the names that do not stand for equal values; most do, and to skip them no bytecode is run."""
    names = tuple(names)
    return compress(names, map(differ, map(old.get, names, repeat(_MISSING)), map(new.get, names, repeat(_MISSING))))


def _compare_values(element: str, atom: Atom, old: Any, new: Any, into: Comparison, differ: Differ) -> None:
    """Compare two present values that are not equal."""
    if not isinstance(old, _CONTAINERS) and not isinstance(new, _CONTAINERS):
        into.modified[element] = LEAF
        return
    below = Comparison({}, {}, {})
    is_modified = False
    if type(old) is dict and type(new) is dict and atom.is_map and not atom.is_atomic_map:
        _compare_maps(atom, old, new, below, differ)
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
                _compare_maps(atom, before, after, below, differ)
        elif face == LIST:
            old_items = old if isinstance(old, list) else []
            new_items = new if isinstance(new, list) else []
            if not atom.is_associative or not (old_items or new_items):
                is_modified = True
            else:
                _compare_lists(atom, old_items, new_items, below, differ)
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


def _compare_lists(atom: Atom, old: list[Any], new: list[Any], into: Comparison, differ: Differ) -> None:
    before, after = _by_element(atom, old), _by_element(atom, new)
    items = atom.items
    for element in dict.fromkeys((*before, *after)):
        was, now = before.get(element, []), after.get(element, [])
        if len(was) == 1 and len(now) == 1:
            if differ(was[0], now[0]):
                _compare_values(element, items, was[0], now[0], into, differ)
        elif len(was) > 1 and len(now) > 1:
            if differ(was, now):
                into.modified[element] = LEAF
        else:
            if now:
                into.added[element] = _whole(items, now[0]) if len(now) == 1 else LEAF
            if was:
                into.removed[element] = _whole(items, was[0]) if len(was) == 1 else LEAF


def _by_element(atom: Atom, items: list[Any]) -> dict[str, list[Any]]:
    result: dict[str, list[Any]] = {}
    for item in items:
        result.setdefault(item_element(atom, item), []).append(item)
    return result


def _whole(atom: Atom, value: Any) -> FieldSet:
    """Every path of a value that only one side has, below and including its own."""
    if not value or not isinstance(value, _CONTAINERS):
        return LEAF
    result: FieldSet = {".": LEAF}
    if isinstance(value, dict):
        if not atom.is_map or atom.is_atomic_map:
            return LEAF
        if len(value) <= REMEMBERED_NAMES and _SCALARS.issuperset(map(type, value.values())):
            return _leaves(tuple(value))
        fields, element = atom.fields, atom.element
        for name, item in value.items():
            if isinstance(item, _CONTAINERS):
                result[f"f:{name}"] = _whole(fields.get(name) or element or DEDUCED, item)
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
        result[key] = _whole(atom.items, item)
    for key in twice:
        result[key] = LEAF
    return result


@lru_cache(maxsize=1024)
def _leaves(names: tuple[str, ...]) -> FieldSet:
    """The paths of a map of scalars; whoever makes objects gives all of them the same labels, annotations and keys."""
    return {".": LEAF, **{f"f:{name}": LEAF for name in sorted(names)}}
