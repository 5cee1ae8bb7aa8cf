"""The parts in which two copies of an object differ, as JSON values.

Most copies differ in one part and agree in the others, of which metadata with its managed fields is the largest. Equal
texts mean equal values; so only what is not the same text is turned into JSON values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import orjson
from msgspec.structs import replace

from attractor.objects.resource.codec import encode
from attractor.objects.resource.metadata import ObjectMeta

if TYPE_CHECKING:
    from attractor.objects.json_types import JsonObject
    from attractor.objects.resource.struct import Struct

_NONE = ObjectMeta()
_parts_of = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


def differing(one: Struct, other: Struct) -> tuple[JsonObject, JsonObject]:
    """Both as JSON values, without the fields that are alike in both; some that are alike may be left."""
    if _have_same_metadata(one, other):
        one, other = replace(one, metadata=_NONE), replace(other, metadata=_NONE)
    mine, theirs = _parts_of(encode(one)), _parts_of(encode(other))
    alike = {name for name, part in mine.items() if theirs.get(name) == part}
    return _values(mine, alike), _values(theirs, alike)


def _have_same_metadata(one: Struct, other: Struct) -> bool:
    """Metadata holds nothing in which equal values would have different texts, so that comparing it is enough."""
    mine, theirs = getattr(one, "metadata", None), getattr(other, "metadata", None)
    return isinstance(mine, ObjectMeta) and mine == theirs


def _values(parts: dict[str, msgspec.Raw], without: set[str]) -> JsonObject:
    return {name: orjson.loads(memoryview(part)) for name, part in parts.items() if name not in without}
