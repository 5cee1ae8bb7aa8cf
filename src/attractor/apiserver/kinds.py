"""A kind as the server serves it: where its objects live, which rules they obey, which subresources they have."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, NamedTuple, Protocol

import orjson

from attractor.objects.apply import FieldManager
from attractor.objects.errors import ApiError
from attractor.objects.fields import METADATA_ONLY, SelectableFields
from attractor.objects.gvk import GroupKind, GroupResource, GroupVersionKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from attractor.apiserver.conversion import Conversion
    from attractor.apiserver.custom.remote import RemoteConversion
    from attractor.apiserver.strategy import Strategy
    from attractor.apiserver.transaction import Transaction
    from attractor.objects.apply.manager import Convert
    from attractor.objects.jsontypes import JsonObject
    from attractor.objects.schema import Schema

ALL_VERBS = frozenset({"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"})

REMEMBERED_PREFIXES = 1024
"""Of so many namespaces each kind remembers where its objects are."""

_METADATA = b'"metadata":{'
_METADATA_ORDER = (
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
    """Metadata with its fields in the order that Kubernetes writes them."""
    if len(metadata) > len(_METADATA_ORDER):
        return {name: metadata[name] for name in _METADATA_ORDER if name in metadata}
    names = _ordered(tuple(metadata))
    return dict(zip(names, map(metadata.__getitem__, names), strict=True))


@lru_cache(maxsize=1024)
def _ordered(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for name in _METADATA_ORDER if name in names)


@dataclass(frozen=True, eq=False)
class Kind:
    """One served version of a kind."""

    gvk: GroupVersionKind
    resource: str
    namespaced: bool
    strategy: Strategy
    schema: Schema
    list_kind: str
    singular: str = ""
    storage_version: str = ""
    """The version that objects are stored in when only its name differs; the served one when empty."""
    conversion: Conversion | None = None
    """How objects are stored when they are stored in another shape."""
    remote: RemoteConversion | None = None
    """How objects are converted between versions when a webhook does it."""
    stored_shape: StoredShape | None = None
    """What the store's version makes of objects when they are written and read, where that may change them."""
    served_shape: StoredShape | None = None
    """What this version leaves of objects that are read, where another one is stored."""
    deprecation: str = ""
    """What callers of a version that is going away are told."""
    is_terminating: bool = False
    """Whether the kind itself is being deleted, so that nothing new may be made of it."""
    empty: JsonObject = field(default_factory=dict)
    """The kind's empty object, from which ownership of fields is counted on create."""
    subresources: frozenset[str] = frozenset()
    verbs: frozenset[str] = ALL_VERBS
    is_custom: bool = False
    scale: ScalePaths | None = None
    returns_deleted: bool = False
    """Whether a delete answers with the object rather than with a Status."""
    allocate: Allocate | None = None
    """What a write of the kind claims or gives up beside the object itself."""
    selectable: SelectableFields = METADATA_ONLY
    """What field selectors may name."""
    in_version: Convert | None = None
    """The way of an object to another version of the group whose fields differ."""

    @cached_property
    def identity(self) -> JsonObject:
        """What an object says about itself when it says nothing."""
        return {"kind": self.gvk.kind, "apiVersion": self.gvk.api_version}

    @cached_property
    def api_version(self) -> str:
        """The ``apiVersion`` of objects in this version."""
        return self.gvk.api_version

    @cached_property
    def is_stored(self) -> bool:
        """Whether objects of the kind can be read back; what cannot is answered, and gone."""
        return "get" in self.verbs

    @cached_property
    def group_resource(self) -> GroupResource:
        """For messages about objects: ``deployments.apps``."""
        return GroupResource(self.gvk.group, self.resource)

    @cached_property
    def group_kind(self) -> GroupKind:
        """For messages about validity: ``Deployment.apps``; events of the newer API go by the core group's kind."""
        return GroupKind("", "Event") if self.gvk.group == "events.k8s.io" else self.gvk.group_kind

    def said_by(self, obj: JsonObject) -> GroupKind:
        """The same, but an object of a custom kind is called what it says that it is."""
        if not self.is_custom:
            return self.group_kind
        group, slash, _ = str(obj.get("apiVersion") or "").partition("/")
        return GroupKind(group if slash else "", str(obj.get("kind") or ""))

    @cached_property
    def fields(self) -> FieldManager:
        """Who owns which field of this kind's objects."""
        empty = {"kind": self.gvk.kind, "apiVersion": self.gvk.api_version, **self.empty}
        return FieldManager(self.schema, empty, self.in_version)

    @cached_property
    def head(self) -> bytes:
        """How every encoded object of this version begins."""
        return orjson.dumps({"kind": self.gvk.kind, "apiVersion": self.gvk.api_version})[:-1] + b","

    @cached_property
    def stored_as(self) -> GroupVersionKind:
        """The group, version and kind of stored objects."""
        if self.conversion:
            return self.conversion.hub
        return self.gvk._replace(version=self.storage_version or self.gvk.version)

    @cached_property
    def _first_fields(self) -> JsonObject:
        """What every stored object begins with, in this order."""
        return {"kind": self.gvk.kind, "apiVersion": self.stored_as.api_version, "metadata": None}

    @cached_property
    def _prefixes(self) -> dict[str, str]:
        """The prefixes of namespaces that were asked for."""
        return {}

    @cached_property
    def _root(self) -> str:
        return f"{self.stored_as.group or 'core'}/{self.resource}/"

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
        ordered = stored["metadata"] = in_order(obj["metadata"])
        ordered.pop("resourceVersion", None)
        return orjson.dumps(stored)

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
        """This kind, with conversions that ask through a transaction."""
        return replace(self, remote=self.remote.bound(txn.ask)) if self.remote else self

    def list_item(self, value: bytes) -> bytes:
        """A stored object's bytes as an item of a list; built-in kinds leave kind and apiVersion to the list."""
        value = self.served(value)
        return value if self.is_custom else b"{" + value[len(self.head) :]
