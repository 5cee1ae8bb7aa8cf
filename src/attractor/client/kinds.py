"""Ways to name a kind, and what a caller gets back for each.

await client.get(ConfigMap, key)                                  a ConfigMap
await client.get(GroupVersionKind("example.org", "v1", "W"), key) a dict, whatever the kind
await client.get(GroupVersionResource("", "v1", "pods"), key)     a dict
await client.get(MetadataOnly(Pod), key)                          a PartialObjectMetadata: cheap for large kinds
await client.get(Encoded(Pod), key)                               the JSON as it came, for those who keep many
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeAlias, TypeVar

import msgspec

from attractor.objects.gvk import GroupVersionKind, GroupVersionResource
from attractor.objects.resource import Resource
from attractor.objects.resource.struct import Struct

if TYPE_CHECKING:
    from collections.abc import Iterable

    from attractor.client.encoding.heads import Reference
    from attractor.objects.gvk import Key

R = TypeVar("R", bound=Resource)
T = TypeVar("T")

UntypedKind: TypeAlias = GroupVersionKind | GroupVersionResource
"""A kind without a class: its objects are dicts."""


class PartialObjectMetadata(Resource, group="meta.k8s.io", version="v1"):
    """An object without its spec and status."""


@dataclass(frozen=True, slots=True)
class MetadataOnly:
    """A kind of which only metadata is read: ``client.list(MetadataOnly(Pod))`` returns ``PartialObjectMetadata``
    objects.
    """

    of: type[Resource] | UntypedKind
    """The kind itself."""

    def __str__(self) -> str:
        return f"metadata of {name_of(self.of)}"


@dataclass(frozen=True, slots=True)
class Encoded:
    """Objects of a kind as JSON text, with the little of them that a cache looks at."""

    of: type[Resource] | UntypedKind | MetadataOnly

    def __str__(self) -> str:
        return f"encoded {name_of(self.of)}"


AnyKind: TypeAlias = type[Resource] | UntypedKind | MetadataOnly | Encoded


class EncodedObject(msgspec.Struct, frozen=True, gc=False, eq=False):
    """An object as JSON text. Two are equal when their texts are."""

    key: Key
    uid: str
    resource_version: str
    json: bytes
    owners: tuple[Reference, ...] | None = None
    """Whose it is, where that was read together with its names; the text says it in any case."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, EncodedObject) and self._identity == other._identity

    def __ne__(self, other: object) -> bool:  # a struct has one of its own, which would ask who it is
        return not self == other

    def __hash__(self) -> int:
        return hash(self._identity)

    @property
    def _identity(self) -> tuple[Key, str, str, bytes]:
        return self.key, self.uid, self.resource_version, self.json


class ScaleSpec(Struct, omitempty=True):
    """Desired number of replicas."""

    replicas: int = 0


class ScaleStatus(Struct, omitempty=True):
    """Observed number of replicas, and the selector of those that count."""

    replicas: int = 0
    selector: str = ""


class Scale(Resource, group="autoscaling", version="v1"):
    """The scale subresource, whatever the kind behind it."""

    spec: ScaleSpec
    status: ScaleStatus


class ObjectList(list[T], Generic[T]):
    """Objects of one kind at one version of the collection; a list of the caller's own."""

    def __init__(self, items: Iterable[T], resource_version: str, continue_token: str = "") -> None:
        super().__init__(items)
        self.resource_version = resource_version
        """Where a watch that is to miss nothing starts."""
        self.continue_token = continue_token
        """Where the next page starts; empty when this is all."""


def name_of(kind: AnyKind) -> str:
    """A kind, for messages."""
    if isinstance(kind, MetadataOnly | Encoded | GroupVersionKind):
        return str(kind)
    if isinstance(kind, GroupVersionResource):
        return str(kind.group_resource)
    return str(kind.gvk)
