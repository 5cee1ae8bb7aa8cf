"""The shape of a plain object: the names of its fields, on which alone it depends who owns what of a new one.

>>> shape_of({"kind": "ConfigMap", "metadata": {"name": "a", "labels": {"app": "a"}}, "data": {"x": "1", "y": "2"}})
(('metadata', ('labels', 'app')), ('data', 'x', 'y'))
>>> shape_of({"metadata": {"name": "a", "finalizers": ["f"]}}) is None
True
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

from attractor.objects.apply.compare import REMEMBERED_NAMES, UNTRACKED_METADATA

if TYPE_CHECKING:
    from attractor.objects.jsontypes import JsonObject

Shape: TypeAlias = tuple[Any, ...]

_SCALARS: Final = frozenset({str, int, float, bool, type(None)})
_NOBODYS: Final = frozenset({"kind", "apiVersion"})


def shape_of(obj: JsonObject) -> Shape | None:
    """The names of all fields that are tracked; None for an object with lists, with deep or with very many fields."""
    shape = []
    for name, value in obj.items():
        if name in _NOBODYS:
            continue
        below = _tracked(value) if name == "metadata" else _names(value)
        if below is None:
            return None
        shape.append((name, *below))
    return tuple(shape)


def _names(value: Any) -> Shape | None:
    """The names in a map of scalars; a scalar has none."""
    if type(value) is dict:
        is_flat = len(value) <= REMEMBERED_NAMES and _SCALARS.issuperset(map(type, value.values()))
        return tuple(value) if is_flat else None
    return () if type(value) in _SCALARS else None


def _tracked(metadata: JsonObject) -> Shape | None:
    if metadata.keys() <= UNTRACKED_METADATA:
        return ()
    parts = []
    for name, value in metadata.items():
        if name not in UNTRACKED_METADATA:
            below = _names(value)
            if below is None:
                return None
            parts.append((name, *below))
    return tuple(parts)
