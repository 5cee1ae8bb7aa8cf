"""Writing: create, update, patch, apply, delete, subresources.

A caller writes typed objects (and gets its class back) or dicts with ``apiVersion`` and ``kind`` (and gets a dict
back). What was written is told to the ``WriteObserver``, which is how a cache learns of this process's own writes.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

import orjson

from attractor.client.encoding.paths import resource_path
from attractor.client.kinds import R, Scale
from attractor.client.transport import ClientRequest, ClientResponse
from attractor.client.verbs.reads import Reading, Selection, object_path
from attractor.client.verbs.requests import parsed, refused
from attractor.client.verbs.write_observer import Telling
from attractor.objects.compiling import mypyc_attr
from attractor.objects.errors import ApiError
from attractor.objects.gvk import GroupVersionKind, Key
from attractor.objects.resource import Resource
from attractor.patch.difference import authors_part, difference, guarded, json_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from attractor.client.encoding.mapping import Mapped
    from attractor.client.kinds import AnyKind, UntypedKind
    from attractor.client.transport import Transport
    from attractor.client.verbs.retry import RetryPolicy
    from attractor.client.verbs.write_observer import WriteObserver
    from attractor.objects.json_types import Json, JsonObject
    from attractor.objects.resource import Scheme

O = TypeVar("O", bound="Resource | dict[str, Any]")  # noqa: E741 - an object
Propagation = Literal["Background", "Foreground", "Orphan"]
PatchType = Literal["merge", "json", "strategic"]
FieldValidation = Literal["Ignore", "Warn", "Strict"]
Query = tuple[tuple[str, str], ...]

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"
PATCH_TYPES = {"merge": MERGE_PATCH, "json": JSON_PATCH, "strategic": STRATEGIC_PATCH}


@mypyc_attr(allow_interpreted_subclasses=True)
class Writing(Reading):
    """Reads and writes objects. A write is never repeated once it may have happened; see ``retry``."""

    def __init__(
        self,
        transport: Transport,
        *,
        scheme: Scheme | None = None,
        retry: RetryPolicy | None = None,
        field_manager: str = "",
        observer: WriteObserver | None = None,
    ) -> None:
        super().__init__(transport, scheme=scheme, retry=retry)
        self._field_manager = field_manager
        self.observer = observer

    async def create(
        self,
        obj: O,
        *,
        dry_run: bool = False,
        field_manager: str = "",
        field_validation: FieldValidation | None = None,
    ) -> O:
        """Create an object; returns it as it was stored.

        Args:
            obj: A typed object, or a ``dict`` with ``apiVersion`` and ``kind``.
            dry_run: Let the server check and answer, without storing anything.
            field_manager: The owner of the written fields, if not the client's.
            field_validation: What the server does with unknown fields: ``Ignore``, ``Warn`` or ``Strict``.

        Raises:
            AlreadyExists: An object of this name exists.
            Invalid: The server refuses the object; the same request fails again.
            ApiError: Any other failure.
        """
        mapped, key = self._addressed_nowait(obj) or await self._addressed(obj)
        path = collection_path(mapped, key)
        query = self._options(dry_run, field_manager, field_validation)
        answer = await self._write(mapped, key, ClientRequest("POST", path, query, _body(obj)), is_told=not dry_run)
        return _read(type(obj), mapped, answer)

    async def update(
        self,
        obj: O,
        *,
        subresource: str = "",
        dry_run: bool = False,
        field_manager: str = "",
        field_validation: FieldValidation | None = None,
    ) -> O:
        """Replace an object, or the part that a subresource covers; returns it as it was stored.

        Args:
            obj: The object; with its ``resourceVersion``, as in every object that was read, the write is guarded.
            subresource: Such as ``status`` or ``scale``.
            dry_run: Let the server check and answer, without storing anything.
            field_manager: The owner of the written fields, if not the client's.
            field_validation: What the server does with unknown fields: ``Ignore``, ``Warn`` or ``Strict``.

        Raises:
            Conflict: The object changed since it was read; read again.
            NotFound: There is no such object.
            Invalid: The server refuses the object.
        """
        mapped, key = self._addressed_nowait(obj) or await self._addressed(obj)
        _require_subresource(mapped, subresource, obj)
        query = self._options(dry_run, field_manager, field_validation)
        request = ClientRequest("PUT", object_path(mapped, key, subresource), query, _body(obj))
        answer = await self._write(mapped, key, request, is_told=not dry_run)
        return _read(type(obj), mapped, answer)

    async def update_status(self, obj: O, *, dry_run: bool = False, field_manager: str = "") -> O:
        """Replace the status of an object and nothing else; as ``update`` with ``subresource="status"``."""
        return await self.update(obj, subresource="status", dry_run=dry_run, field_manager=field_manager)

    @overload
    async def patch(
        self, kind: type[R], key: Key | tuple[str, str], body: JsonObject | Sequence[JsonObject], *,
        type: PatchType = "merge", subresource: str = "", dry_run: bool = False, field_manager: str = "",
    ) -> R: ...  # fmt: skip
    @overload
    async def patch(
        self, kind: UntypedKind, key: Key | tuple[str, str], body: JsonObject | Sequence[JsonObject], *,
        type: PatchType = "merge", subresource: str = "", dry_run: bool = False, field_manager: str = "",
    ) -> JsonObject: ...  # fmt: skip

    async def patch(
        self, kind: Any, key: Any, body: Any = None, *,
        type: str = "merge", subresource: str = "", dry_run: bool = False, field_manager: str = "",  # noqa: A002
    ) -> Any:  # fmt: skip
        """Send a patch as it is given, whatever the object's version; for a guarded change see ``patch_from``.

        A ``merge`` patch (RFC 7396) and a ``strategic`` one (built-in kinds only, custom ones answer
        ``UnsupportedMediaType``) are objects, a ``json`` patch (RFC 6902) is a list of operations, all or none.

        Args:
            kind: A class or a ``GroupVersionKind``.
            key: Namespace and name.
            body: Such as ``{"spec": {"size": 3}}`` or ``[{"op": "replace", "path": "/spec/size", "value": 3}]``.
            type: ``merge``, ``json`` or ``strategic``.
            subresource: Such as ``status``.
            dry_run: Let the server check and answer, without storing anything.
            field_manager: The owner of the written fields, if not the client's.

        Raises:
            Invalid: It cannot be carried out, for example because a ``test`` of a ``json`` patch failed.
            NotFound: There is no such object.
        """
        if body is None or isinstance(kind, Resource | dict):
            raise TypeError(
                "client.patch takes a kind, a key and a body; what differs between an object that was read and a "
                "changed copy of it is written by client.patch_from(original, changed)"
            )
        content_type = PATCH_TYPES.get(type)
        if content_type is None:
            raise ValueError(f"a patch is merge, json or strategic, not {type!r}; client.apply is server-side apply")
        given = body if isinstance(body, dict) else list(body)
        mapped = self.mapping.find_nowait(kind) or await self.mapping.find(kind)
        answer = await self._patch(mapped, Key(*key), content_type, given, subresource, dry_run, field_manager)
        return mapped.codec.decode(answer)

    async def patch_from(
        self,
        original: O,
        changed: O,
        *,
        subresource: str = "",
        optimistic_lock: bool = True,
        dry_run: bool = False,
        field_manager: str = "",
    ) -> O:
        """Write what differs between an object as it was read and a changed copy of it, as a merge patch.

        Nothing is sent when nothing differs; ``changed`` is returned then.

        Args:
            original: The object as it was read.
            changed: A changed ``deep_copy()`` of it.
            subresource: ``status`` to write the status and nothing else; empty to write everything but that.
            optimistic_lock: Send the original's ``resourceVersion``; without it the last writer wins.
            dry_run: Let the server check and answer, without storing anything.
            field_manager: The owner of the written fields, if not the client's.

        Raises:
            Conflict: Somebody changed the object since it was read.
            NotFound: The object is gone.
        """
        body = difference(original, changed, subresource)
        if not body:
            return changed
        mapped, key = await self._addressed(original)
        _require_subresource(mapped, subresource, original)
        if optimistic_lock:
            body = guarded(body, original)
        answer = await self._patch(mapped, key, MERGE_PATCH, body, subresource, dry_run, field_manager)
        return _read(type(original), mapped, answer)

    async def apply(
        self, obj: O, *, field_manager: str = "", force: bool = False, subresource: str = "", dry_run: bool = False
    ) -> O:
        """Server-side apply: create the object, or set the fields that it has and become their owner.

        An object that was read is applied without its ``managedFields``, ``uid``, versions and timestamps.

        Args:
            obj: The object, with exactly the fields that this manager decides on.
            field_manager: Who owns them; required here or at the client.
            force: Take fields over from other managers.
            subresource: Such as ``status``.
            dry_run: Let the server check and answer, without storing anything.

        Raises:
            Conflict: Other managers own some of the fields; the text names both.
            ValueError: There is no field manager.
        """
        manager = field_manager or self._field_manager
        if not manager:
            raise ValueError("apply needs a field_manager: give one here or to the client")
        mapped, key = await self._addressed(obj)
        body = _appliable(json_of(obj))
        query: Query = (("force", "true"),) if force else ()
        answer = await self._patch(mapped, key, APPLY_PATCH, body, subresource, dry_run, manager, query)
        return _read(type(obj), mapped, answer)

    async def _patch(
        self, mapped: Mapped, key: Key, patch_type: str, patch: Json, subresource: str, dry_run: bool,
        field_manager: str, query: Query = (),
    ) -> bytes:  # fmt: skip
        request = ClientRequest(
            "PATCH",
            object_path(mapped, key, subresource),
            query + self._options(dry_run, field_manager, None),
            orjson.dumps(patch),
            patch_type,
        )
        return await self._write(mapped, key, request, is_told=not dry_run, subresource=subresource)

    @overload
    async def delete(
        self, kind: Resource | JsonObject, *, resource_version: str = "",
        propagation: Propagation | None = None, grace_period_s: int | None = None, dry_run: bool = False,
    ) -> None: ...  # fmt: skip
    @overload
    async def delete(
        self, kind: AnyKind, key: Key | tuple[str, str], *, uid: str = "", resource_version: str = "",
        propagation: Propagation | None = None, grace_period_s: int | None = None, dry_run: bool = False,
    ) -> None: ...  # fmt: skip

    async def delete(
        self, kind: AnyKind | Resource | JsonObject, key: Key | tuple[str, str] | None = None, *, uid: str = "",
        resource_version: str = "", propagation: Propagation | None = None, grace_period_s: int | None = None,
        dry_run: bool = False,
    ) -> None:  # fmt: skip
        """Delete an object; finalizers may hold it for longer.

        ``delete(obj)`` deletes exactly that object, by its uid. ``delete(kind, key)`` deletes whatever has that name,
        unless ``uid`` or ``resource_version`` say which one.

        Args:
            kind: The object itself; or a class or a ``GroupVersionKind``, with ``key``.
            key: Namespace and name.
            uid: Only if the object has this uid.
            resource_version: Only if the object has this version.
            propagation: What happens to its dependents: ``Background``, ``Foreground`` or ``Orphan``.
            grace_period_s: How long it may take to end, for kinds that take time.
            dry_run: Let the server check and answer, without deleting anything.

        Raises:
            NotFound: There is no such object.
            Conflict: There is one of this name, but not the one that was meant.
        """
        if isinstance(kind, Resource | dict):
            mapped, at = await self._addressed(kind)
            uid = uid or str(json_of(kind).get("metadata", {}).get("uid") or "")
        else:
            assert key is not None, "delete(kind, key) needs the key"
            mapped, at = await self.mapping.find(kind), Key(*key)
        body = _delete_options(uid, resource_version, propagation, grace_period_s, dry_run)
        request = ClientRequest("DELETE", object_path(mapped, at), body=orjson.dumps(body))
        if dry_run or self.observer is None:
            await self.request(request)
            return
        with Telling(self.observer, mapped.info, at) as told:
            told.deleted((await self.request(request)).body, uid)

    async def delete_all_of(
        self, kind: AnyKind, namespace: str = "", *, label_selector: object = None, field_selector: object = None,
        propagation: Propagation | None = None, grace_period_s: int | None = None, dry_run: bool = False,
    ) -> None:  # fmt: skip
        """Delete every object of a kind that the selectors match.

        Args:
            kind: A class or a ``GroupVersionKind``.
            namespace: The namespace; required for namespaced kinds.
            label_selector: Only matching objects.
            field_selector: Only matching objects.
            propagation: As in ``delete``.
            grace_period_s: As in ``delete``.
            dry_run: As in ``delete``.
        """
        mapped = await self.mapping.find(kind)
        info, path = mapped.info, collection_path(mapped, Key(namespace, ""))
        body = _delete_options("", "", propagation, grace_period_s, dry_run)
        query = Selection(label_selector, field_selector).query
        answer = parsed((await self.request(ClientRequest("DELETE", path, query, orjson.dumps(body)))).body)
        if self.observer is not None and not dry_run:
            for item in answer.get("items") or ():
                metadata = item.get("metadata") or {}
                self.observer.unsure(info, Key(metadata.get("namespace") or "", metadata.get("name") or ""))

    async def create_subresource(
        self, kind: AnyKind, key: Key | tuple[str, str], subresource: str, body: Resource | JsonObject
    ) -> JsonObject:
        """POST to a subresource, such as ``eviction`` or ``token``; returns the answer as JSON."""
        mapped, at = await self.mapping.find(kind), Key(*key)
        request = ClientRequest("POST", object_path(mapped, at, subresource), body=_body(body))
        return parsed(await self._write(mapped, at, request, subresource=subresource))

    async def scale(self, kind: AnyKind, key: Key | tuple[str, str], replicas: int) -> Scale:
        """Set the number of replicas through the scale subresource.

        Raises:
            NotFound: There is no such object, or its kind does not scale.
        """
        mapped, at = await self.mapping.find(kind), Key(*key)
        body = {"spec": {"replicas": replicas}}
        answer = await self._patch(mapped, at, MERGE_PATCH, body, "scale", False, "")
        return Scale.from_json(answer)

    def _addressed_nowait(self, obj: Resource | JsonObject) -> tuple[Mapped, Key] | None:
        """Return where an object is stored, if that is known without asking."""
        mapped = self.mapping.find_nowait(type(obj)) if isinstance(obj, Resource) else None
        return None if mapped is None or not isinstance(obj, Resource) else (mapped, obj.key)

    async def _addressed(self, obj: Resource | JsonObject) -> tuple[Mapped, Key]:
        """Return where an object is stored."""
        if isinstance(obj, Resource):
            return self.mapping.find_nowait(type(obj)) or await self.mapping.find(type(obj)), obj.key
        api_version, kind = obj.get("apiVersion"), obj.get("kind")
        if not api_version or not kind:
            raise ValueError("an object needs apiVersion and kind to be written")
        metadata = obj.get("metadata") or {}
        key = Key(metadata.get("namespace") or "", metadata.get("name") or "")
        return await self.mapping.find(GroupVersionKind.of(api_version, kind)), key

    def _options(self, dry_run: bool, field_manager: str, field_validation: FieldValidation | None) -> Query:
        return _query(dry_run, field_manager or self._field_manager, field_validation or "")

    async def _write(
        self, mapped: Mapped, key: Key, request: ClientRequest, *, is_told: bool = True, subresource: str = ""
    ) -> bytes:
        if not is_told or self.observer is None:
            return (await self.request(request)).body
        with Telling(self.observer, mapped.info, key) as told:
            response: ClientResponse | None = None
            try:  # as ``request`` does, which would be one coroutine more on the way of every write
                response = await self.transport.send(request)
                failed = refused(response) if response.code >= 400 else None
            except ApiError as error:
                failed = error
            if response is None or failed is not None:
                assert failed is not None
                response = await self.tried_again(request, failed)
            answer = response.body
            if subresource in {"", "status", "finalize"}:
                told.wrote(answer, is_new=request.method == "POST" and not subresource)
            else:
                self.observer.unsure(mapped.info, key)
        return answer


@lru_cache(maxsize=256)
def _query(dry_run: bool, field_manager: str, field_validation: str) -> Query:
    """The options of a write; a client writes with the same ones again and again."""
    named = (("dryRun", "All" if dry_run else ""), ("fieldManager", field_manager))
    return tuple(pair for pair in (*named, ("fieldValidation", field_validation)) if pair[1])


def collection_path(mapped: Mapped, key: Key) -> str:
    """Return the path of a collection: in a namespace, where its kind lives in one; raises ``ValueError``."""
    info = mapped.info
    if bool(key.namespace) != info.namespaced:
        scope = "lives in a namespace: give it" if info.namespaced else "lives in no namespace: leave it out"
        raise ValueError(f"{f'{info.gvk} {key.name}'.rstrip()} {scope}, as in ObjectMeta(namespace=..., name=...)")
    return resource_path(info.group, info.version, info.resource, key.namespace)


def _require_subresource(mapped: Mapped, subresource: str, obj: Resource | JsonObject) -> None:
    """Raise ``ValueError`` where a server would only say that there is no such object."""
    if subresource and isinstance(obj, Resource) and subresource not in mapped.info.subresources:
        advice = (
            "; declare it in the class, as in `status: WidgetStatus | None = None`" if subresource == "status" else ""
        )
        raise ValueError(f"{mapped.info.gvk} has no {subresource} of its own to be written{advice}")


def _body(obj: Resource | JsonObject) -> bytes:
    return obj.to_json() if isinstance(obj, Resource) else orjson.dumps(obj)


def _read(cls: type[O], mapped: Mapped, answer: bytes) -> O:
    """The answer as what the caller gave."""
    made = mapped.codec.decode(answer)
    assert isinstance(made, cls), f"{mapped.info.gvk} was read as {type(made).__name__}"
    return made


def _appliable(obj: JsonObject) -> JsonObject:
    """Return the part of an object that may be applied, even if it was read before."""
    return {"apiVersion": obj["apiVersion"], "kind": obj["kind"], **authors_part(obj)}


def _delete_options(
    uid: str, resource_version: str, propagation: Propagation | None, grace_period_s: int | None, dry_run: bool
) -> JsonObject:
    options: JsonObject = {"kind": "DeleteOptions", "apiVersion": "v1"}
    preconditions = {"uid": uid, "resourceVersion": resource_version}
    preconditions = {name: value for name, value in preconditions.items() if value}
    if preconditions:
        options["preconditions"] = preconditions
    if propagation is not None:
        options["propagationPolicy"] = propagation
    if grace_period_s is not None:
        options["gracePeriodSeconds"] = grace_period_s
    if dry_run:
        options["dryRun"] = ["All"]
    return options
