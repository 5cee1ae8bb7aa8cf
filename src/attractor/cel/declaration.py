"""The type of ``self`` in a rule: a schema as CEL declares it, with the sizes that bound what a rule may cost.

Fields have escaped names (``x-y`` is ``x__dash__y``). Not visible to rules: what the schema does not describe, and
values of unknown type. At the root of a resource ``apiVersion``, ``kind``, ``metadata.name`` and
``metadata.generateName`` are always visible.
"""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from attractor.cel.parser import RESERVED
from attractor.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    STRING,
    TIMESTAMP,
    Type,
    list_of,
    map_of,
)
from attractor.cel.values import CelError, Duration, MapList, SetList, read_duration, read_timestamp
from attractor.schema.formats import worded_duration_ns
from attractor.schema.node import Schema

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_REQUEST_BYTES = 3 * 1024 * 1024
_RESERVED = frozenset(["true", "false", "null", "in", *RESERVED])
_ESCAPED = re.compile(r"__|[-./]|[^a-zA-Z0-9\-./_]")
_ESCAPES = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}
_UNESCAPED = re.compile(r"__([^_]+)__")
_UNESCAPES = {"underscores": "__", "dot": ".", "dash": "-", "slash": "/"}


def escape(name: str) -> str | None:
    """A field's name as a CEL identifier; None when it cannot be one."""
    if not name or name[0].isdigit():
        return None
    if name in _RESERVED:
        return f"__{name}__"
    parts = set(_ESCAPED.findall(name))
    if parts - set(_ESCAPES):
        return None
    return _ESCAPED.sub(lambda found: _ESCAPES[found.group()], name)


def unescape(identifier: str) -> str:
    """The field's name that an identifier stands for."""
    if identifier[2:-2] in _RESERVED and identifier == f"__{identifier[2:-2]}__":
        return identifier[2:-2]
    return _UNESCAPED.sub(lambda found: _UNESCAPES.get(found.group(1), found.group()), identifier)


@dataclass(slots=True, eq=False)
class Declaration:
    """A declared type: its CEL type, its parts, the most elements it can have, the fewest octets it takes as JSON."""

    type: Type
    max_elements: int = 0
    min_size: int = 2
    fields: dict[str, tuple[str, Declaration]] = field(default_factory=dict)
    element: Declaration | None = None
    adapt: Callable[[Any], Any] | None = None

    @property
    def key(self) -> Declaration | None:
        """What the keys of a map are."""
        return _STRING_KEY if self.type.name == "map" else None

    def value(self, given: Any) -> Any:
        """A JSON value as rules see it: times as times, numbers as doubles, sets as sets."""
        return given if self.adapt is None or given is None else self.adapt(given)


_STRING_KEY = Declaration(STRING, max_elements=MAX_REQUEST_BYTES - 2)
_FORMATTED: dict[str, tuple[Type, int, int, Callable[[Any], Any]]] = {
    "duration": (DURATION, 32, 3, lambda text: _read(text, _any_duration)),
    "date": (TIMESTAMP, 12, 12, lambda text: _read(text, read_timestamp)),
    "date-time": (TIMESTAMP, 32, 21, lambda text: _read(text, read_timestamp)),
}


def _any_duration(text: str) -> Duration:
    try:
        return read_duration(text)
    except CelError:
        if (ns := worded_duration_ns(text)) is None:
            raise
        return Duration(ns)


def _read(given: Any, read: Callable[[str], Any]) -> Any:
    if not isinstance(given, str):
        return given
    try:
        return read(given)
    except CelError:
        return given


def declare(schema: Schema | None, *, is_root: bool = False, name: str = "selfType") -> Declaration | None:
    """The declaration of a node; None when rules cannot see it."""
    if schema is None:
        return None
    doc = schema.doc
    longest = doc.get("maxLength")
    if doc.get("x-kubernetes-int-or-string"):
        size = max(0, int(longest)) * 4 if longest is not None else MAX_REQUEST_BYTES - 2
        return Declaration(DYN, max_elements=size, min_size=1)
    match schema.type:
        case "array":
            return _declare_list(schema, name)
        case "object":
            if isinstance(doc.get("additionalProperties"), dict):
                return _declare_map(schema, name)
            return _declare_object(schema, is_root, name)
        case "string":
            return _declare_string(schema)
        case "boolean":
            return Declaration(BOOL, min_size=4)
        case "number":
            return Declaration(DOUBLE, min_size=1, adapt=lambda given: float(given) if type(given) is int else given)
        case "integer":
            return Declaration(INT, min_size=1)
    return None


def _declare_string(schema: Schema) -> Declaration:
    said, longest = str(schema.doc.get("format") or ""), schema.doc.get("maxLength")
    if said in _FORMATTED:
        kind, size, least, adapt = _FORMATTED[said]
        return Declaration(kind, max_elements=size, min_size=least, adapt=adapt)
    if said == "byte":
        size = max(0, int(longest)) if longest is not None else MAX_REQUEST_BYTES - 2
        return Declaration(BYTES, max_elements=size, adapt=_decoded)
    if longest is not None:
        size = max(0, int(longest)) * 4
    elif schema.doc.get("enum"):
        size = max((len(item.encode()) for item in schema.doc["enum"] if isinstance(item, str)), default=0)
    else:
        size = MAX_REQUEST_BYTES - 2
    return Declaration(STRING, max_elements=size)


def _decoded(given: Any) -> Any:
    try:
        return base64.b64decode(given, validate=True) if isinstance(given, str) else given
    except (binascii.Error, ValueError):
        return given


def _declare_list(schema: Schema, name: str) -> Declaration | None:
    item = declare(schema.items, is_root=_embedded(schema.items), name=f"{name}.@idx")
    if item is None:
        return None
    most = schema.doc.get("maxItems")
    size = max(0, int(most)) if most is not None else (MAX_REQUEST_BYTES - 2) // (item.min_size + 1)
    return Declaration(list_of(item.type), max_elements=size, element=item, adapt=_list_adapter(schema, item))


def _list_adapter(schema: Schema, item: Declaration) -> Callable[[Any], Any] | None:
    kind = schema.doc.get("x-kubernetes-list-type")
    wrap = {"set": SetList, "map": MapList}.get(str(kind), list)
    if wrap is list and item.adapt is None:
        return None
    keys = schema.list_map_keys

    def adapt(given: Any) -> Any:
        if type(given) is not list:
            return given
        adapted = wrap(given if item.adapt is None else [item.value(member) for member in given])
        if isinstance(adapted, MapList):
            adapted.keys = keys
        return adapted

    return adapt


def _declare_map(schema: Schema, name: str) -> Declaration | None:
    member = declare(schema.additional, is_root=_embedded(schema.additional), name=f"{name}.@elem")
    if member is None:
        return None
    most = schema.doc.get("maxProperties")
    size = max(0, int(most)) if most is not None else (MAX_REQUEST_BYTES - 2) // (member.min_size + 6)

    def adapt(given: Any) -> Any:
        return {key: member.value(value) for key, value in given.items()} if type(given) is dict else given

    adapting = adapt if member.adapt is not None else None
    return Declaration(map_of(STRING, member.type), max_elements=size, element=member, adapt=adapting)


def _declare_object(schema: Schema, is_root: bool, name: str) -> Declaration:
    properties = dict(schema.properties)
    if is_root:
        text = Schema({"type": "string"})
        properties |= {"kind": text, "apiVersion": text}
        properties["metadata"] = Schema(
            {"type": "object", "properties": {"name": {"type": "string"}, "generateName": {"type": "string"}}}
        )
    required = frozenset(schema.doc.get("required") or ())
    found = Declaration(Type(name))
    adapters: dict[str, Declaration] = {}
    for raw, child in properties.items():
        declared = declare(child, is_root=_embedded(child), name=f"{name}.{raw}")
        if declared is None:
            continue
        if (escaped := escape(raw)) is not None:
            found.fields[escaped] = (raw, declared)
        if declared.adapt is not None:
            adapters[raw] = declared
        if raw in required and child.doc.get("default") is None:
            found.min_size += len(raw) + declared.min_size + 4
    if adapters:

        def adapt(given: Any) -> Any:
            if type(given) is not dict:
                return given
            return {key: adapters[key].value(value) if key in adapters else value for key, value in given.items()}

        found.adapt = adapt
    return found


def _embedded(schema: Schema | None) -> bool:
    return schema is not None and schema.is_embedded_resource


def cardinality(min_size: int) -> int:
    """How many values of at least a size fit in one request."""
    return MAX_REQUEST_BYTES // (min_size + 1)
