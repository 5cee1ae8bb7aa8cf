"""The newcomer's examples, with everything pinned; the published counts of two-phase commit are in test_examples."""

from __future__ import annotations

import pytest

from attractor.check import check
from attractor.check.engine.selection import EngineName
from attractor.check.specs.peterson import Peterson
from attractor.check.specs.philosophers import Philosophers, WeaklyServed
from attractor.check.specs.transaction_commit import CommitProtocol, TransactionCommit
from attractor.check.specs.twophase import TwoPhaseCommit
from tests.check.specs.pinned import Pinned, on_every_engine

PINNED = [
    Pinned(Peterson, {}, (20, 35, 7)),
    Pinned(Philosophers, {}, (42, 104, 7)),
    Pinned(Philosophers, {"seats": 5}, (534, 2_196, 11)),
    Pinned(Philosophers, {"polite": False}, (45, 112, 7), {"deadlock": 6, "none_starves": 6}),
    Pinned(WeaklyServed, {}, (42, 104, 7), {"none_starves": 5}),
    Pinned(TwoPhaseCommit, {}, (288, 1_146, 11)),
    Pinned(TwoPhaseCommit, {"managers": 5}, (8_832, 58_146, 17)),
    Pinned(TransactionCommit, {}, (34, 94, 7)),
    Pinned(CommitProtocol, {}, (288, 1_146, 11)),
    Pinned(CommitProtocol, {"managers": 5}, (8_832, 58_146, 17)),
    Pinned(CommitProtocol, {"coordinator_crashes": True}, (352, 1_306, 11), {"deadlock": 4, "everyone_decides": 4}),
]


@pytest.mark.parametrize(("pinned", "engine"), on_every_engine(PINNED))
def test_examples_have_their_counts_and_their_verdicts(pinned: Pinned, engine: tuple[EngineName, int]) -> None:
    assert not pinned.demand(engine).warnings


def test_a_philosopher_starves_under_weak_fairness_while_the_neighbours_eat_for_ever() -> None:
    trace = check(WeaklyServed()).assert_violated("none_starves")
    assert trace.loop == 1
    starving = trace.steps[0].arguments["p"]
    assert starving not in {step.arguments["p"] for step in trace.steps[trace.loop :]}
    assert "put_down" in {step.action for step in trace.steps[trace.loop :]}


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    ("managers", "counts"),
    [
        pytest.param(7, (296_448, 2_744_706, 23), id="7"),
        pytest.param(8, (1_745_408, 18_507_778, 26), id="8", marks=pytest.mark.nightly),
    ],
)
def test_two_phase_commit_of_many_managers_has_the_published_counts(
    managers: int, counts: tuple[int, int, int], threads: int
) -> None:
    verdict = check(TwoPhaseCommit(managers=managers), threads=threads, engine="native").assert_holds()
    assert (verdict.distinct, verdict.generated, verdict.depth) == counts
