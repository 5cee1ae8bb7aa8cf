"""Reading: get, list, pages, watch; for typed, untyped, metadata-only and encoded objects alike."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

from attractor.client.encoding.codec import Page
from attractor.client.encoding.paths import resource_path
from attractor.client.kinds import Encoded, EncodedObject, MetadataOnly, ObjectList, PartialObjectMetadata, R, Scale
from attractor.client.transport import ClientRequest
from attractor.client.verbs.paged_list import list_pages
from attractor.client.verbs.requests import Requester, parsed
from attractor.client.verbs.watch import Watch
from attractor.objects.compiling import mypyc_attr
from attractor.objects.gvk import Key

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Coroutine
    from typing import Self

    from attractor.client.encoding.mapping import Mapped
    from attractor.client.kinds import AnyKind, UntypedKind
    from attractor.objects.json_types import JsonObject

PAGE_SIZE = 500


class Selection:
    """Selection of objects of a collection, as query parameters."""

    __slots__ = ("query",)

    def __init__(self, label_selector: object = None, field_selector: object = None, **others: object) -> None:
        named = {"labelSelector": label_selector, "fieldSelector": field_selector, **others}
        self.query = tuple((name, str(value)) for name, value in named.items() if value is not None and str(value))


@mypyc_attr(allow_interpreted_subclasses=True)
class Reading(Requester):
    """Reads objects straight from the server. Every object handed out is the caller's own."""

    @overload
    async def get(self, kind: type[R], key: Key | tuple[str, str], *, resource_version: str = "") -> R: ...
    @overload
    async def get(self, kind: UntypedKind, key: Key | tuple[str, str], *, resource_version: str = "") -> JsonObject: ...
    @overload
    async def get(
        self, kind: MetadataOnly, key: Key | tuple[str, str], *, resource_version: str = ""
    ) -> PartialObjectMetadata: ...
    @overload
    async def get(self, kind: Encoded, key: Key | tuple[str, str], *, resource_version: str = "") -> EncodedObject: ...

    async def get(self, kind: AnyKind, key: Key | tuple[str, str], *, resource_version: str = "") -> Any:
        """Read one object from the server.

        Args:
            kind: A class, a ``GroupVersionKind`` or ``MetadataOnly``; it decides the type of the result.
            key: Namespace and name.
            resource_version: ``"0"`` allows an answer from the server's cache; by default the newest state is read.

        Raises:
            NotFound: There is no such object.
            ApiError: Any other failure.
        """
        mapped = self.mapping.find_nowait(kind) or await self.mapping.find(kind)
        query = (("resourceVersion", resource_version),) if resource_version else ()
        request = ClientRequest("GET", object_path(mapped, Key(*key)), query, accept=mapped.codec.accept)
        return mapped.codec.decode((await self.request(request)).body)

    async def get_subresource(self, kind: AnyKind, key: Key | tuple[str, str], subresource: str) -> JsonObject:
        """Read a subresource, such as ``scale``, as JSON.

        Raises:
            ApiError: The object or the subresource does not exist, or any other failure.
        """
        mapped = await self.mapping.find(kind)
        return parsed((await self.request(ClientRequest("GET", object_path(mapped, Key(*key), subresource)))).body)

    async def get_scale(self, kind: AnyKind, key: Key | tuple[str, str]) -> Scale:
        """Read how many replicas an object wants and has.

        Raises:
            NotFound: There is no such object, or its kind does not scale.
        """
        return Scale.from_dict(await self.get_subresource(kind, key, "scale"))

    @overload
    async def list(
        self,
        kind: type[R],
        namespace: str = "",
        *,
        label_selector: object = None,
        field_selector: object = None,
        limit: int | None = None,
        page_size: int = PAGE_SIZE,
    ) -> ObjectList[R]: ...
    @overload
    async def list(
        self,
        kind: UntypedKind,
        namespace: str = "",
        *,
        label_selector: object = None,
        field_selector: object = None,
        limit: int | None = None,
        page_size: int = PAGE_SIZE,
    ) -> ObjectList[JsonObject]: ...
    @overload
    async def list(
        self,
        kind: MetadataOnly,
        namespace: str = "",
        *,
        label_selector: object = None,
        field_selector: object = None,
        limit: int | None = None,
        page_size: int = PAGE_SIZE,
    ) -> ObjectList[PartialObjectMetadata]: ...
    @overload
    async def list(
        self,
        kind: Encoded,
        namespace: str = "",
        *,
        label_selector: object = None,
        field_selector: object = None,
        limit: int | None = None,
        page_size: int = PAGE_SIZE,
    ) -> ObjectList[EncodedObject]: ...

    async def list(
        self,
        kind: AnyKind,
        namespace: str = "",
        *,
        label_selector: object = None,
        field_selector: object = None,
        limit: int | None = None,
        page_size: int = PAGE_SIZE,
    ) -> Any:
        """Read all objects of a kind at one version of the collection.

        Read page by page; while one page is decoded the next is requested. If the version expires between two pages,
        the list is read again in one piece, so that it is always of one version. ``resource_version`` of the result is
        where a watch that misses nothing begins.

        Args:
            kind: A class, a ``GroupVersionKind`` or ``MetadataOnly``.
            namespace: Only this namespace; empty for all.
            label_selector: Such as ``"app=web"``, or an object that prints as one.
            field_selector: Such as ``"spec.nodeName=n1"``.
            limit: Return at most this many.
            page_size: Objects in a page; 0 for all in one piece.

        Raises:
            ApiError: The request failed.
        """
        mapped = self.mapping.find_nowait(kind) or await self.mapping.find(kind)
        selection = Selection(label_selector, field_selector)

        def ask(size: int, token: str) -> Coroutine[Any, Any, Page]:
            return self.page(mapped, namespace, selection, size, token)

        return await list_pages(ask, mapped.codec, page_size, limit)

    def pages(
        self,
        kind: AnyKind,
        namespace: str = "",
        *,
        label_selector: object = None,
        field_selector: object = None,
        page_size: int = PAGE_SIZE,
    ) -> AsyncIterator[ObjectList[Any]]:
        """Read a list page by page, for callers that need not hold all of it: ``async for page in client.pages(Pod)``.

        Raises:
            Gone: The version of the list expired before a page was requested; begin again.
        """
        return Pages(self, kind, namespace, Selection(label_selector, field_selector), page_size)

    async def page(self, mapped: Mapped, namespace: str, selection: Selection, size: int, token: str) -> Page:
        """One page of a list: the first one, or the one at a token; raises ``ApiError``."""
        info = mapped.info
        paging: tuple[tuple[str, str], ...] = (("limit", str(size)),) if size else ()
        if token:
            paging += (("continue", token),)
        request = ClientRequest(
            "GET",
            resource_path(info.group, info.version, info.resource, namespace),
            selection.query + paging,
            accept=mapped.codec.list_accept,
        )
        return Page((await self.request(request)).body)

    @overload
    def watch(
        self,
        kind: type[R],
        namespace: str = "",
        *,
        resource_version: str = "",
        label_selector: object = None,
        field_selector: object = None,
        bookmarks: bool = True,
        initial_events: bool = False,
        timeout_s: int | None = None,
    ) -> Watch[R]: ...
    @overload
    def watch(
        self,
        kind: UntypedKind,
        namespace: str = "",
        *,
        resource_version: str = "",
        label_selector: object = None,
        field_selector: object = None,
        bookmarks: bool = True,
        initial_events: bool = False,
        timeout_s: int | None = None,
    ) -> Watch[JsonObject]: ...
    @overload
    def watch(
        self,
        kind: MetadataOnly,
        namespace: str = "",
        *,
        resource_version: str = "",
        label_selector: object = None,
        field_selector: object = None,
        bookmarks: bool = True,
        initial_events: bool = False,
        timeout_s: int | None = None,
    ) -> Watch[PartialObjectMetadata]: ...
    @overload
    def watch(
        self,
        kind: Encoded,
        namespace: str = "",
        *,
        resource_version: str = "",
        label_selector: object = None,
        field_selector: object = None,
        bookmarks: bool = True,
        initial_events: bool = False,
        timeout_s: int | None = None,
    ) -> Watch[EncodedObject]: ...

    def watch(
        self,
        kind: AnyKind,
        namespace: str = "",
        *,
        resource_version: str = "",
        label_selector: object = None,
        field_selector: object = None,
        bookmarks: bool = True,
        initial_events: bool = False,
        timeout_s: int | None = None,
    ) -> Watch[Any]:
        """Watch changes: use it with ``async with``, then ``async for``.

            async with client.watch(Pod, "a", resource_version=pods.resource_version) as events:
                async for event in events:
                    ...

        The loop ends when the server ends the watch regularly.

        Args:
            kind: A class, a ``GroupVersionKind`` or ``MetadataOnly``.
            namespace: Only this namespace; empty for all.
            resource_version: Begin after this version; empty to get what exists first, as ADDED.
            label_selector: Only matching objects.
            field_selector: Only matching objects.
            bookmarks: Also get BOOKMARK events, which only move the version on.
            initial_events: Begin with what exists, and mark its end with a bookmark.
            timeout_s: Ask the server to end the watch after this time.

        Raises:
            Gone: The version is too old; list again.
            AnswerLost: The connection broke.
            GarbledAnswer: The server sent what is no event.
        """
        selection = Selection(
            label_selector,
            field_selector,
            watch="1",
            resourceVersion=resource_version,
            allowWatchBookmarks="true" if bookmarks else None,
            sendInitialEvents="true" if initial_events else None,
            resourceVersionMatch="NotOlderThan" if initial_events else None,
            timeoutSeconds=timeout_s,
        )
        return Watch(self, kind, namespace, selection.query)


class Pages:
    """The pages of a list, each asked for when the one before was looked at."""

    def __init__(self, reading: Reading, kind: AnyKind, namespace: str, selection: Selection, page_size: int) -> None:
        self._reading, self._kind, self._namespace = reading, kind, namespace
        self._selection, self._page_size = selection, page_size
        self._token: str | None = ""
        """Where the next page begins; None after the last one."""

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> ObjectList[Any]:
        if self._token is None:
            raise StopAsyncIteration
        mapped = await self._reading.mapping.find(self._kind)
        page = await self._reading.page(mapped, self._namespace, self._selection, self._page_size, self._token)
        self._token = page.continue_token or None
        return mapped.codec.decode_list(page)


def object_path(mapped: Mapped, key: Key, subresource: str = "") -> str:
    """The path of an object; a cluster-scoped kind's key must have no namespace, and the other way round."""
    info = mapped.info
    if not key.name:
        raise ValueError(f"a name is needed to address one object of {info.gvk}")
    if bool(key.namespace) != info.namespaced:
        scope = "lives in a namespace: give one" if info.namespaced else "lives in no namespace: leave it empty"
        raise ValueError(f"{info.gvk} {key} {scope}, as in Key(namespace, name)")
    return resource_path(info.group, info.version, info.resource, key.namespace, key.name, subresource)
