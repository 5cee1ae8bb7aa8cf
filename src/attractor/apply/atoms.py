"""How the value at a schema node merges: as a scalar, as a list, or as a map.

Kubernetes reads this from the published schema, and so do we. A node that allows any value has all three faces at
once and the value decides ("deduced"); a node that says one type has one face.

- Lists: ``x-kubernetes-list-type`` map and set merge by item; where it is missing, patch strategy ``merge`` means the
  same with its merge key. All others are atomic.
- Maps: field by field unless ``x-kubernetes-map-type: atomic``. Declared fields are *named*: owning something below one
  does not mean owning the field itself.
- Unknown data under ``x-kubernetes-preserve-unknown-fields`` is deduced: maps merge, lists are atomic. An object or an
  array about whose contents nothing is said is atomic as a whole.
"""

from __future__ import annotations

from typing import Any, Final

from attractor.schema.node import Schema
from attractor.schema.untyped import has_untyped

MAP: Final = 1
SCALAR: Final = 2
LIST: Final = 3


class Atom:
    """One schema node as merging sees it; children are made when first asked for."""

    scalar: str = ""
    """``string``, ``numeric``, ``boolean`` or ``untyped``; empty when the value cannot be a scalar."""
    is_list: bool = False
    is_associative: bool = False
    """Whether the list merges item by item, by ``keys`` or (without keys) by value."""
    keys: tuple[str, ...] = ()
    is_map: bool = False
    is_atomic_map: bool = False
    is_deduced: bool = False
    """Whether nothing is known about the map's fields."""
    _items: Atom | None = None
    _fields: dict[str, Atom] | None = None
    _element: Atom | None = None
    _has_looked_for_element: bool = False
    _flatness: bool | None = None
    _untypedness: bool | None = None

    @property
    def items(self) -> Atom:
        """What list items are."""
        if self._items is None:
            self._items = self._find_items()
        return self._items

    @property
    def fields(self) -> dict[str, Atom]:
        """The named fields of the map."""
        if self._fields is None:
            self._fields = self._find_fields()
        return self._fields

    @property
    def element(self) -> Atom | None:
        """What other fields of the map are; None when there may be none."""
        if not self._has_looked_for_element:
            self._element = self._find_element()
            self._has_looked_for_element = True
        return self._element

    @property
    def key_defaults(self) -> dict[str, Any]:
        """For a list's items: the defaults of fields that may be keys."""
        return {}

    @property
    def is_flat(self) -> bool:
        """Whether this is a scalar, or a map of scalars such as labels: nothing below it can merge in its own way."""
        if self._flatness is None:
            self._flatness = self._find_flatness()
        return self._flatness

    @property
    def holds_untyped(self) -> bool:
        """Whether a number may stand, here or below, where a truth value stood; only schemas rule that out."""
        if self._untypedness is None:
            self._untypedness = self._find_untypedness()
        return self._untypedness

    def face(self, value: Any) -> int:
        """Which of the faces a present value shows; null shows the first that there is."""
        if isinstance(value, dict):
            if self.is_map:
                return MAP
        elif isinstance(value, list):
            if self.is_list:
                return LIST
        elif value is not None and self.scalar:
            return SCALAR
        return MAP if self.is_map else SCALAR if self.scalar else LIST

    def _find_items(self) -> Atom:
        return UNTYPED_ATOMIC

    def _find_fields(self) -> dict[str, Atom]:
        return {}

    def _find_element(self) -> Atom | None:
        return None

    def _find_flatness(self) -> bool:
        if not self.is_map:
            return not self.is_list
        return not self.is_atomic_map and not self.fields and self.element is not None and self.element.is_flat

    def _find_untypedness(self) -> bool:
        return True


class _Untyped(Atom):
    """Any value: a scalar, an atomic list, or a map of the same."""

    def __init__(self, *, atomic: bool) -> None:
        self.scalar = "untyped"
        self.is_list = self.is_map = True
        self.is_atomic_map = atomic
        self.is_deduced = not atomic

    def _find_element(self) -> Atom:
        return self

    def _find_flatness(self) -> bool:
        return False


UNTYPED_ATOMIC: Final = _Untyped(atomic=True)
DEDUCED: Final = _Untyped(atomic=False)


class _Scalar(Atom):
    def __init__(self, kind: str) -> None:
        self.scalar = kind


_SCALARS: Final = {kind: _Scalar(kind) for kind in ("string", "numeric", "boolean", "untyped")}


class _List(Atom):
    def __init__(self, schema: Schema) -> None:
        self.is_list = True
        self._schema = schema
        self._key_defaults: dict[str, Any] | None = None
        said = schema.doc.get("x-kubernetes-list-type")
        if said == "map":
            self.is_associative, self.keys = True, schema.list_map_keys
        elif said == "set":
            self.is_associative = True
        elif said is None and "merge" in schema.patch_strategies:
            self.is_associative = True
            self.keys = (schema.patch_merge_key,) if schema.patch_merge_key else ()

    @property
    def key_defaults(self) -> dict[str, Any]:
        """Defaults of the items' key fields."""
        if self._key_defaults is None:
            items = self._schema.items
            properties = items.properties if items is not None else {}
            said = {key: properties[key].doc.get("default") for key in self.keys if key in properties}
            self._key_defaults = {name: value for name, value in said.items() if value is not None}
        return self._key_defaults

    def _find_items(self) -> Atom:
        items = self._schema.items
        return atom_of(items) if items is not None else UNTYPED_ATOMIC


class _Map(Atom):
    def __init__(self, schema: Schema, *, is_root: bool = False) -> None:
        self.is_map = True
        self._schema = schema
        self._is_root = is_root
        self.is_atomic_map = schema.map_type == "atomic"
        self.is_deduced = schema.preserves_unknown and not schema.doc.get("properties")

    def _find_untypedness(self) -> bool:
        return has_untyped(self._schema)

    def _find_fields(self) -> dict[str, Atom]:
        fields = {name: atom_of(node) for name, node in self._schema.properties.items()}
        if self._is_root:
            fields.setdefault("apiVersion", _SCALARS["string"])
            fields.setdefault("kind", _SCALARS["string"])
        if self._is_root or self._schema.is_embedded_resource:
            metadata = self._schema.properties.get("metadata")
            if metadata is None or not metadata.doc.get("properties"):
                fields["metadata"] = atom_of(OBJECT_META)
        return fields

    def _find_element(self) -> Atom | None:
        if self._schema.preserves_unknown:
            return DEDUCED
        additional = self._schema.additional
        return atom_of(additional) if additional is not None else None


def root_atom_of(schema: Schema | None) -> Atom:
    """The atom of a whole kind, whose metadata is an ObjectMeta even where the schema only says ``object``."""
    return DEDUCED if schema is None else _Map(schema, is_root=True)


def atom_of(schema: Schema) -> Atom:
    """A new atom of a schema node; keep it, for it keeps its children."""
    kind, doc = schema.type, schema.doc
    if schema.is_int_or_string:
        return _SCALARS["untyped"]
    if kind == "array":
        return _List(schema)
    if kind == "object" or (not kind and (doc.get("properties") or doc.get("additionalProperties"))):
        if not doc.get("properties") and not doc.get("additionalProperties") and not schema.is_embedded_resource:
            if not schema.preserves_unknown:
                return UNTYPED_ATOMIC
            if schema.map_type != "atomic":
                return DEDUCED
        return _Map(schema)
    if kind in {"integer", "number"}:
        return _SCALARS["numeric"]
    if kind == "boolean":
        return _SCALARS["boolean"]
    if kind == "string":
        return _SCALARS["string" if doc.get("format") in {None, "", "byte"} else "untyped"]
    if doc.get("oneOf") or doc.get("anyOf"):
        return _SCALARS["untyped"]
    return DEDUCED if schema.preserves_unknown else UNTYPED_ATOMIC


_STRING = {"type": "string"}
_STRINGS = {"type": "object", "additionalProperties": _STRING}
_TIME = {"type": "string", "format": "date-time"}
_INTEGER = {"type": "integer"}
_BOOLEAN = {"type": "boolean"}
OBJECT_META: Final = Schema(
    {
        "type": "object",
        "properties": {
            **dict.fromkeys(("name", "generateName", "namespace", "uid", "resourceVersion", "selfLink"), _STRING),
            **dict.fromkeys(("creationTimestamp", "deletionTimestamp"), _TIME),
            **dict.fromkeys(("generation", "deletionGracePeriodSeconds"), _INTEGER),
            **dict.fromkeys(("labels", "annotations"), _STRINGS),
            "finalizers": {"type": "array", "items": _STRING, "x-kubernetes-list-type": "set"},
            "managedFields": {"type": "array", "items": {"type": "object"}, "x-kubernetes-list-type": "atomic"},
            "ownerReferences": {
                "type": "array",
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["uid"],
                "items": {
                    "type": "object",
                    "x-kubernetes-map-type": "atomic",
                    "properties": {
                        **dict.fromkeys(("apiVersion", "kind", "name", "uid"), _STRING),
                        **dict.fromkeys(("controller", "blockOwnerDeletion"), _BOOLEAN),
                    },
                },
            },
        },
    }
)
"""The metadata of an object whose own schema does not spell it out, as a custom resource's does not."""
