"""Garbage collection as a planner: from a snapshot to the deletes and patches that ownership asks for.

Rules, as Kubernetes has them: an object goes when it has owners and none of them exists any more under the uid it
names; an owner in deletion with the ``foregroundDeletion`` finalizer waits for dependents that block it, and these are
deleted; one with the ``orphan`` finalizer goes after its dependents have forgotten it. Owners of a namespaced object
are looked up in its own namespace or among cluster-scoped kinds. Objects that wait for each other in a circle stop
blocking their owners, for else none of them would ever go. Nothing is written here.

``plan_garbage`` looks at a whole snapshot; ``Collector`` keeps an index of owners and looks at what is due.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from attractor.apiserver.controllers.owner_index import OwnerIndex, metadata_of
from attractor.apiserver.request.caller import DeleteOptions, Preconditions
from attractor.apiserver.request.operation import MERGE_PATCH, Operation, WriteOptions
from attractor.apiserver.verbs.delete import FOREGROUND, ORPHAN

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from attractor.apiserver.controllers.owner_index import Metadata, OwnerReference
    from attractor.apiserver.kinds.served_kind import Kind
    from attractor.objects.gvk import GroupKind
    from attractor.store.contract import Entry, Event, Snapshot

MANAGER = "garbage-collector"


@dataclass(frozen=True, slots=True)
class Node:
    """An object as the planner sees it."""

    kind: Kind
    entry: Entry
    metadata: Metadata


class Graph:
    """The graph of owners in a snapshot, read as far as it is needed."""

    def __init__(self, snapshot: Snapshot, kinds: Iterable[Kind], index: OwnerIndex) -> None:
        self._snapshot = snapshot
        self._index = index
        self._nodes: dict[str, Node | None] = {}
        self._by_prefix: dict[str, Kind] = {}
        self._by_name: dict[str, list[Kind]] = {}
        for kind in kinds:
            self._by_prefix.setdefault(kind.prefix(), kind)
            self._by_name.setdefault(kind.gvk.kind, []).append(kind)

    def node(self, key: str) -> Node | None:
        """The object of a key; None where there is none, or its kind is not served."""
        if key not in self._nodes:
            self._nodes[key] = self._look_up(key)
        return self._nodes[key]

    def is_served(self, key: str) -> bool:
        """Whether the kind of a key is served."""
        group, resource, _ = key.split("/", 2)
        return f"{group}/{resource}/" in self._by_prefix

    def _look_up(self, key: str) -> Node | None:
        entry = self._snapshot.get(key)
        group, resource, _ = key.split("/", 2)
        kind = self._by_prefix.get(f"{group}/{resource}/")
        return Node(kind, entry, metadata_of(entry.value)) if entry is not None and kind is not None else None

    def owner(self, reference: OwnerReference, dependent: Node) -> Node | None:
        """An owner that is there under that uid, where the dependent may refer to it."""
        namespace = dependent.metadata.namespace
        for kind in self._by_name.get(reference.kind, ()):
            if kind.namespaced and not namespace:
                continue
            found = self.node(kind.key(namespace if kind.namespaced else "", reference.name))
            if found is not None and found.metadata.uid == reference.uid:
                return found
        return None

    def dependents(self, node: Node) -> list[Node]:
        """The objects that name a node as an owner."""
        uid = node.metadata.uid
        found = (self.node(key) for key in self._index.dependents(uid))
        return [one for one in found if one and any(owner.uid == uid for owner in one.metadata.owner_references)]

    def blocking(self, node: Node) -> list[Node]:
        """The dependents that a node in foreground deletion waits for."""
        uid = node.metadata.uid
        return [
            one
            for one in self.dependents(node)
            if any(owner.uid == uid and owner.block_owner_deletion for owner in one.metadata.owner_references)
        ]

    def is_in_circle(self, node: Node) -> bool:
        """Whether a node that waits for its dependents waits, by way of others that do, for itself."""
        seen: set[str] = set()
        following = [node]
        while following:
            for one in self.blocking(following.pop()):
                uid = one.metadata.uid
                if uid == node.metadata.uid:
                    return True
                if uid not in seen and _is_waiting(one):
                    seen.add(uid)
                    following.append(one)
        return False


def plan_garbage(snapshot: Snapshot, kinds: Mapping[GroupKind, Kind]) -> Iterator[Operation]:
    """The deletes and patches that bring ownership one step further; none when all is as it should be."""
    index = OwnerIndex.of(snapshot, kinds.values())
    graph = Graph(snapshot, kinds.values(), index)
    for key in index.due:
        yield from _plan_one(graph, key)


class Collector:
    """The planner for whoever follows a store: told of every change, it looks at nothing else."""

    def __init__(self) -> None:
        self._index: OwnerIndex | None = None

    def take(self, events: Iterable[Event] | None) -> None:
        """Hear of changes, in order; None where some were missed, so that the next plan looks at everything."""
        if events is None:
            self._index = None
        elif self._index is not None:
            self._index.take(events)

    def plan(self, snapshot: Snapshot, kinds: Mapping[GroupKind, Kind]) -> Iterator[Operation]:
        """As ``plan_garbage``, for a snapshot that shows nothing which was not taken."""
        if self._index is None:
            self._index = OwnerIndex.of(snapshot, kinds.values())
        index = self._index
        graph = Graph(snapshot, kinds.values(), index)
        at_rest: list[str] = []
        for key in tuple(index.due):
            operations = list(_plan_one(graph, key))
            if not operations and graph.is_served(key):
                at_rest.append(key)
            yield from operations
        index.rest(at_rest, snapshot.revision)


def _plan_one(graph: Graph, key: str) -> Iterator[Operation]:
    node = graph.node(key)
    if node is None:
        return
    if node.metadata.deletion_timestamp:
        yield from _finish(graph, node)
    elif node.metadata.owner_references:
        yield from _collect(graph, node)


def _collect(graph: Graph, node: Node) -> Iterator[Operation]:
    owners = node.metadata.owner_references
    found = [(owner, graph.owner(owner, node)) for owner in owners]
    existing = [(owner, one) for owner, one in found if one is not None]
    staying = [owner for owner, one in existing if not _is_waiting(one)]
    if not existing:
        yield _delete(node, "Background")
    elif not staying:
        # Every owner left waits for its dependents: this one goes too, in the foreground if it has its own.
        yield _delete(node, "Foreground" if graph.dependents(node) else "Background")
    elif len(staying) < len(owners):
        yield _patch(node, {"ownerReferences": [_reference(owner) for owner in staying]})


def _is_waiting(node: Node) -> bool:
    return bool(node.metadata.deletion_timestamp) and FOREGROUND in node.metadata.finalizers


def _finish(graph: Graph, node: Node) -> Iterator[Operation]:
    """What lets go of an object in deletion that waits for its dependents."""
    uid, finalizers = node.metadata.uid, node.metadata.finalizers
    if ORPHAN in finalizers:
        dependents = graph.dependents(node)
        for dependent in dependents:
            owners = [_reference(owner) for owner in dependent.metadata.owner_references if owner.uid != uid]
            yield _patch(dependent, {"ownerReferences": owners})
        if not dependents:
            yield _patch(node, {"finalizers": [item for item in finalizers if item != ORPHAN]})
    elif FOREGROUND in finalizers:
        if not graph.blocking(node):
            yield _patch(node, {"finalizers": [item for item in finalizers if item != FOREGROUND]})
        elif graph.is_in_circle(node):
            owners = [{**_reference(owner), "blockOwnerDeletion": False} for owner in node.metadata.owner_references]
            yield _patch(node, {"ownerReferences": owners})


def _reference(owner: OwnerReference) -> Any:
    return msgspec.to_builtins(owner)


def _target(node: Node) -> dict[str, Any]:
    gvk = node.kind.gvk
    return {
        "group": gvk.group,
        "version": gvk.version,
        "resource": node.kind.resource,
        "namespace": node.metadata.namespace,
        "name": node.metadata.name,
    }


def _delete(node: Node, propagation: Any) -> Operation:
    version = str(node.entry.revision)
    conditions = Preconditions(uid=node.metadata.uid, resource_version=version)
    return Operation(
        verb="delete", delete=DeleteOptions(preconditions=conditions, propagation=propagation), **_target(node)
    )


def _patch(node: Node, metadata: dict[str, Any]) -> Operation:
    body = {"metadata": {**metadata, "uid": node.metadata.uid, "resourceVersion": str(node.entry.revision)}}
    return Operation(
        verb="patch",
        patch_type=MERGE_PATCH,
        body=body,
        write=WriteOptions(field_manager=MANAGER),
        **_target(node),
    )
