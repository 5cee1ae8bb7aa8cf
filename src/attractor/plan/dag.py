"""``Dag``: vertices, and which of them depend on which.

    dag.connect("app", "database")        # app depends on database

The root depends, directly or not, on everything; leaves depend on nothing. Work goes leaves first: ``waves``.

Worked example: ``connect(a, b)``, ``connect(a, c)``, ``connect(b, d)``, ``connect(c, d)``. Then the root is ``a``, the
topological order is a, c, b, d, the levels are [a], [b, c], [d], and the waves are [d], [b, c], [a].

Walks visit in the order of insertion, or in that of a key function ``order``, so equal graphs give equal walks. A graph
may have cycles while it is being built; ``validate`` and the walks refuse them.
"""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator
    from typing import Self

V = TypeVar("V", bound="Hashable")


class DagError(ValueError):
    """The graph is not one of work that can be done; the text says why, and names the vertices."""


class Dag(Generic[V]):
    """A directed graph, meant to have one root and no cycle; equal when vertices and edges are, in whatever order."""

    def __init__(self, vertices: Iterable[V] = (), edges: Iterable[tuple[V, V]] = ()) -> None:
        self._below: dict[V, dict[V, None]] = {}
        """What each vertex depends on, in the order of connecting."""
        self._above: dict[V, dict[V, None]] = {}
        """The same edges the other way round."""
        for vertex in vertices:
            self.add(vertex)
        for dependent, dependency in edges:
            self.add(dependent)
            self.add(dependency)
            self.connect(dependent, dependency)

    def check_invariants(self) -> None:
        """Assert the invariants, which hold between any two calls."""
        assert self._below.keys() == self._above.keys(), "a vertex is known on one side only"
        down = {(a, b) for a, below in self._below.items() for b in below}
        assert down == {(a, b) for b, above in self._above.items() for a in above}, "an edge has one end only"

    def __contains__(self, vertex: object) -> bool:
        return vertex in self._below

    def __iter__(self) -> Iterator[V]:
        return iter(self._below)

    def __len__(self) -> int:
        return len(self._below)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Dag):
            return NotImplemented
        return self._below == other._below

    __hash__ = None  # type: ignore[assignment]  # it changes

    def __repr__(self) -> str:
        return f"Dag({len(self)} vertices, {sum(map(len, self._below.values()))} edges)"

    def copy(self) -> Self:
        """A graph of its own over the same vertices."""
        return type(self)(self, self.edges)

    def add(self, vertex: V) -> bool:
        """Add a vertex; answers whether it is new."""
        if vertex in self._below:
            return False
        self._below[vertex] = {}
        self._above[vertex] = {}
        return True

    def remove(self, vertex: V) -> bool:
        """Remove a vertex with its edges; answers whether it was there."""
        if vertex not in self._below:
            return False
        for dependency in self._below.pop(vertex):
            self._above[dependency].pop(vertex, None)
        for dependent in self._above.pop(vertex):
            self._below.get(dependent, {}).pop(vertex, None)
        return True

    def connect(self, dependent: V, dependency: V) -> bool:
        """Make one vertex depend on another; answers whether that is new. Raises ``DagError`` on a stranger."""
        for vertex in (dependent, dependency):
            if vertex not in self._below:
                raise DagError(f"{dependent} cannot depend on {dependency}: {vertex} is not in the graph; add it first")
        is_new = dependency not in self._below[dependent]
        self._below[dependent][dependency] = None
        self._above[dependency][dependent] = None
        return is_new

    def disconnect(self, dependent: V, dependency: V) -> bool:
        """Undo ``connect``; answers whether there was an edge."""
        if dependency not in self._below.get(dependent, {}):
            return False
        del self._below[dependent][dependency]
        del self._above[dependency][dependent]
        return True

    def merge(self, other: Dag[V]) -> None:
        """Take over another graph's vertices and edges; what is new hangs below this graph's root, if it has one."""
        root = self.root
        for vertex in other:
            if self.add(vertex) and root is not None:
                self.connect(root, vertex)
        for vertex in other:
            for dependency in other._below[vertex]:
                self.connect(vertex, dependency)

    def dependencies(self, vertex: V) -> tuple[V, ...]:
        """Return the direct dependencies of a vertex."""
        return tuple(self._below[vertex])

    def dependents(self, vertex: V) -> tuple[V, ...]:
        """Return the direct dependents of a vertex."""
        return tuple(self._above[vertex])

    @property
    def edges(self) -> list[tuple[V, V]]:
        """Every (dependent, dependency)."""
        return [(vertex, dependency) for vertex, below in self._below.items() for dependency in below]

    @property
    def root(self) -> V | None:
        """The one vertex that nothing depends on; None when there is none, or more than one."""
        found = self._roots()
        return found[0] if len(found) == 1 else None

    def _roots(self) -> list[V]:
        return [vertex for vertex, above in self._above.items() if not above]

    def validate(self) -> None:
        """Raise ``DagError`` unless there is exactly one root and no cycle."""
        for vertex, below in self._below.items():
            if vertex in below:
                raise DagError(f"self-cycle found: {vertex} depends on itself")
        self._check_acyclic()
        roots = self._roots()
        if len(roots) != 1:
            named = ", ".join(str(vertex) for vertex in roots) or "the graph is empty"
            raise DagError(f"no single root found: {named}; everything must be below one vertex")

    def _check_acyclic(self) -> None:
        try:
            TopologicalSorter(self._below).prepare()
        except CycleError as error:
            cycle = " -> ".join(str(vertex) for vertex in reversed(error.args[1]))
            raise DagError(f"cycle found: {cycle}; what depends on itself can never be done") from None

    def topological(self, order: Callable[[V], Any] | None = None) -> list[V]:
        """Each vertex before what it depends on, the root first. Raises ``DagError`` on a cycle."""
        return self.reverse_topological(order)[::-1]

    def reverse_topological(self, order: Callable[[V], Any] | None = None) -> list[V]:
        """Each vertex after what it depends on, the root last: the order of work. Raises ``DagError`` on a cycle."""
        self._check_acyclic()
        done: dict[V, None] = {}
        for root in _ordered(self._roots(), order):
            self._visit(root, order, done)
        return list(done)

    def _visit(self, root: V, order: Callable[[V], Any] | None, done: dict[V, None]) -> None:
        """Depth first, without recursion: a chain may be longer than the stack."""
        path = [(root, iter(_ordered(self._below[root], order)))]
        while path:
            vertex, rest = path[-1]
            following = next((below for below in rest if below not in done), None)
            if following is None:
                done[vertex] = None
                path.pop()
            else:
                path.append((following, iter(_ordered(self._below[following], order))))

    def levels(self, order: Callable[[V], Any] | None = None) -> list[list[V]]:
        """Breadth first from the root: what is one edge away from it, two, and so on. Cycles are no trouble here."""
        seen = dict.fromkeys(_ordered(self._roots(), order))
        levels = [list(seen)] if seen else []
        while levels and levels[-1]:
            below = dict.fromkeys(b for vertex in levels[-1] for b in self._below[vertex] if b not in seen)
            seen.update(below)
            levels.append(_ordered(below, order))
        return levels[:-1]

    def waves(self, order: Callable[[V], Any] | None = None) -> list[list[V]]:
        """Leaves first: each wave depends only on earlier ones, so what is in one wave can be done at once."""
        sorter = TopologicalSorter(self._below)
        try:
            sorter.prepare()
        except CycleError:
            self._check_acyclic()
        waves = []
        while sorter.is_active():
            ready = sorter.get_ready()
            waves.append(_ordered(ready, order))
            sorter.done(*ready)
        return waves


def _ordered(vertices: Iterable[V], order: Callable[[V], Any] | None) -> list[V]:
    return list(vertices) if order is None else sorted(vertices, key=order)
