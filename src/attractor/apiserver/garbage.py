"""Garbage collection as a planner: from a snapshot to the deletes and patches that ownership asks for.

Rules, as Kubernetes has them: an object goes when it has owners and none of them exists any more under the uid it
names; an owner in deletion with the ``foregroundDeletion`` finalizer waits for dependents that block it, and these are
deleted; one with the ``orphan`` finalizer goes after its dependents have forgotten it. Owners of a namespaced object
are looked up in its own namespace or among cluster-scoped kinds. Nothing is written here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from attractor.apiserver.asked import DeleteOptions, Preconditions
from attractor.apiserver.operation import MERGE_PATCH, Operation, WriteOptions
from attractor.apiserver.verbs.delete import FOREGROUND, ORPHAN

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from attractor.apiserver.kinds import Kind
    from attractor.objects.gvk import GroupKind
    from attractor.store.contract import Entry, Snapshot

MANAGER = "garbage-collector"


class OwnerReference(msgspec.Struct, rename="camel"):
    """What the planner reads of an owner reference."""

    kind: str
    name: str
    uid: str
    api_version: str = ""
    block_owner_deletion: bool = False


class _Metadata(msgspec.Struct, rename="camel"):
    name: str
    uid: str
    namespace: str = ""
    deletion_timestamp: str | None = None
    finalizers: list[str] = []
    owner_references: list[OwnerReference] = []


class _Object(msgspec.Struct):
    metadata: _Metadata


_decode = msgspec.json.Decoder(_Object).decode


@dataclass(frozen=True, slots=True)
class Node:
    """An object as the planner sees it."""

    kind: Kind
    entry: Entry
    metadata: _Metadata


class Graph:
    """Who owns whom in a snapshot."""

    def __init__(self, snapshot: Snapshot, kinds: Iterable[Kind]) -> None:
        self.nodes: dict[str, Node] = {}
        self.dependents: dict[str, list[Node]] = {}
        for kind in kinds:
            for entry in snapshot.range(kind.prefix()):
                node = Node(kind, entry, _decode(entry.value).metadata)
                self.nodes[node.metadata.uid] = node
        for node in self.nodes.values():
            for owner in node.metadata.owner_references:
                self.dependents.setdefault(owner.uid, []).append(node)

    def exists(self, owner: OwnerReference, dependent: Node) -> bool:
        """Whether an owner is there under that uid, where the dependent may refer to it."""
        found = self.nodes.get(owner.uid)
        if found is None or found.metadata.name != owner.name or found.kind.gvk.kind != owner.kind:
            return False
        return not found.metadata.namespace or found.metadata.namespace == dependent.metadata.namespace


def plan_garbage(snapshot: Snapshot, kinds: Mapping[GroupKind, Kind]) -> Iterator[Operation]:
    """The deletes and patches that bring ownership one step further; none when all is as it should be."""
    graph = Graph(snapshot, kinds.values())
    for node in graph.nodes.values():
        if node.metadata.deletion_timestamp:
            yield from _finish(graph, node)
        elif node.metadata.owner_references:
            yield from _collect(graph, node)


def _collect(graph: Graph, node: Node) -> Iterator[Operation]:
    owners = node.metadata.owner_references
    existing = [owner for owner in owners if graph.exists(owner, node)]
    waiting = [owner for owner in existing if _is_waiting(graph.nodes[owner.uid])]
    if not existing:
        yield _delete(node, "Background")
    elif len(waiting) == len(existing):
        # Every owner left waits for its dependents: this one goes too, in the foreground if it has its own.
        yield _delete(node, "Foreground" if graph.dependents.get(node.metadata.uid) else "Background")
    elif len(existing) < len(owners) or waiting:
        keep = [owner for owner in existing if owner not in waiting]
        yield _patch(node, {"ownerReferences": [_reference(owner) for owner in keep]})


def _is_waiting(node: Node) -> bool:
    return bool(node.metadata.deletion_timestamp) and FOREGROUND in node.metadata.finalizers


def _finish(graph: Graph, node: Node) -> Iterator[Operation]:
    """What lets go of an object in deletion that waits for its dependents."""
    uid, finalizers = node.metadata.uid, node.metadata.finalizers
    dependents = graph.dependents.get(uid, [])
    if ORPHAN in finalizers:
        for dependent in dependents:
            owners = [_reference(owner) for owner in dependent.metadata.owner_references if owner.uid != uid]
            yield _patch(dependent, {"ownerReferences": owners})
        if not dependents:
            yield _patch(node, {"finalizers": [item for item in finalizers if item != ORPHAN]})
    elif FOREGROUND in finalizers:
        blocking = any(
            owner.uid == uid and owner.block_owner_deletion
            for dependent in dependents
            for owner in dependent.metadata.owner_references
        )
        if not blocking:
            yield _patch(node, {"finalizers": [item for item in finalizers if item != FOREGROUND]})


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
