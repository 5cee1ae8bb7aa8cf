"""One node of a schema, as validation, pruning, defaulting, patching and server-side apply read it.

Nodes are read lazily: a built-in kind's tree is large and mostly unvisited. A node never changes after it was read,
so nodes are shared freely.

>>> widget = Schema({"type": "object", "properties": {"size": {"type": "integer", "minimum": 1}}})
>>> widget.child("size").type, widget.child("size").doc["minimum"], widget.child("colour")
('integer', 1, None)
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from attractor.objects.json_types import JsonObject


class Schema:
    """A schema node over its OpenAPI document; ``resolve`` finds the target of a ``$ref``.

    ``definition`` is the name under which a built-in type's schema is published; other nodes have none.
    """

    def __init__(self, doc: JsonObject, resolve: Callable[[str], Schema] | None = None, definition: str = "") -> None:
        self.doc = doc
        self.resolve = resolve
        self.definition = definition

    def _sub(self, doc: JsonObject) -> Schema:
        """The node of a sub-document; attributes beside a ``$ref`` (or single ``allOf``) win over the target's."""
        ref = doc.get("$ref")
        rest = doc
        if ref is None and len(doc.get("allOf") or ()) == 1 and "$ref" in doc["allOf"][0] and "type" not in doc:
            ref = doc["allOf"][0]["$ref"]
            rest = {name: value for name, value in doc.items() if name != "allOf"}
        if ref is None or self.resolve is None:
            return Schema(doc, self.resolve)
        target = self.resolve(ref)
        rest = {name: value for name, value in rest.items() if name != "$ref"}
        if not rest:
            return target
        return Schema({**target.doc, **rest}, target.resolve, target.definition)

    @cached_property
    def type(self) -> str:
        """``object``, ``array``, ``string``, ``integer``, ``number``, ``boolean``, or empty when not said."""
        kind = self.doc.get("type", "")
        if isinstance(kind, list):  # JSON-schema spelling of nullable
            kind = next((item for item in kind if item != "null"), "")
        return str(kind)

    @cached_property
    def properties(self) -> Mapping[str, Schema]:
        """Declared fields."""
        return {name: self._sub(doc) for name, doc in (self.doc.get("properties") or {}).items()}

    @cached_property
    def additional(self) -> Schema | None:
        """What undeclared fields must look like; None when they are not declared at all."""
        doc = self.doc.get("additionalProperties")
        if doc is True:
            return Schema({})
        return self._sub(doc) if isinstance(doc, dict) else None

    @cached_property
    def items(self) -> Schema | None:
        """What list items must look like."""
        doc = self.doc.get("items")
        return self._sub(doc) if isinstance(doc, dict) else None

    def child(self, name: str) -> Schema | None:
        """The node of a field: declared, or additional; None when the schema does not know it."""
        return self.properties.get(name) or self.additional

    @cached_property
    def list_type(self) -> Literal["atomic", "set", "map"]:
        """How a list merges: as a whole, by value, or by key; atomic when not said."""
        said: Any = self.doc.get("x-kubernetes-list-type")
        return said if said in {"set", "map"} else "atomic"

    @cached_property
    def list_map_keys(self) -> tuple[str, ...]:
        """The fields that identify an item of a map-like list."""
        return tuple(self.doc.get("x-kubernetes-list-map-keys") or ())

    @cached_property
    def map_type(self) -> Literal["granular", "atomic"]:
        """How an object merges: field by field, or as a whole."""
        return "atomic" if self.doc.get("x-kubernetes-map-type") == "atomic" else "granular"

    @cached_property
    def preserves_unknown(self) -> bool:
        """Whether fields that the schema does not know are kept."""
        return bool(self.doc.get("x-kubernetes-preserve-unknown-fields"))

    @cached_property
    def is_int_or_string(self) -> bool:
        """Whether both integers and strings are allowed."""
        return bool(self.doc.get("x-kubernetes-int-or-string")) or self.doc.get("format") == "int-or-string"

    @cached_property
    def is_embedded_resource(self) -> bool:
        """Whether the value is a whole Kubernetes object."""
        return bool(self.doc.get("x-kubernetes-embedded-resource"))

    @cached_property
    def is_nullable(self) -> bool:
        """Whether null is a value of its own here."""
        return bool(self.doc.get("nullable"))

    @cached_property
    def patch_merge_key(self) -> str | None:
        """Strategic merge: the field that identifies an item, if the list merges."""
        return self.doc.get("x-kubernetes-patch-merge-key")

    @cached_property
    def patch_strategies(self) -> frozenset[str]:
        """Strategic merge: any of ``merge``, ``replace``, ``retainKeys``."""
        return frozenset(filter(None, str(self.doc.get("x-kubernetes-patch-strategy") or "").split(",")))

    def __repr__(self) -> str:
        return f"Schema({self.type or 'any'}, fields={sorted(self.doc.get('properties') or ())})"
