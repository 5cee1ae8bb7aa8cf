"""Transformers that most plans need; each is a small value that can be put into a ``Chain``.

A usual chain, in this order: ``Validate``, ``DoNotTerminate``, ``Own``, ``Freeze``, ``Compare``, ``RemoveOrphans``,
``SecretsFirst``. A chain for an object that is being deleted: ``DoNotTerminate``, ``DeleteInOrder``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from attractor.k8s.core_v1 import ConfigMap, Secret
from attractor.plan.chain import Requeue, Stop
from attractor.plan.comparison import is_as_desired
from attractor.plan.object_graph import Action, Vertex
from attractor.runtime.toolkit.owners import set_controller

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from attractor.objects.resource import Resource
    from attractor.plan.object_graph import ObjectGraph
    from attractor.plan.snapshot import Snapshot


class Refused(ValueError):
    """The object asks for something that cannot be; the text lists every problem."""


@dataclass(frozen=True)
class Validate:
    """Ends the chain, before anything is written, when the root asks for what cannot be."""

    problems: Callable[[], Sequence[str]]

    def __call__(self, graph: ObjectGraph) -> None:
        """Raise ``Refused`` with every problem at once."""
        found = self.problems()
        if found:
            raise Refused(f"{graph.root}: {'; '.join(found)}")


@dataclass(frozen=True)
class DoNotTerminate:
    """A root that is protected stays, with all that belongs to it: its plan has nothing to do but to say so."""

    is_protected: bool

    def __call__(self, graph: ObjectGraph) -> None:
        """Stop the chain when the root is being deleted although it is protected."""
        if self.is_protected and graph.root_object.metadata.is_deleting:
            for vertex in graph.select():
                graph.drop(vertex.ref)
            raise Stop


@dataclass(frozen=True)
class Own:
    """Every wanted object is controlled by the root and carries its labels."""

    labels: Mapping[str, str] = field(default_factory=dict)

    def __call__(self, graph: ObjectGraph) -> None:
        """Set the owner and the labels. Raises ``AlreadyOwned``."""
        root = graph.root_object
        for vertex in graph.select(when=lambda vertex: vertex.after is not None):
            made = vertex.object.deep_copy()
            set_controller(root, made)
            made.metadata.labels = {**made.metadata.labels, **self.labels}
            graph.change(vertex.ref, after=made)


@dataclass(frozen=True)
class Freeze:
    """Objects of some kinds are immutable: the server is told so, and what exists is never written again."""

    kinds: tuple[type[Resource], ...] = (Secret, ConfigMap)

    def __call__(self, graph: ObjectGraph) -> None:
        """Mark the wanted objects of these kinds."""
        for vertex in graph.select(*self.kinds, when=lambda vertex: vertex.after is not None):
            made = cast("ConfigMap | Secret", vertex.object.deep_copy())
            made.immutable = True
            graph.change(vertex.ref, after=made)


@dataclass(frozen=True)
class Compare:
    """Sets the action of each wanted object: create what is missing, patch what differs, leave the rest alone."""

    snapshot: Snapshot
    frozen: tuple[type[Resource], ...] = (Secret, ConfigMap)
    """Kinds whose objects are only ever created."""

    def __call__(self, graph: ObjectGraph) -> None:
        """Decide the actions."""
        for vertex in graph.select(when=lambda vertex: vertex.after is not None):
            before = self.snapshot.get(vertex.ref)
            if before is not None and before.metadata.is_deleting:
                graph.change(vertex.ref, before=before, is_awaited=True, reason="its predecessor is being deleted")
            else:
                graph.change(vertex.ref, before=before, action=self._action(before, vertex.object))

    def _action(self, before: Resource | None, after: Resource) -> Action:
        if before is None:
            return Action.CREATE
        return Action.NONE if type(after) in self.frozen or is_as_desired(before, after) else Action.PATCH


@dataclass(frozen=True)
class RemoveOrphans:
    """Deletes what is there and no longer wanted, after what is wanted has been written."""

    snapshot: Snapshot
    keep: Callable[[Resource], bool] = lambda _: False
    """Objects that stay although they are not wanted."""
    after: Callable[[Vertex, Resource], bool] = lambda *_: True
    """Which wanted objects have to be written, and no longer awaited, before an orphan is deleted; all, unless said."""

    def __call__(self, graph: ObjectGraph) -> None:
        """Add the deletions."""
        wanted = graph.select(when=lambda vertex: vertex.after is not None)
        for ref, obj in self.snapshot.items():
            if ref in graph or ref == graph.root or obj.metadata.is_deleting or self.keep(obj):
                continue
            graph.put(Vertex(ref, before=obj, action=Action.DELETE, reason="it is no longer wanted"))
            graph.depend(ref, *(vertex.ref for vertex in wanted if self.after(vertex, obj)))


@dataclass(frozen=True)
class SecretsFirst:
    """Nothing is written before every Secret that is wanted; no Secret is deleted before everything else."""

    def __call__(self, graph: ObjectGraph) -> None:
        """Add the dependencies."""
        secrets = graph.select(Secret)
        created = [vertex.ref for vertex in secrets if vertex.action is not Action.DELETE]
        deleted = [vertex.ref for vertex in secrets if vertex.action is Action.DELETE]
        others = [vertex.ref for vertex in graph.select() if vertex.ref.kind is not Secret]
        for ref in (*others, *deleted):
            graph.depend(ref, *created)
        for ref in deleted:
            graph.depend(ref, *others)


@dataclass(frozen=True)
class DeleteInOrder:
    """Everything in the snapshot is deleted, rank by rank; a rank's turn comes when the ranks before it are gone."""

    snapshot: Snapshot
    rank: Callable[[Resource], int]
    """Whose turn it is; the lowest first."""
    again_s: float = 1.0
    """When to look again while something is still going; its own events come earlier."""

    def __call__(self, graph: ObjectGraph) -> None:
        """Add the deletions of the first rank that is left. Raises ``Requeue`` until nothing is."""
        if not self.snapshot:
            return
        first = min(self.rank(obj) for obj in self.snapshot.values())
        for ref, obj in self.snapshot.items():
            if self.rank(obj) == first:
                action = Action.NONE if obj.metadata.is_deleting else Action.DELETE
                graph.put(Vertex(ref, before=obj, action=action, reason=f"{graph.root} is being deleted"))
        raise Requeue(self.again_s, f"{len(self.snapshot)} objects are left")
