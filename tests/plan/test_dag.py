"""The graph: golden orders, laws, and what it refuses."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attractor.plan import Dag, DagError
from attractor.plan.pictures import to_dot, to_svg, to_text

THIRTEEN = [
    (2, 0), (2, 3), (3, 5), (5, 4), (0, 5), (0, 1), (0, 6), (6, 4), (6, 9), (8, 7), (7, 2), (7, 6),
    (9, 10), (9, 12), (9, 11), (11, 12),
]  # fmt: skip
GOLDEN = [8, 7, 2, 3, 0, 6, 9, 11, 12, 10, 1, 5, 4]


def test_the_thirteen_vertices_have_their_golden_order_and_its_exact_reverse() -> None:
    dag = Dag(edges=THIRTEEN)
    assert dag.topological() == GOLDEN
    assert dag.reverse_topological() == GOLDEN[::-1]


def test_the_thirteen_vertices_have_their_golden_levels() -> None:
    assert Dag(edges=THIRTEEN).levels(order=int) == [[8], [7], [2, 6], [0, 3, 4, 9], [1, 5, 10, 11, 12]]


def test_an_order_makes_walks_independent_of_insertion() -> None:
    forwards, backwards = Dag(edges=THIRTEEN), Dag(edges=THIRTEEN[::-1])
    assert forwards == backwards
    assert forwards.topological(int) == backwards.topological(int)
    assert forwards.levels(int) == backwards.levels(int)
    assert forwards.waves(int) == backwards.waves(int)


def test_adding_and_removing_tell_whether_anything_changed() -> None:
    dag: Dag[str] = Dag(["a"])
    assert not dag.add("a")
    assert dag.add("b")
    assert dag.connect("a", "b")
    assert not dag.connect("a", "b")
    assert dag.disconnect("a", "b")
    assert not dag.disconnect("a", "b")
    dag.connect("a", "b")
    assert dag.remove("b")
    assert not dag.remove("b")
    assert dag.edges == []
    dag.check_invariants()


def test_a_stranger_cannot_be_connected() -> None:
    with pytest.raises(DagError, match="a cannot depend on b: b is not in the graph"):
        Dag(["a"]).connect("a", "b")


def test_there_is_a_root_only_if_it_is_the_only_one() -> None:
    assert Dag(edges=[("a", "b")]).root == "a"
    assert Dag(["a", "b"]).root is None
    assert Dag[str]().root is None


def test_validation_names_what_is_wrong() -> None:
    with pytest.raises(DagError, match="no single root found: a, b;"):
        Dag(["a", "b"]).validate()
    with pytest.raises(DagError, match="no single root found: the graph is empty"):
        Dag[str]().validate()
    with pytest.raises(DagError, match="self-cycle found: b depends on itself"):
        Dag(edges=[("a", "b"), ("b", "b")]).validate()
    with pytest.raises(DagError, match=r"cycle found: (b -> c -> b|c -> b -> c);"):
        Dag(edges=[("a", "b"), ("b", "c"), ("c", "b")]).validate()


def test_the_walks_of_work_refuse_cycles() -> None:
    dag = Dag(edges=[("a", "b"), ("b", "a")])
    for walk in (dag.topological, dag.reverse_topological, dag.waves):
        with pytest.raises(DagError, match="cycle found"):
            walk()


def test_what_is_merged_hangs_below_the_root() -> None:
    dag = Dag(edges=[("root", "a")])
    dag.merge(Dag(edges=[("b", "c"), ("b", "a")]))
    assert dag == Dag(edges=[("root", "a"), ("root", "b"), ("root", "c"), ("b", "c"), ("b", "a")])
    dag.validate()


def test_a_chain_longer_than_the_stack_can_be_walked() -> None:
    count = 20_000
    dag = Dag(edges=[(n, n + 1) for n in range(count)])
    assert dag.topological() == list(range(count + 1))
    assert len(dag.waves()) == count + 1


def test_pictures_show_every_vertex_and_every_edge() -> None:
    dag = Dag(edges=[("root", "a"), ("root", "b"), ("a", "c"), ("b", "c"), ("c", "d<")])
    assert to_text(dag) == "root\n├─ a\n│  └─ c\n│     └─ d<\n└─ b\n   └─ c ..."
    assert to_dot(dag).count(" -> ") == 5
    svg = to_svg(dag)
    assert (svg.count("<rect"), svg.count("<line")) == (5, 5)
    assert "d&lt;" in svg


@st.composite
def dags(draw: st.DrawFn) -> Dag[int]:
    """Acyclic: an edge leads from a smaller number to a larger one."""
    count = draw(st.integers(1, 12))
    pairs = [(a, b) for a in range(count) for b in range(a + 1, count)]
    chosen = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    return Dag(draw(st.permutations(range(count))), chosen)


@given(dags())
def test_walks_respect_every_edge_and_visit_everything_once(dag: Dag[int]) -> None:
    order = dag.topological()
    assert sorted(order) == sorted(dag)
    place = {vertex: number for number, vertex in enumerate(order)}
    wave = {vertex: number for number, wave in enumerate(dag.waves()) for vertex in wave}
    assert sorted(wave) == sorted(dag)
    for dependent, dependency in dag.edges:
        assert place[dependent] < place[dependency]
        assert wave[dependent] > wave[dependency]
    assert dag.reverse_topological() == order[::-1]
    assert sorted(vertex for level in dag.levels() for vertex in level) == sorted(dag)


@given(dags())
def test_a_wave_comes_as_early_as_its_dependencies_allow(dag: Dag[int]) -> None:
    wave = {vertex: number for number, wave in enumerate(dag.waves()) for vertex in wave}
    for vertex in dag:
        assert wave[vertex] == max((wave[below] + 1 for below in dag.dependencies(vertex)), default=0)


@given(dags(), dags())
def test_merging_keeps_both_and_is_idempotent(one: Dag[int], two: Dag[int]) -> None:
    merged = one.copy()
    merged.merge(two)
    merged.check_invariants()
    assert set(one.edges) | set(two.edges) <= set(merged.edges)
    again = merged.copy()
    again.merge(merged)
    assert again == merged


@given(dags(), st.integers(0, 11))
def test_a_copy_changes_alone_and_removal_leaves_no_edge_behind(dag: Dag[int], vertex: int) -> None:
    before = dag.copy()
    changed = dag.copy()
    assert changed.remove(vertex) == (vertex in dag)
    changed.check_invariants()
    assert all(vertex not in edge for edge in changed.edges)
    assert dag == before
