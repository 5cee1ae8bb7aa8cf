"""Transformers, one after the other."""

import pytest

from attractor.k8s.core_v1 import ConfigMap, Secret
from attractor.plan import Action, Chain, DagError, ObjectGraph, Plan, Ref, Requeue, Stop

from .hand import named

ROOT = ConfigMap(metadata=named("root"))


def adding(name: str, error: Exception | None = None) -> "Adding":
    return Adding(name, error)


class Adding:
    """Adds an object, then fails if it has to."""

    def __init__(self, name: str, error: Exception | None = None) -> None:
        self.name, self.error = name, error

    def __call__(self, graph: ObjectGraph) -> None:
        graph.want(Secret(metadata=named(self.name)))
        if self.error is not None:
            raise self.error


def names(graph: ObjectGraph) -> list[str]:
    return [vertex.ref.key.name for vertex in graph.select()]


def test_transformers_apply_in_order_and_leave_what_went_in_alone() -> None:
    graph = ObjectGraph(ROOT)
    transformed = Chain([adding("a"), adding("b")]).apply(graph)
    assert names(transformed.graph) == ["a", "b"]
    assert names(graph) == []


def test_a_stop_ends_the_chain_with_success_and_keeps_what_was_changed() -> None:
    transformed = Chain([adding("a", Stop()), adding("b")]).apply(ObjectGraph(ROOT))
    assert names(transformed.graph) == ["a"]
    assert transformed.stopped_by == "Adding"
    assert transformed.requeue is None


def test_the_first_requeue_is_remembered_while_the_chain_goes_on() -> None:
    chain = Chain([adding("a", Requeue(5, "pods")), adding("b", Requeue(1, "volumes")), adding("c")])
    transformed = chain.apply(ObjectGraph(ROOT))
    assert names(transformed.graph) == ["a", "b", "c"]
    assert transformed.requeue is not None
    assert (transformed.requeue.after_s, str(transformed.requeue)) == (5, "pods")


def test_any_other_error_ends_the_chain_and_names_the_transformer() -> None:
    with pytest.raises(RuntimeError) as caught:
        Chain([adding("a", RuntimeError("broken")), adding("b")]).apply(ObjectGraph(ROOT))
    assert caught.value.__notes__ == ["in transformer Adding of the plan for ConfigMap root"]


def test_a_cycle_that_a_transformer_makes_leaves_no_plan() -> None:
    def circular(graph: ObjectGraph) -> None:
        a, b = (Ref.of(Secret(metadata=named(name))) for name in ("a", "b"))
        graph.depend(a, b)
        graph.depend(b, a)

    with pytest.raises(DagError, match=r"cycle found: Secret [ab] -> Secret [ab] -> Secret [ab]"):
        Plan.build(ObjectGraph(ROOT), Chain([adding("a"), adding("b"), circular]))


def test_graphs_with_the_same_vertices_and_edges_are_equal() -> None:
    one, two = (Chain([adding("a"), adding("b")]).apply(ObjectGraph(ROOT)).graph for _ in range(2))
    assert one == two
    one.change(Ref.of(Secret(metadata=named("a"))), action=Action.CREATE)
    assert one != two


def test_the_root_cannot_be_dropped() -> None:
    graph = ObjectGraph(ROOT)
    graph.drop(graph.root)
    assert graph.root in graph
