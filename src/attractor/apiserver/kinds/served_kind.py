"""A kind as the server serves it: where its objects live, which rules they obey, which subresources they have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

import orjson

from attractor.apply import FieldManager
from attractor.objects.errors import ApiError
from attractor.objects.fields import METADATA_ONLY, SelectableFields
from attractor.objects.gvk import GroupKind, GroupResource, GroupVersionKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from attractor.apiserver.kinds.conversion import Conversion
    from attractor.apiserver.kinds.custom.webhook_conversion import RemoteConversion
    from attractor.apiserver.kinds.strategy import Strategy
    from attractor.apiserver.transaction import Transaction
    from attractor.apply.manager import Convert
    from attractor.objects.json_types import JsonObject
    from attractor.schema import Schema

ALL_VERBS = frozenset({"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"})

REMEMBERED_PREFIXES = 1024
"""Of so many namespaces each kind remembers where its objects are."""
REMEMBERED_ORDERS: Final = 1024
"""Of so many selections of metadata's fields it is remembered in which order they are written."""

_METADATA = b'"metadata":{'
_METADATA_ORDER: Final[tuple[str, ...]] = (
    "name",
    "generateName",
    "namespace",
    "selfLink",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "labels",
    "annotations",
    "ownerReferences",
    "finalizers",
    "managedFields",
)
_REMEMBERED: Final[dict[tuple[str, ...], tuple[str, ...]]] = {}
"""Fields as they were found, and in order."""

_HEAD_BYTES: Final = 512
"""Within so many bytes a stored object says what it is: a group has up to 253 characters, a kind and a version 63."""


class Allocate(Protocol):
    """Claims in the transaction what ``obj`` needs and gives up what ``old`` had; a dry run claims nothing."""

    def __call__(self, txn: Transaction, obj: JsonObject | None, old: JsonObject | None, *, claim: bool) -> None:
        """Fill in ``obj`` in place; raises ``ApiError`` when something cannot be had."""
        ...


class StoredShape(Protocol):
    """The schema of the version that is stored, which may have changed since an object was."""

    def prune_in_place(self, obj: JsonObject) -> list[str]:
        """Remove what the schema does not know."""
        ...

    def default_in_place(self, obj: JsonObject) -> None:
        """Fill in the schema's defaults."""
        ...


class ScalePaths(NamedTuple):
    """Where a kind keeps its replica counts and selector, as dotted paths."""

    spec_replicas: tuple[str, ...]
    status_replicas: tuple[str, ...]
    selector: tuple[str, ...] | None = None
    selector_is_text: bool = True
    """Whether the selector is stored as text (custom resources) or as a LabelSelector (built-in kinds)."""


def in_order(metadata: JsonObject) -> JsonObject:
    """Metadata with its fields in the order that Kubernetes writes them; itself if they are."""
    names = tuple(metadata)
    ordered = _REMEMBERED.get(names)
    if ordered is None:
        ordered = tuple(name for name in _METADATA_ORDER if name in metadata)
        if len(_REMEMBERED) < REMEMBERED_ORDERS:
            _REMEMBERED[names] = ordered
    return metadata if names == ordered else {name: metadata[name] for name in ordered}


class Kind:
    """One served version of a kind; its attributes stay as they are."""

    def __init__(
        self,
        gvk: GroupVersionKind,
        resource: str,
        namespaced: bool,
        strategy: Strategy,
        schema: Schema,
        list_kind: str,
        *,
        singular: str = "",
        storage_version: str = "",
        conversion: Conversion | None = None,
        remote: RemoteConversion | None = None,
        stored_shape: StoredShape | None = None,
        served_shape: StoredShape | None = None,
        deprecation: str = "",
        is_terminating: bool = False,
        empty: JsonObject | None = None,
        subresources: frozenset[str] = frozenset(),
        verbs: frozenset[str] = ALL_VERBS,
        is_custom: bool = False,
        scale: ScalePaths | None = None,
        returns_deleted: bool = False,
        allocate: Allocate | None = None,
        selectable: SelectableFields = METADATA_ONLY,
        in_version: Convert | None = None,
    ) -> None:
        self.gvk = gvk
        self.resource = resource
        self.namespaced = namespaced
        self.strategy = strategy
        self.schema = schema
        self.list_kind = list_kind
        self.singular = singular
        self.storage_version = storage_version
        """The version that objects are stored in when only its name differs; the served one when empty."""
        self.conversion = conversion
        """How objects are stored when they are stored in another shape."""
        self.remote = remote
        """How objects are converted between versions when a webhook does it."""
        self.stored_shape = stored_shape
        """What the store's version makes of objects when they are written and read, where that may change them."""
        self.served_shape = served_shape
        """What this version leaves of objects that are read, where another one is stored."""
        self.deprecation = deprecation
        """What callers of a version that is going away are told."""
        self.is_terminating = is_terminating
        """Whether the kind itself is being deleted, so that nothing new may be made of it."""
        self.empty: JsonObject = empty or {}
        """The kind's empty object, from which ownership of fields is counted on create."""
        self.subresources = subresources
        self.verbs = verbs
        self.is_custom = is_custom
        self.scale = scale
        self.returns_deleted = returns_deleted
        """Whether a delete answers with the object rather than with a Status."""
        self.allocate = allocate
        """What a write of the kind claims or gives up beside the object itself."""
        self.selectable = selectable
        """What field selectors may name."""
        self.in_version = in_version
        """The way of an object to another version of the group whose fields differ."""
        self._prefixes: dict[str, str] = {}
        """The prefixes of namespaces that were asked for."""
        self._fields: FieldManager | None = None
        self._derive(gvk)

    def _derive(self, gvk: GroupVersionKind) -> None:
        """Work out once what every request would."""
        self.api_version = gvk.api_version
        """The ``apiVersion`` of objects in this version."""
        self.identity: JsonObject = {"kind": gvk.kind, "apiVersion": gvk.api_version}
        """What an object says about itself when it says nothing."""
        self.is_stored = "get" in self.verbs
        """Whether objects of the kind can be read back; what cannot is answered, and gone."""
        self.group_resource = GroupResource(gvk.group, self.resource)
        """For messages about objects: ``deployments.apps``."""
        self.group_kind = GroupKind("", "Event") if gvk.group == "events.k8s.io" else gvk.group_kind
        """For messages about validity: ``Deployment.apps``; events of the newer API go by the core group's kind."""
        self.head: bytes = orjson.dumps(self.identity)[:-1] + b","
        """How every encoded object of this version begins."""
        stored = gvk._replace(version=self.storage_version or gvk.version)
        hub = self.conversion.hub if self.conversion else stored
        self._first_fields: JsonObject = {**self.identity, "apiVersion": hub.api_version, "metadata": None}
        """What every stored object begins with, in this order."""
        self._stored_version = b'"apiVersion":"%b"' % hub.api_version.encode()
        self._root = f"{hub.group or 'core'}/{self.resource}/"

    @property
    def fields(self) -> FieldManager:
        """Who owns which field of this kind's objects; worked out for kinds that are written."""
        if self._fields is None:
            self._fields = FieldManager(self.schema, {**self.identity, **self.empty}, self.in_version)
        return self._fields

    def said_by(self, obj: JsonObject) -> GroupKind:
        """The same, but an object of a custom kind is called what it says that it is."""
        if not self.is_custom:
            return self.group_kind
        group, slash, _ = str(obj.get("apiVersion") or "").partition("/")
        return GroupKind(group if slash else "", str(obj.get("kind") or ""))

    def prefix(self, namespace: str = "") -> str:
        """The keys of all objects of the kind, or of those in a namespace."""
        if not namespace or not self.namespaced:
            return self._root
        if namespace in {".", ".."} or "/" in namespace:
            raise ApiError(f'invalid key: "/{self.resource}/{namespace}"')
        return f"{self._root}{namespace}/"

    def key(self, namespace: str, name: str) -> str:
        """The key of one object."""
        prefix = self._prefixes.get(namespace)
        if prefix is None:
            prefix = self.prefix(namespace)
            if len(self._prefixes) < REMEMBERED_PREFIXES:
                self._prefixes[namespace] = prefix
        return prefix + name

    def encode(self, obj: JsonObject) -> bytes:
        """An object as it is stored: head first, metadata in order and without resourceVersion, then the rest."""
        if self.conversion:
            obj = self.conversion.to_hub(obj)
        elif self.remote:
            obj = self.remote.to_stored(obj)
        if self.stored_shape and self.gvk.version != self.storage_version:
            obj = self._in_stored_shape(orjson.loads(orjson.dumps(obj)))
        first = self._first_fields
        stored = {**first, **obj}
        stored["kind"], stored["apiVersion"] = first["kind"], first["apiVersion"]
        metadata: JsonObject = obj["metadata"]
        if "resourceVersion" in metadata:
            metadata = metadata.copy()
            del metadata["resourceVersion"]
        stored["metadata"] = in_order(metadata)
        return b"".join((orjson.dumps(stored), b""))  # a copy of the right size: what is dumped keeps its whole buffer

    def is_stored_as_today(self, value: bytes) -> bool:
        """Whether a stored object is in the version that a write would store now; else writing it again changes it."""
        return not self.is_custom or self._stored_version in value[:_HEAD_BYTES]

    def decode(self, value: bytes) -> JsonObject:
        """A stored object, in this version; the caller's own."""
        if self.remote:
            return self.remote.from_stored(value)
        obj: JsonObject = orjson.loads(value)
        obj["apiVersion"] = self.api_version
        if self.stored_shape:
            self._in_stored_shape(obj)
            if self.served_shape:
                self.served_shape.prune_in_place(obj)
            return obj
        return self.conversion.from_hub(obj) if self.conversion else obj

    def _in_stored_shape(self, obj: JsonObject) -> JsonObject:
        if self.stored_shape:
            self.stored_shape.prune_in_place(obj)
            self.stored_shape.default_in_place(obj)
        return obj

    def served(self, value: bytes) -> bytes:
        """A stored object's bytes, in this version."""
        if self.conversion or self.stored_shape:
            return orjson.dumps(self.decode(value))
        if value.startswith(self.head):
            return value
        if self.remote:
            obj = self.remote.from_stored(value)
            return orjson.dumps({**obj, "metadata": in_order(obj["metadata"])})
        # It may have been stored when another version was the one to store.
        return self.head + value[value.index(_METADATA) :]

    def prepare(self, values: Sequence[bytes]) -> None:
        """Say which stored objects will be read: what has to be converted elsewhere is then converted together."""
        if self.remote:
            self.remote.prepare([value for value in values if not value.startswith(self.head)])

    def bound_to(self, txn: Transaction) -> Kind:
        """This kind, with conversions that ask through a transaction; only custom kinds have such."""
        if not self.remote:
            return self
        bound = Kind(
            self.gvk,
            self.resource,
            self.namespaced,
            self.strategy,
            self.schema,
            self.list_kind,
            singular=self.singular,
            storage_version=self.storage_version,
            remote=self.remote.bound(txn.ask),
            deprecation=self.deprecation,
            is_terminating=self.is_terminating,
            subresources=self.subresources,
            is_custom=self.is_custom,
            scale=self.scale,
            selectable=self.selectable,
        )
        bound._fields = self._fields
        return bound

    def list_item(self, value: bytes) -> bytes:
        """A stored object's bytes as an item of a list; built-in kinds leave kind and apiVersion to the list."""
        value = self.served(value)
        return value if self.is_custom else b"{" + value[len(self.head) :]
