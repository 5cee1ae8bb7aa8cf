"""From a kind, however it is named, to its resource and to how its objects are read.

Classes bring their own resource; built-in kinds are known; other kinds are looked up in the server's discovery, once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from attractor.client.encoding.codec import (
    ENCODED_CODEC,
    ENCODED_METADATA_CODEC,
    METADATA_CODEC,
    Codec,
    typed_codec,
    untyped_codec,
)
from attractor.client.errors import GarbledAnswer
from attractor.client.kinds import AnyKind, Encoded, MetadataOnly
from attractor.client.transport import ClientRequest
from attractor.k8s import catalog
from attractor.k8s.resource_info import ResourceInfo, SubresourceInfo
from attractor.objects.errors import NotFound
from attractor.objects.gvk import GroupVersionKind, GroupVersionResource

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from attractor.client.kinds import UntypedKind
    from attractor.client.transport import ClientResponse
    from attractor.objects.json_types import JsonObject
    from attractor.objects.resource import Resource, Scheme


class Mapped(NamedTuple):
    """A kind's resource, and how its objects are read."""

    info: ResourceInfo
    codec: Codec[Any]


class KindMapping:
    """Resources by kind. ``ask`` sends discovery's requests and raises ``ApiError``."""

    def __init__(self, scheme: Scheme, ask: Callable[[ClientRequest], Awaitable[ClientResponse]]) -> None:
        self._scheme = scheme
        self._ask = ask
        self._of_classes: dict[AnyKind, Mapped] = {}
        """What was found for kinds that have a class; it never changes."""
        self._discovered: dict[GroupVersionKind, ResourceInfo] = {}
        self._discovered_resources: dict[GroupVersionResource, ResourceInfo] = {}

    def find_nowait(self, kind: AnyKind) -> Mapped | None:
        """Return the mapping of a kind, if it is known without asking the server."""
        known = self._of_classes.get(kind)
        if known is not None:
            return known
        found = self._look_up(kind)
        if found is not None and isinstance(_innermost(kind), type):
            self._of_classes[kind] = found
        return found

    def _look_up(self, kind: AnyKind) -> Mapped | None:
        match kind:
            case Encoded(of=inner):
                found = self.find_nowait(inner)
                codec = ENCODED_METADATA_CODEC if isinstance(inner, MetadataOnly) else ENCODED_CODEC
                return None if found is None else Mapped(found.info, codec)
            case MetadataOnly(of=of):
                found = self.find_nowait(of)
                return None if found is None else Mapped(found.info, METADATA_CODEC)
            case GroupVersionKind():
                info = self._info_of_kind(kind)
            case GroupVersionResource():
                info = catalog.find(*kind) or self._of_class(kind) or self._discovered_resources.get(kind)
            case _:
                return Mapped(_info_of_class(kind), typed_codec(kind))  # pyright: ignore[reportArgumentType]
        return None if info is None else Mapped(info, untyped_codec(info.gvk))

    async def find(self, kind: AnyKind) -> Mapped:
        """Return the mapping of a kind, by discovery if need be; raises ``NotFound`` where the server lacks it."""
        found = self.find_nowait(kind)
        if found is None:
            await self._discover(kind)
            found = self.find_nowait(kind)
        if found is None:
            raise NotFound(
                f"the server has no resource for {kind}; create its CustomResourceDefinition first", details={}
            )
        return found

    def _info_of_kind(self, gvk: GroupVersionKind) -> ResourceInfo | None:
        registered = next((cls for cls in self._scheme if cls.gvk == gvk), None)
        if registered is not None:
            return registered.resource_info
        return catalog.find_kind(gvk) or self._discovered.get(gvk)

    def _of_class(self, gvr: GroupVersionResource) -> ResourceInfo | None:
        return next((cls.resource_info for cls in self._scheme if cls.resource_info.gvr == gvr), None)

    async def _discover(self, kind: AnyKind) -> None:
        kind = _innermost(kind)
        assert isinstance(kind, GroupVersionKind | GroupVersionResource), "classes bring their own resource"
        group, version = kind[:2]
        path = f"/apis/{group}/{version}" if group else f"/api/{version}"
        try:
            response = await self._ask(ClientRequest("GET", path))
        except NotFound:
            return
        for info in read_resource_list(group, version, response.body):
            self._discovered[info.gvk] = info
            self._discovered_resources[info.gvr] = info


def _innermost(kind: AnyKind) -> type[Resource] | UntypedKind:
    while isinstance(kind, MetadataOnly | Encoded):
        kind = kind.of
    return kind


def _info_of_class(cls: type[Resource]) -> ResourceInfo:
    info: ResourceInfo | None = getattr(cls, "resource_info", None)
    if info is None:
        raise TypeError(f"{cls.__name__} stands for no kind; use a class with group and version, or a GroupVersionKind")
    return info


def read_resource_list(group: str, version: str, data: bytes) -> Iterator[ResourceInfo]:
    """The resources of one group and version, as discovery lists them; raises ``GarbledAnswer``."""
    try:
        rows = orjson.loads(data)["resources"]
        for row in rows:
            if "/" not in row["name"]:
                yield _resource(group, version, row, rows)
    except (orjson.JSONDecodeError, LookupError, TypeError, AttributeError) as error:
        raise GarbledAnswer(f"discovery of {group or 'core'}/{version} cannot be understood: {error!r}") from error


def _resource(group: str, version: str, row: JsonObject, rows: list[JsonObject]) -> ResourceInfo:
    subresources = {}
    for sub in rows:
        parent, slash, name = sub["name"].partition("/")
        if slash and parent == row["name"]:
            of = sub.get("group") or group, sub.get("version") or version
            subresources[name] = SubresourceInfo(name, *of, sub["kind"], tuple(sub.get("verbs") or ()))
    return ResourceInfo(
        group=group,
        version=version,
        kind=row["kind"],
        resource=row["name"],
        singular=row.get("singularName") or row["kind"].lower(),
        namespaced=bool(row["namespaced"]),
        verbs=tuple(row.get("verbs") or ()),
        short_names=tuple(row.get("shortNames") or ()),
        categories=tuple(row.get("categories") or ()),
        subresources=subresources,
        group_versions=(version,),
    )
