"""From the wire to what a caller gets, for each way of naming a kind; see ``kinds``.

A list is read in two passes: the first finds where each item is, the second decodes items one by one, so that an item
with unknown fields costs only its own slow decoding.
"""

from __future__ import annotations

import gc
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar, final

import msgspec
import orjson

from attractor.client.encoding.heads import Reference, decode_head, decode_list, decode_metadata, references
from attractor.client.errors import GarbledAnswer
from attractor.client.kinds import EncodedObject, ObjectList, PartialObjectMetadata
from attractor.objects.gvk import GroupVersionKind, Key
from attractor.objects.resource import DecodeError, ObjectMeta, Resource
from attractor.objects.resource.codec import HiddenNameUsed, decode, short_way

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from attractor.objects.json_types import JsonObject

T = TypeVar("T")
R = TypeVar("R", bound=Resource)

_PARTIAL = "as={};g=meta.k8s.io;v=v1"
PARTIAL_ACCEPT = f"application/json;{_PARTIAL.format('PartialObjectMetadata')},application/json"
PARTIAL_LIST_ACCEPT = f"application/json;{_PARTIAL.format('PartialObjectMetadataList')},application/json"


def encoded(data: bytes | msgspec.Raw) -> EncodedObject:
    """An object's JSON with its names and version; raises ``GarbledAnswer`` when it is no object."""
    try:
        meta = decode_head(data).metadata
    except (msgspec.DecodeError, RecursionError) as error:
        raise GarbledAnswer(f"the server sent no Kubernetes object: {error}: {_excerpt(bytes(data))}") from error
    return EncodedObject(
        Key(meta.namespace, meta.name), meta.uid, meta.resource_version, bytes(data), _owners(meta.owner_references)
    )


def _owners(text: msgspec.Raw) -> tuple[Reference, ...] | None:
    try:
        return references(bytes(text))
    except msgspec.DecodeError:
        return None  # whoever wants to know the owners says so


MANY = 200


@contextmanager
def collecting_later(count: int) -> Iterator[None]:
    """Hold off the cycle collector while many objects are made at once, none of which is garbage.

    It would look at all of them again and again as they grow in number: measured, 5,000 Pods take 0.15 s to decode
    instead of 0.8 s. Freezing and unfreezing then files them with the old objects, without a look at each.
    """
    if count < MANY or not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        if not gc.get_freeze_count():
            gc.freeze()
            gc.unfreeze()
        gc.enable()


@final
class Page:
    """A list as it came, or a part of one: how it goes on is known, its items are not decoded yet."""

    def __init__(self, data: bytes) -> None:
        """Find where each item is; raises ``GarbledAnswer``."""
        try:
            listed = decode_list(data)
        except (msgspec.DecodeError, RecursionError) as error:
            raise GarbledAnswer(f"the server's answer is no list: {error}: {_excerpt(data)}") from error
        self.items: list[msgspec.Raw] = listed.items or []
        self.resource_version: str = listed.metadata.resource_version
        self.continue_token: str = listed.metadata.continue_


class Codec(Generic[T]):
    """Decoder of objects of one kind. ``accept`` and ``list_accept`` say what to ask the server for."""

    accept: ClassVar[str] = "application/json"
    list_accept: ClassVar[str] = "application/json"

    def __init__(self, read: Callable[[bytes | msgspec.Raw], T]) -> None:
        self._read = read
        self.reads_encoded = read is encoded
        """Whether objects stay text, as ``EncodedObject``."""

    def decode(self, data: bytes | msgspec.Raw) -> T:
        """An object of the caller's own; raises ``GarbledAnswer``."""
        try:
            return self._read(data)
        except (DecodeError, msgspec.DecodeError, orjson.JSONDecodeError, RecursionError) as error:
            raise GarbledAnswer(f"the server's answer does not fit: {error}: {_excerpt(bytes(data))}") from error

    def decode_list(self, page: Page) -> ObjectList[T]:
        """The objects of a page, each the caller's own; raises ``GarbledAnswer``."""
        with collecting_later(len(page.items)):
            return ObjectList(map(self.decode, page.items), page.resource_version, page.continue_token)


class _PartialCodec(Codec[T]):
    accept: ClassVar[str] = PARTIAL_ACCEPT
    list_accept: ClassVar[str] = PARTIAL_LIST_ACCEPT


@cache
def typed_codec(cls: type[R]) -> Codec[R]:
    """Objects of a class; a list's items need not repeat their kind."""

    kind, api_version, read_shortly = cls.gvk.kind, cls.gvk.api_version, short_way(cls)

    def read(data: bytes | msgspec.Raw) -> R:
        try:
            made: R = read_shortly(data)
        except (msgspec.ValidationError, HiddenNameUsed):
            made = decode(cls, data)
        if made.kind != kind or made.api_version != api_version:
            found = f"{made.api_version}, Kind={made.kind}"
            raise DecodeError(f"{cls.__name__} {made.key}", f"expected {cls.gvk}, got {found}", "")
        return made

    return Codec(read)


@cache
def untyped_codec(gvk: GroupVersionKind) -> Codec[dict[str, Any]]:
    """Objects of a kind without a class, as dicts."""

    def read(data: bytes | msgspec.Raw) -> JsonObject:
        made = orjson.loads(memoryview(data))
        if not isinstance(made, dict) or not isinstance(made.get("metadata"), dict):
            raise DecodeError(str(gvk), "expected an object with metadata", "")
        if "kind" not in made:
            made = {"apiVersion": gvk.api_version, "kind": gvk.kind, **made}
        return made

    return Codec(read)


def _read_metadata(data: bytes | msgspec.Raw) -> PartialObjectMetadata:
    return PartialObjectMetadata(metadata=decode(ObjectMeta, decode_metadata(data).metadata))


METADATA_CODEC: Codec[PartialObjectMetadata] = _PartialCodec(_read_metadata)
"""Metadata of objects of any kind, from whole objects as well as from partial ones."""

ENCODED_CODEC: Codec[EncodedObject] = Codec(encoded)
ENCODED_METADATA_CODEC: Codec[EncodedObject] = _PartialCodec(encoded)


def _excerpt(data: bytes) -> str:
    text = data[:120].decode("utf-8", "replace")
    return f"{text!r}…" if len(data) > 120 else repr(text)
