"""Checks of a schema's defaults: each must be valid where it stands, and have no unknown fields."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attractor.cel.rules import rule_tree
from attractor.objects.field import FieldError
from attractor.schema.defaulting import copied
from attractor.schema.embedded import check_embedded, check_metadata_shape
from attractor.schema.error_messages import NO_PATH, explain
from attractor.schema.pruning import compile_pruning

if TYPE_CHECKING:
    from attractor.schema.node import Schema


def check_defaults(schema: Schema, path: str) -> list[FieldError]:
    """What is wrong with the defaults of a node and below; defaults inside additionalProperties are not looked at."""
    found: list[FieldError] = []
    if schema.doc.get("default") is not None:
        found += _check_default(schema, f"{path}.default")
    if schema.items is not None:
        found += check_defaults(schema.items, f"{path}.items")
    for name, child in schema.properties.items():
        found += check_defaults(child, f"{path}.properties[{name}]")
    return found


def _check_default(schema: Schema, path: str) -> list[FieldError]:
    default = schema.doc["default"]
    found: list[FieldError] = []
    if compile_pruning(schema, is_root=schema.is_embedded_resource)(copied(default), "", True):
        found.append(FieldError.invalid(path, default, "must not have unknown fields"))
    wrong = check_embedded(schema, default, check_metadata_shape, path) or explain(schema, default, base=path)
    if not wrong and (rules := rule_tree(schema, is_root=schema.is_embedded_resource)) is not None:
        wrong = [
            error._replace(path=path if error.path == NO_PATH else f"{path}.{error.path}")
            for error in rules.validate(copied(default), copied(default))
        ]
    return found + wrong
