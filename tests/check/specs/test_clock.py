"""The clock-based model: what holds in a kind world, and what each fault does to it."""

from __future__ import annotations

import pytest

from attractor.check import check
from attractor.check.engine.selection import EngineName
from attractor.check.specs.clock import Clock, MapAndClocks
from tests.check.specs.pinned import ENGINES, Pinned, on_every_engine

NO_BOUND = ("both_exist_at_the_deadline", "is_map_and_clocks")

HOLDS = [
    Pinned(MapAndClocks, {}, (21, 66, 9)),
    Pinned(Clock, {}, (293, 2_513, 44)),
    Pinned(Clock, {"duplicates": False}, (128, 223, 36)),
    Pinned(Clock, {"crashes": 1, "deadline": 9}, (6_457, 63_355, 49)),
    Pinned(Clock, {"losses": 1, "deadline": 9, "resync": True}, (15_353, 166_704, 57)),
]
CONVERGES_WITHOUT_A_BOUND = [
    Pinned(Clock, {"partitions": 1}, (3_198, 22_940, 47), dict.fromkeys(NO_BOUND, 19)),
    Pinned(Clock, {"stale_reads": True}, (2_304, 26_381, 50), dict.fromkeys(NO_BOUND, 20)),
    Pinned(
        Clock,
        {"stale_reads": True, "duplicates": False, "resync": True},
        (10_756, 83_522, 44),
        dict.fromkeys(NO_BOUND, 22),
    ),
]
HOLE = {"stops_at_cm1": True, "crashes": 1}


@pytest.mark.parametrize(("pinned", "engine"), on_every_engine(HOLDS))
def test_both_predicates_hold_and_the_system_is_a_map_with_clocks(
    pinned: Pinned, engine: tuple[EngineName, int]
) -> None:
    verdict = pinned.demand(engine)
    assert verdict.verdict == "holds"
    assert not verdict.warnings


@pytest.mark.parametrize(("pinned", "engine"), on_every_engine(CONVERGES_WITHOUT_A_BOUND))
def test_some_faults_leave_no_bound_on_the_clock_but_the_system_converges(
    pinned: Pinned, engine: tuple[EngineName, int]
) -> None:
    assert pinned.demand(engine)["converges"].verdict == "holds"


@pytest.mark.parametrize("engine", ENGINES, ids=str)
def test_a_controller_that_stops_at_cm1_never_creates_cm2_after_a_crash_between_the_two(
    engine: tuple[EngineName, int],
) -> None:
    found = {**dict.fromkeys(NO_BOUND, 20), "deadlock": 27, "converges": 27}
    verdict = Pinned(Clock, {**HOLE, "duplicates": False}, (3_317, 10_541, 39), found).demand(engine)
    trace = verdict["converges"].trace
    assert trace is not None
    assert trace.actions.count("crash(0)") == 1
    *_, last = trace.states()
    assert last["objects['cm1']"]
    assert not last["objects['cm2']"]


def test_without_a_crash_the_hole_is_not_seen() -> None:
    verdict = check(Clock(stops_at_cm1=True)).assert_holds()
    assert verdict.warnings == (
        "weak fairness of answer_query(0, get cm2) never matters: it never has a step that changes anything",
    )


def test_relisting_does_not_mend_the_hole() -> None:
    assert check(Clock(**HOLE, resync=True))["converges"].verdict == "violated"


def test_the_fixed_controller_survives_the_same_crash() -> None:
    check(Clock(crashes=1, deadline=9, duplicates=False)).assert_holds()


@pytest.mark.parametrize(("crashes", "least"), [(0, 5), (1, 9), (2, 13)])
def test_each_crash_costs_four_ticks_of_the_clock(crashes: int, least: int) -> None:
    def verdict(deadline: int) -> str:
        checked = check(Clock(crashes=crashes, deadline=deadline), properties=["both_exist_at_the_deadline"])
        return checked["both_exist_at_the_deadline"].verdict

    assert (verdict(least - 1), verdict(least)) == ("violated", "holds")


@pytest.mark.parametrize("fault", [{"partitions": 1}, {"stale_reads": True}], ids=str)
def test_no_deadline_is_late_enough_for_partitions_and_stale_reads(fault: dict[str, int]) -> None:
    for deadline in (5, 13, 21):
        name = "both_exist_at_the_deadline"
        assert check(Clock(**fault, deadline=deadline), properties=[name])[name].verdict == "violated"


def test_two_controllers_keep_both_predicates_and_each_its_own_clock() -> None:
    verdict = check(Clock(controllers=2, duplicates=False), threads=2).assert_holds()
    assert (verdict.distinct, verdict.generated, verdict.depth) == (120_646, 494_754, 66)


@pytest.mark.slow
def test_with_every_fault_at_once_cm2_implies_cm1_and_the_system_converges() -> None:
    spec = Clock(crashes=1, losses=1, partitions=1, stale_reads=True, resync=True, duplicates=False)
    verdict = check(spec, threads=2)
    assert [each.name for each in verdict.violations()] == list(NO_BOUND)
    assert verdict.distinct == 530_494
