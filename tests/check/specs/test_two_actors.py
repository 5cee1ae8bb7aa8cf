"""ClusterInst, AppInst and the cloudlet upgrade: with messages lost and late, and crashes of either side."""

from __future__ import annotations

import pytest

from attractor.check import Spec, check
from attractor.check.engine.selection import EngineName
from attractor.check.specs.appinst import AppInst
from attractor.check.specs.cloudlet_upgrade import CloudletUpgrade
from attractor.check.specs.clusterinst import TRANSITIONS, ClusterInst
from tests.check.specs.pinned import Pinned, on_every_engine

PINNED = [
    Pinned(ClusterInst, {}, (578, 1_399, 20)),
    Pinned(ClusterInst, {"operations": 2}, (108, 196, 14)),
    Pinned(ClusterInst, {"disconnects": 1}, (4_319, 13_070, 22)),
    Pinned(ClusterInst, {"crm_crashes": 1}, (1_291, 3_530, 21)),
    Pinned(ClusterInst, {"crm_crashes": 1, "disconnects": 1}, (8_897, 30_827, 24)),
    Pinned(ClusterInst, {"lost_progress": 1}, (1_130, 3_412, 20)),
    Pinned(ClusterInst, {"lost_progress": 2, "crm_crashes": 1}, (3_566, 12_291, 23)),
    Pinned(AppInst, {"lost_progress": 1}, (2_778, 8_500, 27)),
    Pinned(AppInst, {}, (1_372, 3_380, 27)),
    Pinned(AppInst, {"crm_crashes": 1}, (3_311, 8_914, 28)),
    Pinned(CloudletUpgrade, {}, (32, 42, 13)),
    Pinned(CloudletUpgrade, {"disconnects": 1}, (279, 642, 15)),
    Pinned(CloudletUpgrade, {"crm_crashes": 1}, (182, 343, 15)),
    Pinned(CloudletUpgrade, {"crm_crashes": 2, "disconnects": 2}, (2_811, 9_599, 21)),
]
LARGE = [
    Pinned(AppInst, {"disconnects": 1}, (11_716, 36_862, 29)),
    Pinned(AppInst, {"operations": 4}, (12_882, 39_977, 36)),
    Pinned(ClusterInst, {"lost_progress": 1, "crm_crashes": 1, "disconnects": 1}, (19_395, 77_465, 25)),
    Pinned(AppInst, {"lost_progress": 1, "crm_crashes": 1, "disconnects": 1}, (56_073, 225_616, 31)),
    Pinned(AppInst, {"operations": 4, "crm_crashes": 1, "disconnects": 1}, (272_781, 1_135_853, 40)),
]


@pytest.mark.parametrize(("pinned", "engine"), on_every_engine(PINNED))
def test_states_have_one_owner_no_work_is_lost_and_everything_settles(
    pinned: Pinned, engine: tuple[EngineName, int]
) -> None:
    verdict = pinned.demand(engine)
    assert verdict.verdict == "holds"
    assert not verdict.warnings


def test_every_state_of_the_table_has_exactly_one_owner() -> None:
    states = [state for state, _ in TRANSITIONS]
    assert len(states) == len(set(states)) == 12
    assert {state for after in TRANSITIONS.values() for state in after} == set(states)


@pytest.mark.parametrize("spec", [ClusterInst, AppInst, CloudletUpgrade])
def test_every_action_is_taken(spec: type[Spec]) -> None:
    lost = {} if spec is CloudletUpgrade else {"lost_progress": 1}
    assert all(row.taken for row in check(spec(disconnects=1, crm_crashes=1, **lost)).coverage)


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("pinned", LARGE, ids=str)
def test_more_wishes_and_more_faults_change_nothing(pinned: Pinned, threads: int) -> None:
    assert pinned.demand(("native", threads)).verdict == "holds"


def test_after_the_upgrade_v2_serves_and_v1_is_gone() -> None:
    verdict = check(CloudletUpgrade(crm_crashes=1, disconnects=1)).assert_holds()
    trace = verdict["upgraded"].trace
    assert trace is not None
    *_, last = trace.states()
    assert (last["serving"], last["crm['v1']"], last["crm['v2']"]) == ("v2", "absent", "Ready")
