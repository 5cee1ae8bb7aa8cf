"""Filling in defaults, and dropping nulls where null is not a value, compiled to one closure per schema node.

First nulls of fields that are neither nullable nor defaulted are removed; then missing fields, and nulls of fields
that are not nullable, get their default. Defaults inside a defaulted object are filled too.

>>> from attractor.schema.node import Schema
>>> schema = Schema({"properties": {"a": {"type": "string", "default": "x"}, "b": {"type": "string"}}})
>>> widget = {"a": None, "b": None}
>>> compile_defaulting(schema)(widget); widget
{'a': 'x'}
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from attractor.schema.node import Schema

Defaulting = Callable[[Any], None]


def compile_defaulting(schema: Schema) -> Defaulting:
    """Both passes, in Kubernetes' order."""
    drop_nulls, fill = _drop_nulls_of(schema), _fill_of(schema)

    def default(value: Any) -> None:
        drop_nulls(value)
        if fill is not None:
            fill(value)

    return default


def compile_filling(schema: Schema) -> Defaulting:
    """The second pass alone: nulls that have no default stay."""
    return _fill_of(schema) or _nothing


def copied(value: Any) -> Any:
    """A deep copy of a JSON value."""
    if type(value) is dict:
        return {name: copied(member) for name, member in value.items()}
    if type(value) is list:
        return [copied(item) for item in value]
    return value


def _drop_nulls_of(schema: Schema | None) -> Defaulting:
    if schema is None:
        return _nothing
    children = {name: (_drops_null(child), _drop_nulls_of(child)) for name, child in schema.properties.items()}
    others = (_drops_null(schema.additional), _drop_nulls_of(schema.additional))
    item = _drop_nulls_of(schema.items)

    def drop_nulls(value: Any) -> None:
        if type(value) is dict:
            nulls = []
            for name, member in value.items():
                drops, inner = children.get(name, others)
                if member is None:
                    if drops:
                        nulls.append(name)
                elif isinstance(member, (dict, list)):
                    inner(member)
            for name in nulls:
                del value[name]
        elif type(value) is list:
            for member in value:
                item(member)

    return drop_nulls


def _nothing(_value: Any) -> None:
    return


def _drops_null(schema: Schema | None) -> bool:
    return schema is not None and not schema.is_nullable and schema.doc.get("default") is None


def _has_defaults(schema: Schema | None) -> bool:
    if schema is None:
        return False
    inner = (*schema.properties.values(), schema.additional, schema.items)
    return schema.doc.get("default") is not None or any(_has_defaults(child) for child in inner)


def _fill_of(schema: Schema | None) -> Defaulting | None:
    """The filling pass; None when nothing below has a default, so that whole branches are skipped."""
    if schema is None or not _has_defaults(schema):
        return None
    defaults = [
        (name, child.doc["default"], child.is_nullable)
        for name, child in schema.properties.items()
        if child.doc.get("default") is not None
    ]
    inner = {name: fill for name, child in schema.properties.items() if (fill := _fill_of(child)) is not None}
    item_fill, item_default = _fill_of(schema.items), _default_for_null(schema.items)

    fill_members = _fill_members_of(schema)

    def fill_map(value: dict[str, Any]) -> None:
        for name, default, nullable in defaults:
            if name not in value or (value[name] is None and not nullable):
                value[name] = copied(default)
        for name, fill in inner.items():
            if name in value:
                fill(value[name])
        if fill_members is not None:
            fill_members(value)

    def fill_value(value: Any) -> None:
        if type(value) is dict:
            fill_map(value)
        elif type(value) is list:
            for index, item in enumerate(value):
                if item is None and item_default is not None:
                    value[index] = copied(item_default)
                if item_fill is not None:
                    item_fill(value[index])

    return fill_value


def _fill_members_of(schema: Schema) -> Defaulting | None:
    """Filling of members that are not declared by name; None when none of them has a default."""
    fill, default = _fill_of(schema.additional), _default_for_null(schema.additional)
    declared = frozenset(schema.properties)
    if fill is None and default is None:
        return None

    def fill_members(value: dict[str, Any]) -> None:
        for name, member in value.items():
            if name in declared:
                continue
            if member is None and default is not None:
                value[name] = copied(default)
            if fill is not None:
                fill(value[name])

    return fill_members


def _default_for_null(schema: Schema | None) -> Any:
    return None if schema is None or schema.is_nullable else schema.doc.get("default")
