"""Coordinator and agent, proved: the production controllers under every interleaving, with faults."""

import pytest

from attractor.check import check
from attractor.check.world import Faults
from attractor.operators.edge import worlds


@pytest.mark.slow
@pytest.mark.parametrize(
    ("faults", "states"),
    [(None, 185416), (Faults(crash=1), 398985)],
    ids=["no faults", "a crash"],
)
def test_a_cluster_is_created_updated_and_deleted_whatever_happens(faults: Faults | None, states: int) -> None:
    verdict = check(worlds.cluster_life(faults))
    verdict.assert_holds()
    assert verdict.distinct == states


@pytest.mark.nightly
def test_a_cluster_survives_a_crash_and_a_lost_answer_together() -> None:
    check(worlds.cluster_life(Faults(crash=1, lost_answer=1))).assert_holds()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("faults", "states"), [(None, 613038), (Faults(crash=1), 1231408)], ids=["no faults", "a crash"]
)
def test_an_upgrade_ends_in_the_new_version_or_in_an_error(faults: Faults | None, states: int) -> None:
    verdict = check(worlds.upgrade(faults))
    verdict.assert_holds()
    assert verdict.distinct == states


@pytest.mark.nightly
def test_an_app_and_its_cluster_are_never_worked_on_at_once() -> None:
    verdict = check(worlds.app_and_cluster(lag=1))
    verdict.assert_holds()
    assert verdict.distinct == 6934640
