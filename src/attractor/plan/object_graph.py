"""``ObjectGraph``: a ``Dag`` of API objects, each with what is there, what should be there, and what to do about it.

    graph = ObjectGraph(cluster)                      # the root: done last
    secret = graph.want(Secret(...))                  # below the root
    workload = graph.want(StatefulSet(...))
    graph.depend(workload, secret)                    # the Secret first

Vertices are values: a transformer replaces them (``change``), it never edits the objects in them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple

from attractor.objects.gvk import Key  # noqa: TC001 - a NamedTuple keeps its annotations
from attractor.objects.resource import Resource  # noqa: TC001
from attractor.plan.dag import Dag

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Self


class Action(StrEnum):
    """Action on an object."""

    CREATE = "create"
    UPDATE = "update"
    """Written exactly as it should be, only if it is still the one that was read."""
    PATCH = "patch"
    """The desired fields laid over it, whatever else has changed, only if it is still this very object (its uid)."""
    DELETE = "delete"
    STATUS = "status"
    NONE = "none"


class Ref(NamedTuple):
    """Reference to an object: its kind and its key."""

    kind: type[Resource]
    key: Key

    @classmethod
    def of(cls, obj: Resource) -> Ref:
        """The reference to an object."""
        return cls(type(obj), obj.key)

    def __str__(self) -> str:
        return f"{self.kind.gvk.kind} {self.key.name}"

    @property
    def order(self) -> tuple[str, ...]:
        """Sorts references; nothing but determinism depends on it."""
        return (self.kind.gvk.kind, self.kind.gvk.group, self.key.namespace, self.key.name)


@dataclass(frozen=True, slots=True)
class Vertex:
    """One object of a plan."""

    ref: Ref
    before: Resource | None = None
    """As the snapshot has it; None when it has none."""
    after: Resource | None = None
    """As it should be; None when it should not be there."""
    action: Action = Action.NONE
    is_awaited: bool = False
    """Whether what depends on it has to wait for more than the action: a rollout, a deletion under way."""
    reason: str = ""
    """Why it is deleted or awaited; for people."""

    @property
    def object(self) -> Resource:
        """The object as it should be, or else as it is."""
        found = self.after if self.after is not None else self.before
        assert found is not None, "a vertex has an object before or after"
        return found


class ObjectGraph:
    """Vertices by reference, and their dependencies. The root is what the plan is for."""

    def __init__(self, root: Resource) -> None:
        self.root = Ref.of(root)
        self.dag: Dag[Ref] = Dag([self.root])
        self._vertices: dict[Ref, Vertex] = {}
        self.put(Vertex(self.root, root, root))

    def copy(self) -> Self:
        """A graph of its own with the same vertices."""
        made = type(self)(self.root_object)
        for vertex in self:
            made.put(vertex)
        made.dag = self.dag.copy()
        return made

    @property
    def root_object(self) -> Resource:
        """The root as it is stored."""
        found = self._vertices[self.root].before
        assert found is not None, "the root of a plan is stored"
        return found

    def __getitem__(self, ref: Ref) -> Vertex:
        return self._vertices[ref]

    def __contains__(self, ref: object) -> bool:
        return ref in self._vertices

    def __iter__(self) -> Iterator[Vertex]:
        return iter(self._vertices.values())

    def __len__(self) -> int:
        return len(self._vertices)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ObjectGraph):
            return NotImplemented
        return self.dag == other.dag and self._vertices == other._vertices

    __hash__ = None  # type: ignore[assignment]  # it changes

    def put(self, vertex: Vertex) -> Ref:
        """Add a vertex below the root, or replace the one of the same reference."""
        if self.dag.add(vertex.ref):
            self.dag.connect(self.root, vertex.ref)
        self._vertices[vertex.ref] = vertex
        return vertex.ref

    def want(self, obj: Resource) -> Ref:
        """Add an object that should be there; what to do about it is decided later."""
        return self.put(Vertex(Ref.of(obj), after=obj))

    def change(self, ref: Ref, **fields: Any) -> None:
        """Replace some fields of a vertex."""
        self._vertices[ref] = replace(self._vertices[ref], **fields)

    def drop(self, ref: Ref) -> None:
        """Leave an object out of the plan altogether; the root stays."""
        if ref != self.root:
            self.dag.remove(ref)
            self._vertices.pop(ref, None)

    def depend(self, dependent: Ref, *dependencies: Ref) -> None:
        """Make an object's turn come only after others'. Raises ``DagError`` on one that is not in the graph."""
        for dependency in dependencies:
            self.dag.connect(dependent, dependency)

    def select(self, *kinds: type[Resource], when: Callable[[Vertex], bool] | None = None) -> list[Vertex]:
        """The vertices below the root, of some kinds (all, if none is named), in the order of adding."""
        return [
            vertex
            for ref, vertex in self._vertices.items()
            if ref != self.root and (not kinds or ref.kind in kinds) and (when is None or when(vertex))
        ]

    def waves(self) -> list[list[Vertex]]:
        """Leaves first: what can be done at once, wave by wave; the root is the last one. Raises ``DagError``."""
        return [[self._vertices[ref] for ref in wave] for wave in self.dag.waves(order=lambda ref: ref.order)]
