"""The graph that is noted while the search goes on is the graph that a second walk over all states builds."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings

from attractor.check import Edit, Faults, World
from attractor.check.engine.exploration import OUTSIDE, Graph, Settings
from attractor.check.engine.native import NativeSearch
from attractor.check.engine.search import Search
from attractor.check.specs.irsa import Irsa
from attractor.check.specs.twophase import TwoPhaseCommit
from tests.check.random_specs import make_spec, programs
from tests.check.world.pairs import KEY, Pair, pair, pairs

if TYPE_CHECKING:
    from attractor.check.engine.model import Model


def parts(graph: Graph) -> tuple[list[int], list[int], list[int]]:
    return list(graph.offsets), list(graph.targets), list(graph.actions)


def noted_and_walked(model: Any, **limits: Any) -> tuple[Graph, Graph]:
    return tuple(NativeSearch(model(), Settings(edges=each, **limits)).run().graph() for each in (True, False))  # type: ignore[return-value]


@given(program=programs)
@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
def test_noted_edges_of_random_specifications_are_those_of_a_second_walk(program: Any) -> None:
    noted, walked = noted_and_walked(lambda: make_spec(program).compile())
    assert parts(noted) == parts(walked)


@pytest.mark.parametrize("make", [lambda: TwoPhaseCommit(managers=4), lambda: Irsa(workers=2)])
def test_noted_edges_are_those_of_a_second_walk_and_of_the_python_engine(make: Any) -> None:
    noted, walked = noted_and_walked(lambda: make().compile())
    assert parts(noted) == parts(walked)
    plain = Search(make().compile()).run().graph()
    assert len(plain.targets) == len(noted.targets)
    assert len(plain.offsets) == len(noted.offsets)


def test_noted_edges_of_a_world_are_those_of_a_second_walk() -> None:
    """Most of its states wait once for a step that is not known yet, so their edges come out of turn."""

    def composed() -> Model:
        return World(
            controllers=[pairs], objects=[pair()], users=[Edit(Pair, KEY, spec=[{"text": "y"}])], faults=Faults(crash=1)
        ).compile()

    noted, walked = noted_and_walked(composed)
    assert parts(noted) == parts(walked)


def steps(search: NativeSearch) -> Counter[tuple[Any, int, Any]]:
    """Every step as values, for threads number states and values in the order in which they happen to find them."""
    graph, slots = search.graph(), search.model.slots
    state = [
        tuple(slot.domain.values[value] for slot, value in zip(slots, search.state(index), strict=True))
        for index in range(search.counts.distinct)
    ]
    return Counter(
        (state[index], graph.actions[edge], None if graph.targets[edge] == OUTSIDE else state[graph.targets[edge]])
        for index in range(search.counts.distinct)
        for edge in range(graph.offsets[index], graph.offsets[index + 1])
    )


@pytest.mark.parametrize(
    ("make", "threads"),
    [(lambda: TwoPhaseCommit(managers=5), 2), (lambda: TwoPhaseCommit(managers=5), 3), (lambda: Irsa(workers=3), 2)],
)
def test_several_threads_note_the_steps_that_one_does(make: Any, threads: int) -> None:
    """Large enough for rounds that are shared, so that one thread inserts what another has noted."""
    alone = steps(NativeSearch(make().compile(), Settings(edges=False)).run())
    assert steps(NativeSearch(make().compile(), Settings(edges=True, threads=threads)).run()) == alone


@given(program=programs)
@settings(max_examples=30, suppress_health_check=[HealthCheck.too_slow])
def test_two_threads_note_the_steps_of_random_specifications(program: Any) -> None:
    model = make_spec(program).compile
    alone = steps(NativeSearch(model(), Settings(edges=False)).run())
    assert steps(NativeSearch(model(), Settings(edges=True, threads=2)).run()) == alone


@pytest.mark.parametrize("threads", [1, 2])
def test_edges_are_given_up_when_the_search_needs_their_memory(threads: int) -> None:
    model = TwoPhaseCommit(managers=5).compile
    whole = NativeSearch(model(), Settings(edges=True, threads=threads)).run()
    counts = whole._kernel.counts()
    enough = (
        counts["table_bytes"] + counts["trie_bytes"] + counts["edge_bytes"] // 2
    )  # of two threads, one may find more
    limited = NativeSearch(model(), Settings(edges=True, threads=threads, memory_bytes=enough)).run()
    assert counts["edge_bytes"] > 0
    assert limited._kernel.counts()["edge_bytes"] == 0
    assert limited.bound is None
    assert steps(limited) == steps(whole)


def test_a_last_level_that_is_not_expanded_is_walked_afterwards() -> None:
    whole = NativeSearch(TwoPhaseCommit(managers=3).compile(), Settings(edges=True)).run()
    noted, walked = noted_and_walked(TwoPhaseCommit(managers=3).compile, max_depth=whole.counts.depth)
    assert parts(noted) == parts(walked) == parts(whole.graph())


@given(program=programs)
@settings(max_examples=30, suppress_health_check=[HealthCheck.too_slow])
def test_a_mask_within_some_states_is_the_whole_mask_there_and_nothing_elsewhere(program: Any) -> None:
    model = make_spec(program).compile()
    of_states = {each for claim in model.properties for case in claim.cases if not case.steps for each in case.operands}
    for search in (NativeSearch(model, Settings(edges=True)).run(), Search(model, Settings()).run()):
        size = search.counts.distinct
        within = bytearray(index % 3 == 1 for index in range(size))
        for predicate in of_states:
            limited = search.mask(predicate, within)
            whole = search.mask(predicate)
            assert limited == bytearray(one and other for one, other in zip(whole, within, strict=True))
