"""Which old value belongs to which new value on an update, so that unchanged errors can be forgiven (ratcheting).

Fields correlate by name, items of map lists by key. Items of other lists do not correlate: such a list is only the
same as a whole.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import orjson

from attractor.objects.json_equality import same_json

if TYPE_CHECKING:
    from attractor.schema.node import Schema


def identity(value: Any) -> bytes:
    """A text that equal JSON values share."""
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except TypeError:  # nested too deeply for the encoder
        return _flattened(value)


def _flattened(value: Any) -> bytes:
    """The identity of a value without recursion: its leaves in order, with the sizes and names of what is around."""
    words: list[str] = []
    pending: list[tuple[str, Any]] = [("", value)]
    while pending:
        name, one = pending.pop()
        words.append(repr(name))
        if type(one) is dict:
            words.append(f"{{{len(one)}")
            pending += [(key, one[key]) for key in sorted(one, reverse=True)]
        elif type(one) is list:
            words.append(f"[{len(one)}")
            pending += [("", item) for item in reversed(one)]
        else:
            words.append(repr(one))
    return " ".join(words).encode()


def list_map_key(schema: Schema, item: Any) -> bytes | None:
    """The identity of an item of a map list: its key fields, with defaults for those it leaves out."""
    if type(item) is not dict or schema.items is None:
        return None
    key: dict[str, Any] = {}
    for name in schema.list_map_keys:
        field = schema.items.properties.get(name)
        default = field.doc.get("default") if field is not None else None
        if (value := item.get(name, default)) is None:
            return None
        key[name] = value
    return identity(key)


class Correlation:
    """A new value beside the old value that it replaces."""

    __slots__ = ("__dict__", "new", "old", "schema")

    def __init__(self, new: Any, old: Any, schema: Schema) -> None:
        self.new = new
        self.old = old
        self.schema = schema

    @cached_property
    def is_unchanged(self) -> bool:
        """Whether the new value equals the old one; the order of map lists does not count."""
        return _unchanged(self.new, self.old, self.schema)

    def key(self, name: str) -> Correlation | None:
        """The correlation of a field; None when there is no old one."""
        if type(self.new) is not dict or type(self.old) is not dict or name not in self.new or name not in self.old:
            return None
        child = self.schema.child(name)
        return Correlation(self.new[name], self.old[name], child) if child is not None else None

    def index(self, position: int) -> Correlation | None:
        """The correlation of an item; None when items do not correlate here, or there is no old one."""
        items = self.schema.items
        if type(self.new) is not list or type(self.old) is not list or items is None:
            return None
        if self.schema.list_type != "map":
            return None
        old = self.old_items_by_key.get(list_map_key(self.schema, self.new[position]))
        return Correlation(self.new[position], old, items) if old is not None else None

    @cached_property
    def old_items_by_key(self) -> dict[bytes | None, Any]:
        """Old items of a map list; of several with one key the first counts."""
        found: dict[bytes | None, Any] = {}
        for item in self.old if type(self.old) is list else ():
            found.setdefault(list_map_key(self.schema, item), item)
        found.pop(None, None)
        return found


def _unchanged(new: Any, old: Any, schema: Schema | None) -> bool:
    if schema is None:
        return same_json(new, old)
    if type(new) is dict and type(old) is dict:
        return len(new) == len(old) and all(
            name in old and _unchanged(member, old[name], schema.child(name)) for name, member in new.items()
        )
    if type(new) is list and type(old) is list:
        if len(new) != len(old):
            return False
        if schema.list_type == "map":
            by_key = Correlation(new, old, schema).old_items_by_key
            return all(
                (key := list_map_key(schema, item)) in by_key and _unchanged(item, by_key[key], schema.items)
                for item in new
            )
        return all(_unchanged(a, b, schema.items) for a, b in zip(new, old, strict=True))
    return same_json(new, old)
