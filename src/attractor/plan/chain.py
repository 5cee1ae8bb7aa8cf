"""``Chain``: transformers, one after the other, each turning a graph into a graph.

A transformer is a function that changes the graph it is given; the chain gives each one a copy, so the graph that went
in stays as it was, and what a failing transformer had begun is gone. It may raise:

``Stop``           the rest of the chain is not needed: success, with what has been changed so far
``Requeue``        come again after a time: remembered (the first one wins), and the chain goes on, changes included
anything else      ends the chain; nothing of the plan is carried out
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from attractor.plan.object_graph import ObjectGraph

if TYPE_CHECKING:
    from collections.abc import Iterable

Transformer: TypeAlias = Callable[[ObjectGraph], None]


class Stop(Exception):
    """The graph is complete; what follows in the chain is left out."""


class Requeue(Exception):
    """The plan is to be made again after a time, although nothing may have changed."""

    def __init__(self, after_s: float, reason: str) -> None:
        super().__init__(reason)
        self.after_s = after_s


class Transformed(NamedTuple):
    """Result of a chain on a graph."""

    graph: ObjectGraph
    requeue: Requeue | None = None
    """The first request to come again."""
    stopped_by: str = ""
    """The transformer that stopped the chain early."""


class Chain:
    """Transformers in their order."""

    def __init__(self, transformers: Iterable[Transformer]) -> None:
        self.transformers = tuple(transformers)

    def apply(self, graph: ObjectGraph) -> Transformed:
        """The transformed graph; raises what a transformer raised besides ``Stop`` and ``Requeue``."""
        requeue: Requeue | None = None
        for transformer in self.transformers:
            graph = graph.copy()
            try:
                transformer(graph)
            except Stop:
                return Transformed(graph, requeue, name_of(transformer))
            except Requeue as error:
                requeue = requeue or error
            except Exception as error:
                error.add_note(f"in transformer {name_of(transformer)} of the plan for {graph.root}")
                raise
        return Transformed(graph, requeue)


def name_of(transformer: Transformer) -> str:
    """A transformer's name, for people."""
    return getattr(transformer, "__name__", None) or type(transformer).__name__
