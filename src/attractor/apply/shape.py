"""The shape of a plain object: the names of its fields, on which alone it depends who owns what of a new one.

Lists of metadata (owners, finalizers) are only marked, by None: their items are known by what they say.

>>> shape_of({"kind": "ConfigMap", "metadata": {"name": "a", "labels": {"app": "a"}}, "data": {"x": "1", "y": "2"}})
(('metadata', ('labels', 'app')), ('data', 'x', 'y'))
>>> shape_of({"metadata": {"name": "a", "finalizers": ["f"]}, "spec": {"a": {"b": 1}}})
(('metadata', ('finalizers', None)), ('spec', ('a', 'b')))
>>> shape_of({"metadata": {"name": "a"}, "rules": [1]}) is None
True
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from attractor.apply.compare import REMEMBERED_NAMES, UNTRACKED_METADATA

if TYPE_CHECKING:
    from attractor.objects.json_types import JsonObject

Shape: TypeAlias = tuple[Any, ...]


def shape_of(obj: JsonObject) -> Shape | None:
    """The names of all fields that are tracked; None for an object with other lists or with very many fields."""
    shape: list[Shape] = []
    for name, value in obj.items():
        if name == "metadata":
            shape.append(_tracked(value))
        elif name not in {"kind", "apiVersion"}:
            below = _named(name, value)
            if below is None:
                return None
            shape.append(below)
    return None if () in shape else tuple(shape)


def _named(name: str, value: Any) -> Shape | None:
    """A field's name and the names in its value, which has some if it is a map."""
    if isinstance(value, list):
        return None
    if not isinstance(value, dict):
        return (name,)
    if len(value) > REMEMBERED_NAMES:
        return None
    names: list[Any] = [name]
    for inner, item in value.items():
        if isinstance(item, (dict, list)):
            below = _named(inner, item)
            if below is None:
                return None
            names.append(below)
        else:
            names.append(inner)
    return tuple(names)


def _tracked(metadata: JsonObject) -> Shape:
    """The names of metadata that are tracked, after its own; nothing if it has too many."""
    parts: list[Any] = ["metadata"]
    for name, value in metadata.items():
        if name not in UNTRACKED_METADATA:
            below = (name, None) if isinstance(value, list) else _named(name, value)
            if below is None:
                return ()
            parts.append(below)
    return tuple(parts)
