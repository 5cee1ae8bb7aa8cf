"""Snapshots by ControllerRevision: what an object's spec was before, with a limit, and the way back.

    history = History(snapshot.of(ControllerRevision))
    for revision in history.with_current(cluster, spec, limit=10):
        graph.want(revision)                    # those beyond the limit are no longer wanted, so they are deleted
    spec = history.data(3)                      # what revision 3 had

Contract, as StatefulSets have it: equal data is one revision, whose number moves to the newest when it becomes current
again; numbers only grow; the current revision is always kept, and the ``limit`` newest others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from attractor.k8s.apps_v1 import ControllerRevision
from attractor.objects.resource import ObjectMeta
from attractor.runtime.toolkit.children import hashed_name

if TYPE_CHECKING:
    from collections.abc import Iterable

    from attractor.objects.json_types import JsonObject
    from attractor.objects.resource import Resource


class UnknownRevision(LookupError):
    """There is no such revision; the text lists those there are."""


class History:
    """The revisions of one object, oldest first."""

    def __init__(self, revisions: Iterable[ControllerRevision]) -> None:
        self.revisions = sorted(revisions, key=lambda one: (one.revision, one.metadata.name))

    @property
    def newest(self) -> int:
        """The highest number; 0 when there is no revision."""
        return self.revisions[-1].revision if self.revisions else 0

    def data(self, number: int) -> JsonObject:
        """Return the data of a revision. Raises ``UnknownRevision``."""
        for revision in self.revisions:
            if revision.revision == number:
                return cast("JsonObject", revision.data)
        known = ", ".join(str(one.revision) for one in self.revisions) or "none"
        raise UnknownRevision(f"there is no revision {number}; there are: {known}")

    def with_current(self, owner: Resource, data: Any, limit: int) -> list[ControllerRevision]:
        """The revisions that should be there once ``data`` is the owner's current one, oldest first."""
        name = hashed_name(owner.metadata.name, data)
        others = [one for one in self.revisions if one.metadata.name != name]
        kept = others[len(others) - limit :] if limit < len(others) else others
        known = next((one for one in self.revisions if one.metadata.name == name), None)
        number = known.revision if known is not None and known.revision == self.newest else self.newest + 1
        metadata = ObjectMeta(name=name, namespace=owner.metadata.namespace)
        current = ControllerRevision(metadata=metadata, data=data, revision=number)
        return [*(_desired(one) for one in kept), current]


def _desired(stored: ControllerRevision) -> ControllerRevision:
    metadata = ObjectMeta(name=stored.metadata.name, namespace=stored.metadata.namespace)
    return ControllerRevision(metadata=metadata, data=stored.data, revision=stored.revision)
