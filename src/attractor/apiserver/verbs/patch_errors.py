"""The patched object as Kubernetes shows it in a refusal.

It keeps as text what a patch leaves alone, and Go wrote that text: structs in the order of their fields, maps sorted by
key. Whatever lies on the patch's way was taken apart and is written anew, sorted by key; so is what a merge patch
brings. A value that a JSON patch brings stays as it was sent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from attractor.k8s import catalog
from attractor.k8s.catalog import go_type

if TYPE_CHECKING:
    from attractor.k8s.catalog import GoType
    from attractor.objects.gvk import GroupVersionKind
    from attractor.objects.json_types import Json

_AS_SENT: Final = object()


def as_shown(gvk: GroupVersionKind, patched: Any, patch: Json) -> Any:
    """The patched object of a built-in kind; ``patch`` is a merge patch, or a JSON patch if it is a list."""
    definition = catalog.definition_of(gvk)
    kind = go_type(definition) if definition is not None else None
    return _written(patched, kind, _ways(patch) if isinstance(patch, list) else patch)


def _ways(operations: list[Any]) -> dict[str, Any]:
    """The containers that a JSON patch passes through, as nested objects; what it puts into the last one is as sent."""
    ways: dict[str, Any] = {}
    for operation in operations:
        for member in ("path", "from"):
            path = operation.get(member) if isinstance(operation, dict) else None
            if not isinstance(path, str) or "/" not in path:
                continue
            *names, last = (name.replace("~1", "/").replace("~0", "~") for name in path.split("/")[1:])
            here = ways
            for name in names:
                if not isinstance(here.get(name), dict):
                    here[name] = {}
                here = here[name]
            here.setdefault(last, _AS_SENT)
    return ways


def _written(value: Any, go: GoType | None, touched: Any) -> Any:
    while go is not None and go.cls == "pointer":
        go = go.elem
    if touched is _AS_SENT:
        return value
    if isinstance(value, dict):
        return {
            name: _written(value[name], _field(go, name), _below(touched, name)) for name in _names(value, go, touched)
        }
    if isinstance(value, list):
        elem = go.elem if go is not None and go.cls == "slice" else None
        ways = [_item_way(touched, index, len(value)) for index in range(len(value))]
        return [_written(item, elem, way) for item, way in zip(value, ways, strict=True)]
    return value


def _names(value: dict[str, Any], go: GoType | None, touched: Any) -> list[str]:
    if isinstance(touched, dict | list) or go is None or go.cls == "map":
        return sorted(value) if touched is not None or (go is not None and go.cls == "map") else list(value)
    return [*(name for name in go.fields if name in value), *(name for name in value if name not in go.fields)]


def _item_way(touched: Any, index: int, length: int) -> Any:
    """What a patch does to an item: a merge patch brings whole lists, a JSON patch names items by their index."""
    if isinstance(touched, list):
        return touched
    way = _below(touched, str(index))
    return _below(touched, "-") if way is None and index == length - 1 else way


def _field(go: GoType | None, name: str) -> GoType | None:
    if go is None:
        return None
    if go.cls == "map":
        return go.elem
    found = go.fields.get(name)
    return found.type if found is not None else None


def _below(touched: Any, name: str) -> Any:
    if isinstance(touched, list):
        return touched
    return touched.get(name) if isinstance(touched, dict) else None
