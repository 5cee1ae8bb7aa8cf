"""Which kinds have fields that may hold any value, so that a number can take a truth value's place in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from attractor.schema.node import Schema

_OWN = "managedFields"
"""What the server itself writes; its empty objects say nothing about others."""


def has_untyped(schema: Schema | None) -> bool:
    """Whether somewhere in a value of this schema a part may have any type; true where there is no schema."""
    if schema is None:
        return True
    seen: dict[int, object] = {}
    left = [schema]
    while left:
        node = left.pop()
        doc = node.doc
        if _is_untyped(node):
            return True
        below: object = doc.get("properties") or doc.get("items") or doc.get("additionalProperties") or doc
        if id(below) in seen:
            continue
        seen[id(below)] = below
        left += [child for name, child in node.properties.items() if name != _OWN]
        left += [child for child in (node.items, node.additional) if child is not None]
    return False


def _is_untyped(node: Schema) -> bool:
    doc = node.doc
    if node.is_int_or_string:
        return False
    if node.preserves_unknown or node.is_embedded_resource:
        return True
    if node.type == "array":
        return node.items is None
    if node.type == "object":
        return not (doc.get("properties") or doc.get("additionalProperties"))
    return not (node.type or doc.get("properties") or doc.get("oneOf") or doc.get("anyOf"))
