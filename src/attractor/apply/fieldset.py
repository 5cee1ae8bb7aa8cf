"""Sets of field paths, in the shape in which ``managedFields`` stores them (FieldsV1).

A set is a nested dict. A key is a path element: ``f:NAME`` a field, ``k:{...}`` an item of a list of maps by its keys,
``v:VALUE`` an item of a set, ``i:N`` an item by index. Its value is the set of paths below it. The path to a key is
itself a member when that value is empty or contains ``"."``::

    {"f:spec": {"f:ports": {'k:{"port":80}': {".": {}, "f:name": {}}}}}

has two members: ``.spec.ports[port=80]`` and ``.spec.ports[port=80].name``. Invariant (normal form): a dict that holds
only ``"."`` is written empty, and no key leads to a set without members. Sets are values: nobody changes one after it
was made, so operations share their operands' parts, and the empty dict stands for both the empty set (at the root) and
a member without members below it (anywhere else).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import orjson

if TYPE_CHECKING:
    from collections.abc import Iterator

FieldSet: TypeAlias = "dict[str, FieldSet]"
Path: TypeAlias = tuple[str, ...]

LEAF: FieldSet = {}
"""A member without members below it."""


class BadFieldSet(ValueError):
    """The JSON is not a FieldsV1 set."""


def decode(fields: Any) -> FieldSet:
    """A set from FieldsV1, in normal form, the same dict if it was; raises ``BadFieldSet``."""
    normal = _decoded(fields) if fields else LEAF
    return {element: below for element, below in normal.items() if element != "."} if "." in normal else normal


def _decoded(fields: Any) -> FieldSet:
    if not isinstance(fields, dict):
        raise BadFieldSet(f"a field set must be an object, not {fields!r}")
    result: FieldSet = fields
    for element, below in fields.items():
        name = element if element[:2] == "f:" or element == "." else _canonical(element)
        if below == {} and name == element:
            continue
        normal = _decoded(below) if below != {} and element != "." else LEAF
        if normal is not below or name != element:
            if result is fields:
                result = dict(fields)
            del result[element]
            result[name] = normal
    return LEAF if len(result) == 1 and "." in result else result


def _canonical(element: str) -> str:
    """A path element other than a field as this module spells it."""
    kind, text = element[:2], element[2:]
    try:
        value: Any = orjson.loads(text)
    except orjson.JSONDecodeError:
        value = _NOT_JSON
    if kind == "k:" and isinstance(value, dict) and value and all(map(_is_scalar, value.values())):
        return key_element(value)
    if kind == "v:" and _is_scalar(value):
        return value_element(value)
    if kind == "i:" and isinstance(value, int) and not isinstance(value, bool):
        return f"i:{value}"
    raise BadFieldSet(f"{element!r} is not a path element: it must be f:NAME, k:{{KEYS}}, v:VALUE or i:INDEX")


_NOT_JSON: Any = object()


def _is_scalar(value: Any) -> bool:
    return value is None or isinstance(value, str | int | float)


def encode(fields: FieldSet) -> FieldSet:
    """The set with its elements in the order in which Kubernetes writes them."""
    ordered = sorted(fields)
    if len(ordered) > 1 and ordered[-1] >= "g" and (len(ordered) > 2 or ordered[0] != "."):
        ordered.sort(key=_order)  # items of lists: keys and values do not sort as text
    if not any(fields.values()) and ordered == list(fields):
        return fields
    return {element: encode(below) if (below := fields[element]) else LEAF for element in ordered}


def _order(element: str) -> tuple[Any, ...]:
    kind = element[:2]
    if kind == "f:":
        return (1, element)
    if kind == "k:":
        return (2, *((name, _comparable(value)) for name, value in sorted(orjson.loads(element[2:]).items())))
    if kind == "v:":
        return (3, _comparable(orjson.loads(element[2:])))
    return (4, int(element[2:])) if kind == "i:" else (0,)


def _comparable(value: Any) -> tuple[int, Any]:
    """Kubernetes' order of scalars: numbers, strings, booleans, then null."""
    if value is None:
        return (3, 0)
    if isinstance(value, bool):
        return (2, value)
    return (1, value) if isinstance(value, str) else (0, value)


def key_element(keys: dict[str, Any]) -> str:
    """The path element of a list item with these key fields."""
    return "k:" + orjson.dumps(keys, option=orjson.OPT_SORT_KEYS).decode()


def value_element(value: Any) -> str:
    """The path element of a set's item."""
    return "v:" + orjson.dumps(value).decode()


def is_member(below: FieldSet) -> bool:
    """Whether the path that leads to ``below`` is itself in the set."""
    return not below or "." in below


def union(left: FieldSet, right: FieldSet) -> FieldSet:
    """Paths in either set; ``left`` itself when it has them all."""
    if not left or left is right:
        return right
    result = left
    for element, below in right.items():
        mine = left.get(element)
        if mine is None:
            joined = below
        elif mine is below:
            continue
        else:
            joined = _union_below(mine, below)
            if joined is mine:
                continue
        if result is left:
            result = left.copy()
        result[element] = joined
    return result


def _union_below(left: FieldSet, right: FieldSet) -> FieldSet:
    if left is right or not (left or right):
        return left
    if not left:
        return right if is_member(right) else {".": LEAF, **right}
    if not right:
        return left if "." in left else {".": LEAF, **left}
    return union(left, right)


def difference(left: FieldSet, right: FieldSet) -> FieldSet:
    """Paths in ``left`` that are not in ``right``; a path does not stand for those below it."""
    if not left or not right:
        return left
    if left.keys().isdisjoint(right):
        return left
    result: FieldSet = {}
    for element, below in left.items():
        other = right.get(element)
        if other is None:
            result[element] = below
        elif element != "." and (rest := _difference_below(below, other)) is not None:
            result[element] = rest
    return result


def _difference_below(left: FieldSet, right: FieldSet) -> FieldSet | None:
    """What is left below a path that both sets know; None when nothing is."""
    if not left:
        return None if is_member(right) else left
    rest = difference(left, right) if right else {key: below for key, below in left.items() if key != "."}
    if "." in rest:
        return rest if len(rest) > 1 else LEAF
    return rest or None


def recursive_difference(left: FieldSet, right: FieldSet) -> FieldSet:
    """Paths in ``left`` that are neither in ``right`` nor below a path in ``right``."""
    if not left or not right:
        return left
    result: FieldSet = {}
    for element, below in left.items():
        other = right.get(element)
        if other is None:
            result[element] = below
        elif not is_member(other):
            rest = recursive_difference(below, other)
            if rest or not below:
                result[element] = LEAF if len(rest) == 1 and "." in rest else rest
    return result


def intersection(left: FieldSet, right: FieldSet) -> FieldSet:
    """Paths in both sets."""
    if left is right:
        return left
    if len(left) > len(right):
        left, right = right, left
    result: FieldSet = {}
    for element, below in left.items():
        other = right.get(element)
        if other is None or element == ".":
            continue
        shared = intersection(below, other) if below and other else LEAF
        if is_member(below) and is_member(other):
            result[element] = {".": LEAF, **shared} if shared else LEAF
        elif shared:
            result[element] = shared
    return result


def leaves(fields: FieldSet) -> FieldSet:
    """Members that have no members below them."""
    return {element: leaves(below) if below else LEAF for element, below in fields.items() if element != "."}


def paths(fields: FieldSet, prefix: Path = ()) -> Iterator[Path]:
    """Every member, those of one level before those below it, by name."""
    for element, below in sorted(fields.items()):
        if element != "." and is_member(below):
            yield (*prefix, element)
    for element, below in sorted(fields.items()):
        if element != "." and below:
            yield from paths(below, (*prefix, element))


def from_paths(members: Any) -> FieldSet:
    """The set of these paths."""
    result: FieldSet = {}
    for path in members:
        one: FieldSet = LEAF
        for element in reversed(path):
            one = {element: one}
        result = union(result, one)
    return result


def path_text(path: Path) -> str:
    """A path as error messages show it: ``.spec.ports[port=80].name``."""
    return "".join(map(element_text, path))


def element_text(element: str) -> str:
    """One path element as error messages show it."""
    kind, text = element[:2], element[2:]
    if kind == "f:":
        return f".{text}"
    if kind == "k:":
        shown = (f"{name}={orjson.dumps(value).decode()}" for name, value in sorted(orjson.loads(text).items()))
        return f"[{','.join(shown)}]"
    return f"[={text}]" if kind == "v:" else f"[{text}]"
