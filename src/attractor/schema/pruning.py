"""Removal of fields that a structural schema does not know, compiled to one closure per schema node.

Kept always: ``apiVersion``, ``kind`` and ``metadata`` at the root and in embedded resources, and everything under
``x-kubernetes-preserve-unknown-fields`` that is not itself described.

>>> from attractor.schema.node import Schema
>>> spec = {"type": "object", "properties": {"a": {"type": "integer"}}}
>>> schema = Schema({"type": "object", "properties": {"spec": spec}})
>>> widget = {"kind": "Widget", "spec": {"a": 1, "b": 2}}
>>> compile_pruning(schema)(widget, "", True), widget
(['spec.b'], {'kind': 'Widget', 'spec': {'a': 1}})
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from attractor.schema.node import Schema

Pruning = Callable[[Any, str, bool], list[str]]
"""``prune(value, path, remove)`` -> the paths of unknown fields; they are removed when ``remove`` is true."""

_META_FIELDS = frozenset({"apiVersion", "kind", "metadata"})


def compile_pruning(schema: Schema, *, is_root: bool = True) -> Pruning:
    """Pruning of a resource (``is_root``) or of any value."""
    return _of_node(schema, embedded=is_root or schema.is_embedded_resource)


def _of_node(schema: Schema | None, *, embedded: bool, preserve: bool = False) -> Pruning:
    if schema is None:
        return _keep_everything if preserve else _prune_all
    keeps_unknown = preserve or schema.preserves_unknown
    prune_map = _map_pruning(schema, embedded, keeps_unknown)
    items = _items_of(schema, keeps_unknown)

    def prune(value: Any, path: str, remove: bool) -> list[str]:
        if type(value) is dict:
            return prune_map(value, path, remove)
        found: list[str] = []
        if type(value) is list:
            for index, item in enumerate(value):
                if type(item) is dict or type(item) is list:
                    found += items()(item, f"{path}[{index}]", remove)
        return found

    return prune


def _map_pruning(schema: Schema, embedded: bool, keeps_unknown: bool) -> Pruning:
    fields, others = _fields_of(schema), _others_of(schema)
    skipped = _META_FIELDS if embedded else frozenset[str]()

    def prune_map(value: dict[str, Any], path: str, remove: bool) -> list[str]:
        found: list[str] = []
        unknown: list[str] = []
        for name, member in value.items():
            if name in skipped:
                continue
            inner = fields.get(name, others)
            if inner is None:
                if not keeps_unknown:
                    unknown.append(name)
            elif type(member) is dict or type(member) is list:
                found += inner()(member, f"{path}.{name}" if path else name, remove)
        for name in unknown:
            found.append(f"{path}.{name}" if path else name)
            if remove:
                del value[name]
        return found

    return prune_map


def _fields_of(schema: Schema) -> dict[str, Callable[[], Pruning]]:
    return {name: _once(partial(_of_child, child)) for name, child in schema.properties.items()}


def _of_child(child: Schema) -> Pruning:
    return _of_node(child, embedded=child.is_embedded_resource)


def _others_of(schema: Schema) -> Callable[[], Pruning] | None:
    declared = schema.doc.get("additionalProperties")
    if declared is None or declared is False:
        return None
    child = schema.additional if isinstance(declared, dict) else None
    return _once(lambda: _of_node(child, embedded=child is not None and child.is_embedded_resource))


def _items_of(schema: Schema, keeps_unknown: bool) -> Callable[[], Pruning]:
    child = schema.items
    embedded = child is not None and child.is_embedded_resource
    return _once(lambda: _of_node(child, embedded=embedded, preserve=keeps_unknown))


def _once(make: Callable[[], Pruning]) -> Callable[[], Pruning]:
    """Compile on first use: many branches of a large schema are never visited."""
    made: list[Pruning] = []

    def get() -> Pruning:
        if not made:
            made.append(make())
        return made[0]

    return get


def _keep_everything(_value: Any, _path: str, _remove: bool) -> list[str]:
    return []


def _prune_all(value: Any, path: str, remove: bool) -> list[str]:
    found: list[str] = []
    pending = [(value, path)]
    while pending:
        one, at = pending.pop()
        if type(one) is dict:
            found += [f"{at}.{name}" if at else name for name in one]
            if remove:
                one.clear()
        elif type(one) is list:
            pending += [(item, f"{at}[{index}]") for index, item in enumerate(one)]
    return found
