"""Does a value fit its atom, and which fields does it name?

``validate`` complains in the words of Kubernetes; ``fields_of`` gives the set that an applier of the value owns: its
leaves, its list items, and the keys of its plain maps, but not the named fields on the way to them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from attractor.apply.atoms import DEDUCED, LIST, MAP, Atom
from attractor.apply.fieldset import LEAF, FieldSet, element_text, is_member, key_element, value_element

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

from attractor.objects.go_wording import GO_MAP, go_syntax, go_text


class Untypable(Exception):
    """A value does not fit its atom."""


class Misfit(NamedTuple):
    """One reason why a value does not fit."""

    path: str
    why: str

    def __str__(self) -> str:
        return f"{self.path}: {self.why}" if self.path else self.why


def validate(atom: Atom, value: Any) -> None:
    """Raise ``Untypable``, naming every misfit by its path, when the value does not fit or has duplicate list items."""
    misfits = list(_misfits(atom, value, ""))
    if len(misfits) == 1:
        raise Untypable(str(misfits[0]))
    if misfits:
        raise Untypable("\n".join(["errors:", *(f"  {misfit}" for misfit in sorted(misfits))]))


def _misfits(atom: Atom, value: Any, path: str) -> Iterator[Misfit]:
    if value is None:
        return
    match atom.face(value):
        case 1:
            yield from _map_misfits(atom, value, path)
        case 3:
            yield from _list_misfits(atom, value, path)
        case _:
            complaint = _scalar_misfit(atom.scalar, value)
            if complaint:
                yield Misfit(path, complaint)


def _map_misfits(atom: Atom, value: Any, path: str) -> Iterator[Misfit]:
    if not isinstance(value, dict):
        yield Misfit(path, f"expected map, got &{{{go_text(value)}}}")
        return
    for name, item in value.items():
        child = atom.fields.get(name) or atom.element
        if child is None:
            yield Misfit(f"{path}.{name}", "field not declared in schema")
            return
        yield from _misfits(child, item, f"{path}.{name}")


def _list_misfits(atom: Atom, value: Any, path: str) -> Iterator[Misfit]:
    if not isinstance(value, list):
        yield Misfit(path, f"expected list, got &{{{go_text(value)}}}")
        return
    seen: set[str] = set()
    for index, item in enumerate(value):
        if not atom.is_associative:
            yield from _misfits(atom.items, item, f"{path}[{index}]")
            continue
        element, reason = "", ""
        try:
            element = item_element(atom, item)
        except Untypable as error:
            reason = str(error)
        if reason:
            yield Misfit(path, f"element {index}: {reason}")
            return
        shown = element_text(element)
        if element in seen:
            yield Misfit(path, f"duplicate entries for key {shown}")
        seen.add(element)
        yield from _misfits(atom.items, item, f"{path}{shown}")


_GO_TYPES = {str: "string", bool: "bool", int: "int64", float: "float64"}


def _scalar_misfit(kind: str, value: Any) -> str:
    fits = {
        "numeric": isinstance(value, int | float) and not isinstance(value, bool),
        "string": isinstance(value, str),
        "boolean": isinstance(value, bool),
    }.get(kind, isinstance(value, str | int | float))
    if fits:
        return ""
    if kind == "numeric":
        unstructured = GO_MAP if isinstance(value, dict) else "[]interface {}"
        return f"expected numeric (int or float), got {_GO_TYPES.get(type(value), unstructured)}"
    if kind == "string":
        return f"expected string, got &value.valueUnstructured{{Value:{go_syntax(value)}}}"
    return f"expected {'boolean' if kind == 'boolean' else 'any scalar'}, got &{{{go_text(value)}}}"


def item_element(atom: Atom, item: Any) -> str:
    """The path element that identifies an item of an associative list; raises ``Untypable`` when it has none."""
    if not atom.keys:
        if isinstance(item, dict):
            raise Untypable("associative list without keys has an element that's a map type")
        if isinstance(item, list):
            raise Untypable("not supported: associative list with lists as elements")
        if item is None:
            raise Untypable("associative list without keys has an element that's an explicit null")
        return value_element(item)
    if not isinstance(item, dict):
        kind = "a null element" if item is None else "non-map elements"
        raise Untypable(f"associative list with keys may not have {kind}")
    keys: dict[str, Any] = {}
    for key in atom.keys:
        if key in item:
            keys[key] = item[key]
        elif key in atom.key_defaults:
            keys[key] = atom.key_defaults[key]
    if not keys:
        raise Untypable(
            f"associative list with keys has an element that omits all key fields {_quoted_list(atom.keys)} "
            "(and doesn't have default values for any key fields)"
        )
    return key_element(keys)


def _quoted_list(names: Iterable[str]) -> str:
    return f"[{' '.join(map(go_syntax, names))}]"


def fields_of(atom: Atom, value: dict[str, Any]) -> FieldSet:
    """The fields that a whole object names."""
    return _fields_below(atom, value) or LEAF


def _fields_below(atom: Atom, value: Any) -> FieldSet | None:
    """The set below a value's path: empty when the path itself is a leaf, None when nothing is named at all."""
    face = atom.face(value)
    if face == MAP:
        if atom.is_atomic_map:
            return LEAF
        return _map_fields(atom, value) if value else None
    if face == LIST:
        if not atom.is_associative:
            return LEAF
        return _list_fields(atom, value) if value else None
    return LEAF


def _map_fields(atom: Atom, value: dict[str, Any]) -> FieldSet | None:
    result: FieldSet = {}
    for name, item in value.items():
        named = atom.fields.get(name)
        below = _fields_below(named or atom.element or DEDUCED, item)
        if named is None or item is None or item == {}:
            result[f"f:{name}"] = _with_itself(below)
        elif below is not None:
            result[f"f:{name}"] = below
    return result or None


def _with_itself(below: FieldSet | None) -> FieldSet:
    if not below:
        return LEAF
    return below if is_member(below) else {".": LEAF, **below}


def _list_fields(atom: Atom, value: list[Any]) -> FieldSet | None:
    result: FieldSet = {}
    twice: set[str] = set()
    for item in value:
        element = item_element(atom, item)
        if element in result:
            twice.add(element)
        else:
            result[element] = _with_itself(_fields_below(atom.items, item))
    for element in twice:
        result[element] = LEAF
    return result or None


def named_fields_as_members(atom: Atom | None, fields: FieldSet) -> FieldSet:
    """The set, with the named fields on the way to its members made members too."""
    result: FieldSet = {}
    for element, below in fields.items():
        child: Atom | None = None
        named: Atom | None = None
        if atom is not None and element.startswith("f:") and atom.is_map:
            named = atom.fields.get(element[2:])
            child = named or atom.element
        elif atom is not None and element.startswith("k:") and atom.is_list:
            child = atom.items
        if below:
            below = named_fields_as_members(child, below)  # noqa: PLW2901
            if named is not None:
                below = _with_itself(below)  # noqa: PLW2901
        result[element] = below
    return result


def reconciled(atom: Atom, fields: FieldSet) -> FieldSet:
    """The set for a schema that may have changed since: what became atomic is owned as a whole."""
    result = fields
    for element, below in fields.items():
        if not below:
            continue
        is_item = element.startswith(("k:", "v:"))
        child = atom.items if is_item else atom.fields.get(element[2:]) or atom.element
        if child is None or child.is_deduced or child.is_flat:
            continue
        became_atomic = child.is_atomic_map if child.is_map else child.is_list and not child.is_associative
        changed = LEAF if became_atomic else reconciled(child, below)
        if changed is not below:
            if result is fields:
                result = dict(fields)
            result[element] = changed
    return result
