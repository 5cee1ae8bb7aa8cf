"""Uniqueness in lists of type ``set`` (whole items) and ``map`` (key fields), in Kubernetes' words.

>>> from attractor.schema.node import Schema
>>> tags = Schema({"properties": {"tags": {"type": "array", "x-kubernetes-list-type": "set", "items": {}}}})
>>> [str(error) for error in check_list_types(tags, {"tags": ["a", "a", "a"]})]
['tags[1]: Duplicate value: "a"']
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attractor.objects.field import FieldError
from attractor.schema.correlation import identity

if TYPE_CHECKING:
    from attractor.schema.node import Schema


def has_list_types(schema: Schema | None) -> bool:
    """Whether any list below is a set or a map."""
    if schema is None:
        return False
    inner = (*schema.properties.values(), schema.additional, schema.items)
    return schema.list_type != "atomic" or any(has_list_types(child) for child in inner)


def check_list_types(schema: Schema, value: Any, path: str = "") -> list[FieldError]:
    """One error for each repeated item: the first repetition is told, further ones are not."""
    found: list[FieldError] = []
    if type(value) is dict:
        for name, member in value.items():
            if type(member) not in {dict, list}:
                continue
            if (child := schema.properties.get(name)) is not None:
                found += check_list_types(child, member, f"{path}.{name}" if path else name)
            elif schema.additional is not None:
                found += check_list_types(schema.additional, member, f"{path}[{name}]")
    elif type(value) is list:
        if schema.list_type == "set":
            found += [FieldError.duplicate(f"{path}[{at}]", value[at]) for at in _first_repetitions(value)]
        elif schema.list_type == "map":
            found += _check_keys(schema, value, path)
        if schema.items is not None:
            for index, item in enumerate(value):
                found += check_list_types(schema.items, item, f"{path}[{index}]")
    return found


def _check_keys(schema: Schema, value: list[Any], path: str) -> list[FieldError]:
    for index, item in enumerate(value):
        if item is not None and type(item) is not dict:
            return [FieldError.invalid(f"{path}[{index}]", item, "must be an object for an array of list-type map")]
    keys = [{name: item[name] for name in schema.list_map_keys if name in item} if item else {} for item in value]
    return [FieldError.duplicate(f"{path}[{at}]", keys[at]) for at in _first_repetitions(keys)]


def _first_repetitions(values: list[Any]) -> list[int]:
    seen: dict[bytes, int] = {}
    found = []
    for index, value in enumerate(values):
        known = identity(value)
        seen[known] = seen.get(known, 0) + 1
        if seen[known] == 2:
            found.append(index)
    return found
