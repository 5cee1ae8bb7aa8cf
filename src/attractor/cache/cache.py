"""``Cache``: shared informers, one for each kind and scope, and reads that see this process's own writes.

    cache = Cache(client)
    async with asyncio.TaskGroup() as group:
        group.create_task(cache.run())
        pod = await cache.get(Pod, key)                                # from memory
        pod = await cache.api_reader.get(Pod, key)                     # from the server
        created = await client.create(ConfigMap(...))
        assert await cache.get(ConfigMap, created.key) == created      # whatever the watch has told by then

The cache observes the client's writes. An object that was written is served as written until the watch has caught up;
one whose write failed in a way that leaves its state open (a lost answer, a conflict) is read from the server next
time. With ``own_writes=False`` reads answer what the watch told and nothing else, as in other frameworks.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, overload

from attractor.cache.informer import IDLE_S, Health, Informer
from attractor.cache.observers import leave, observe
from attractor.cache.scope import Scope
from attractor.client.kinds import MetadataOnly, name_of
from attractor.wire.blocks import inside

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from attractor.cache.index import IndexFunction
    from attractor.cache.reflector import Policy
    from attractor.client.client import Client
    from attractor.client.kinds import EncodedObject, PartialObjectMetadata, R, UntypedKind
    from attractor.k8s.resource_info import ResourceInfo
    from attractor.objects.gvk import Key
    from attractor.objects.json_types import JsonObject
    from attractor.objects.resource import Resource

    CachedKind = type[Resource] | UntypedKind | MetadataOnly


REMEMBERED = 1024
"""For how many resources and namespaces a cache remembers which informers a write concerns."""


class Cache:
    """Informers that controllers share. Informers begin when they are asked for and the cache runs."""

    def __init__(
        self,
        client: Client,
        *,
        namespace: str = "",
        own_writes: bool = True,
        policy: Policy | None = None,
        idle_s: float = IDLE_S,
        transform: Callable[[Any], Any] | None = None,
        make: Callable[..., Informer[Any]] = Informer,
    ) -> None:
        self.api_reader = client
        """Reads from the server, past the cache."""
        self._namespace = namespace
        self._policy = policy
        self._idle_s = idle_s
        self._transform = transform
        self._make = make
        """How informers are made; the checker has its own, whose view is part of its state."""
        self._scopes: dict[type[Resource] | UntypedKind, Scope] = {}
        self._informers: dict[tuple[CachedKind, Scope], Informer[Any]] = {}
        self._concerned: dict[tuple[str, str, str, str], list[tuple[Informer[Any], bool]]] = {}
        """Which informers a write to a resource in a namespace concerns, as ``_views`` has found."""
        self._group: asyncio.TaskGroup | None = None
        if own_writes:
            observe(client, self)

    # Informers.

    def scope(self, kind: CachedKind, scope: Scope) -> None:
        """Say which objects of a kind (or their metadata) this cache is about, before the kind is first read."""
        if any(_plain(known) == _plain(kind) for known, _ in self._informers):
            raise ValueError(f"{name_of(kind)} is cached already; set its scope before it is first used")
        self._scopes[_plain(kind)] = scope

    @overload
    def informer(
        self, kind: type[R], scope: Scope | None = None, *, transform: Callable[[R], R] | None = None,
        indexes: Mapping[str, IndexFunction] | None = None,
    ) -> Informer[R]: ...  # fmt: skip
    @overload
    def informer(
        self, kind: UntypedKind, scope: Scope | None = None, *,
        transform: Callable[[JsonObject], JsonObject] | None = None,
        indexes: Mapping[str, IndexFunction] | None = None,
    ) -> Informer[JsonObject]: ...  # fmt: skip
    @overload
    def informer(
        self, kind: MetadataOnly, scope: Scope | None = None, *,
        transform: Callable[[PartialObjectMetadata], PartialObjectMetadata] | None = None,
        indexes: Mapping[str, IndexFunction] | None = None,
    ) -> Informer[PartialObjectMetadata]: ...  # fmt: skip

    def informer(
        self, kind: CachedKind, scope: Scope | None = None, *, transform: Callable[[Any], Any] | None = None,
        indexes: Mapping[str, IndexFunction] | None = None,
    ) -> Informer[Any]:  # fmt: skip
        """The informer of a kind and scope, made when first asked for; indexes are added to it.

        Whoever makes it says its transform; asking later for another one is an error.
        """
        scope = scope or self._default_scope(kind)
        known = self._informers.get((kind, scope))
        if known is None:
            known = self._make(
                self.api_reader,
                kind,
                scope,
                transform=transform or self._transform,
                policy=self._policy,
                idle_s=self._idle_s,
            )
            self._informers[kind, scope] = known
            self._concerned.clear()
            if self._group is not None:
                self._group.create_task(known.run())
        elif transform is not None and transform is not known.transform:
            raise ValueError(f"{known!r} has another transform already; agree on one, or use another scope")
        for name, function in (indexes or {}).items():
            known.add_index(name, function)
        return known

    def _default_scope(self, kind: CachedKind) -> Scope:
        """Return the ``scope`` that was given, or the cache's namespace; cluster-scoped kinds are seen in any case."""
        said = self._scopes.get(_plain(kind))
        if said is not None:
            return said
        mapped = self.api_reader.mapping.find_nowait(kind)
        return Scope(self._namespace if mapped is None or mapped.info.namespaced else "")

    async def run(self) -> None:
        """Keep every informer up to date until cancelled; then own writes are not followed any more, either."""
        try:
            await inside(asyncio.TaskGroup(), self._run_informers)
        finally:
            self._group = None
            leave(self.api_reader, self)

    async def _run_informers(self, group: asyncio.TaskGroup) -> None:
        self._group = group
        for informer in self._informers.values():
            group.create_task(informer.run())
        await asyncio.get_running_loop().create_future()

    async def wait_synced(self) -> None:
        """Wait until every informer has seen its whole collection."""
        for informer in tuple(self._informers.values()):
            await informer.wait_synced()

    @property
    def is_ready(self) -> bool:
        """Return whether every informer follows the server."""
        return all(informer.is_ready for informer in self._informers.values())

    def health(self) -> list[Health]:
        """Return the health of each informer."""
        return [informer.health for informer in self._informers.values()]

    # Reading.

    @overload
    async def get(self, kind: type[R], key: Key | tuple[str, str]) -> R: ...
    @overload
    async def get(self, kind: UntypedKind, key: Key | tuple[str, str]) -> JsonObject: ...
    @overload
    async def get(self, kind: MetadataOnly, key: Key | tuple[str, str]) -> PartialObjectMetadata: ...

    async def get(self, kind: CachedKind, key: Key | tuple[str, str]) -> Any:
        """A copy of the object, never older than this process's own last write to it; raises ``NotFound``.

        Waits until the kind's informer is synced.
        """
        return await self.informer(kind).get(key)

    @overload
    async def list(
        self, kind: type[R], namespace: str = "", *, label_selector: object = None,
        index: tuple[str, str] | None = None,
    ) -> list[R]: ...  # fmt: skip
    @overload
    async def list(
        self, kind: UntypedKind, namespace: str = "", *, label_selector: object = None,
        index: tuple[str, str] | None = None,
    ) -> list[JsonObject]: ...  # fmt: skip
    @overload
    async def list(
        self, kind: MetadataOnly, namespace: str = "", *, label_selector: object = None,
        index: tuple[str, str] | None = None,
    ) -> list[PartialObjectMetadata]: ...  # fmt: skip

    async def list(
        self, kind: CachedKind, namespace: str = "", *, label_selector: object = None,
        index: tuple[str, str] | None = None,
    ) -> Any:  # fmt: skip
        """Copies of objects in the order of their keys; own writes are in it, and own deletions are not."""
        return await self.informer(kind).list(namespace, label_selector=label_selector, index=index)

    # What the client writes (``WriteObserver``).

    def _views(self, info: ResourceInfo, key: Key) -> Iterable[tuple[Informer[Any], bool]]:
        """The informers that a write concerns, and whether they keep objects in the version that was written."""
        at = (info.group, info.version, info.resource, key.namespace)
        known = self._concerned.get(at)
        if known is not None:
            return known
        found: list[tuple[Informer[Any], bool]] = []
        mappings = [self.api_reader.mapping.find_nowait(informer.kind) for informer in self._informers.values()]
        for informer, mapped in zip(self._informers.values(), mappings, strict=True):
            if mapped is None or mapped.info.group_resource != info.group_resource:
                continue
            if informer.scope.namespace in {"", key.namespace}:
                is_same = mapped.info.version == info.version or isinstance(informer.kind, MetadataOnly)
                found.append((informer, is_same))
        if None not in mappings:
            if len(self._concerned) >= REMEMBERED:  # namespaces come and go
                self._concerned.clear()
            self._concerned[at] = found
        return found

    def wrote(self, info: ResourceInfo, written: EncodedObject, *, is_new: bool = False) -> None:
        """The server stored an object that this process wrote."""
        for informer, is_same_version in self._views(info, written.key):
            if is_same_version:
                informer.wrote(written, is_new=is_new)
            else:
                informer.core.unsure(written.key)

    def sending(self, info: ResourceInfo, key: Key) -> None:
        """This process is about to write an object."""
        for informer, _ in self._views(info, key):
            informer.core.sending(key)

    def deleted(self, info: ResourceInfo, key: Key, uid: str) -> None:
        """The server removed an object on behalf of this process."""
        for informer, _ in self._views(info, key):
            informer.core.deleted(key, uid)
            informer.wake()

    def settled(self, info: ResourceInfo, key: Key) -> None:
        """The write is over."""
        for informer, _ in self._views(info, key):
            informer.core.settled(key)

    def unsure(self, info: ResourceInfo, key: Key, *, may_happen: bool = False) -> None:
        """Note that the server's state of an object is not known, or known to be something else."""
        for informer, _ in self._views(info, key):
            informer.core.unsure(key, may_happen=may_happen)
            informer.wake()


def _plain(kind: CachedKind) -> type[Resource] | UntypedKind:
    return kind.of if isinstance(kind, MetadataOnly) else kind


def drop_managed_fields(obj: Any) -> Any:
    """A cache transform that drops ``metadata.managedFields``, often half of an object: ``Manager(...,
    transform=...)``.
    """
    if isinstance(obj, dict):
        obj.get("metadata", {}).pop("managedFields", None)
    else:
        obj.metadata.managed_fields = []
    return obj
