"""The little of an object, a list or an event that is read before anything else, straight from JSON.

Each function raises ``msgspec.DecodeError`` (or ``RecursionError``) when the text is something else.
"""

from __future__ import annotations

from functools import lru_cache

import msgspec

NOTHING = msgspec.Raw()


class ListMeta(msgspec.Struct, rename="camel"):
    """Of which version a list is, and where it goes on."""

    resource_version: str = ""
    continue_: str = msgspec.field(default="", name="continue")


class ListOf(msgspec.Struct):
    """A list whose items are not looked at."""

    metadata: ListMeta
    items: list[msgspec.Raw] | None = None


class HeadMeta(msgspec.Struct, rename="camel"):
    """An object's names, version and owners."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    owner_references: msgspec.Raw = NOTHING


class Reference(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """An ownerReference of an object."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    controller: bool | None = None


class Head(msgspec.Struct):
    """An object of which only names, version and owners are looked at."""

    metadata: HeadMeta


class MetadataOf(msgspec.Struct):
    """An object of which only the metadata is looked at."""

    metadata: msgspec.Raw


class WrittenMeta(msgspec.Struct, rename="camel"):
    """Metadata of the answer to a write."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    deletion_timestamp: str | None = None
    deletion_grace_period_seconds: int | None = None
    finalizers: list[str] | None = None


class Written(msgspec.Struct):
    """Answer to a write, as far as the outcome needs it: an object, or a Status."""

    kind: str = ""
    metadata: WrittenMeta | None = None


class Line(msgspec.Struct):
    """One line of a watch."""

    type: str
    object: msgspec.Raw


class MarkMeta(msgspec.Struct, rename="camel"):
    """Metadata of a bookmark."""

    resource_version: str = ""
    annotations: dict[str, str] | None = None


class Mark(msgspec.Struct):
    """A bookmark."""

    metadata: MarkMeta


decode_list = msgspec.json.Decoder(ListOf).decode
decode_head = msgspec.json.Decoder(Head).decode
decode_metadata = msgspec.json.Decoder(MetadataOf).decode
decode_written = msgspec.json.Decoder(Written).decode
decode_line = msgspec.json.Decoder(Line).decode
decode_mark = msgspec.json.Decoder(Mark).decode
_decode_references = msgspec.json.Decoder(tuple[Reference, ...] | None).decode


@lru_cache(maxsize=1024)
def references(text: bytes) -> tuple[Reference, ...]:
    """The owners that ``ownerReferences`` names, if there is such a text; those of siblings are one and the same."""
    return (_decode_references(text) or ()) if text else ()


def references_of(data: bytes) -> tuple[Reference, ...]:
    """The owners of an object, from all of its JSON."""
    return references(bytes(decode_head(data).metadata.owner_references))
