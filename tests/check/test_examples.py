"""The newcomer's examples: published counts, and what breaks when a line is wrong."""

from __future__ import annotations

from typing import Any

import pytest

from attractor.check import check, require
from attractor.check.specs.peterson import RAISED, WAITING, Peterson
from attractor.check.specs.philosophers import Philosophers
from attractor.check.specs.twophase import TwoPhaseCommit

ENGINES: list[dict[str, Any]] = [
    {"engine": "python"},
    {"engine": "native", "threads": 1},
    {"engine": "native", "threads": 2},
]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("managers", "states"), [(3, 288), (5, 8_832)])
def test_two_phase_commit_has_the_published_number_of_states(
    managers: int, states: int, engine: dict[str, Any]
) -> None:
    verdict = check(TwoPhaseCommit(managers=managers), **engine).assert_holds()
    assert verdict.distinct == states


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(("managers", "states", "generated"), [(7, 296_448, 2_744_706), (8, 1_745_408, 18_507_778)])
def test_two_phase_commit_of_many_managers(managers: int, states: int, generated: int, threads: int) -> None:
    verdict = check(TwoPhaseCommit(managers=managers), threads=threads).assert_holds()
    assert (verdict.distinct, verdict.generated) == (states, generated)
    assert sum(each.executed for each in verdict.coverage) < 100


@pytest.mark.parametrize("engine", ENGINES)
def test_peterson_excludes_and_starves_nobody(engine: dict[str, Any]) -> None:
    verdict = check(Peterson(), **engine).assert_holds()
    assert (verdict.distinct, verdict.generated, verdict.depth) == (20, 35, 7)


@pytest.mark.parametrize("engine", ENGINES)
def test_peterson_without_the_turn_is_broken(engine: dict[str, Any]) -> None:
    class Selfish(Peterson):
        def yield_turn(self, p: int) -> None:
            require(self.at[p] == RAISED)
            self.turn = p
            self.at[p] = WAITING

    trace = check(Selfish(), **engine).assert_violated("mutual_exclusion")
    assert len(trace) == 6


@pytest.mark.parametrize("engine", ENGINES)
def test_polite_philosophers_neither_deadlock_nor_starve(engine: dict[str, Any]) -> None:
    assert check(Philosophers(seats=3), **engine).assert_holds().distinct == 42
    assert check(Philosophers(seats=4), **engine).assert_holds().distinct == 150


@pytest.mark.parametrize("engine", ENGINES)
def test_philosophers_who_all_reach_for_the_same_side_deadlock(engine: dict[str, Any]) -> None:
    verdict = check(Philosophers(seats=3, polite=False), **engine)
    assert len(verdict.assert_violated("deadlock")) == 6
    starving = verdict.assert_violated("none_starves")
    assert starving.loop == len(starving) == 6


@pytest.mark.parametrize("engine", ENGINES)
def test_weak_fairness_is_not_enough_for_the_philosophers(engine: dict[str, Any]) -> None:
    from attractor.check import action

    class Patient(Philosophers):
        @action(p=Philosophers.seats, fair="weak")
        def take_second(self, p: int) -> None:
            _, second = self.forks(p)
            require(self.at[p] == "holding" and self.holder[second] is None)
            self.holder[second] = p
            self.at[p] = "eating"

    trace = check(Patient(seats=3), **engine).assert_violated("none_starves")
    assert trace.loop is not None
    assert trace.loop < len(trace)
