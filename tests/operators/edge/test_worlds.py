"""Coordinator and agent, proved: the production controllers under every interleaving, with faults."""

import pytest

from attractor.check import check
from attractor.check.world import Faults
from attractor.operators.edge import coordinator, intents, worlds
from attractor.operators.edge.intents import status_of
from attractor.operators.edge.states import TrackedState
from attractor.operators.edge.types import Instance


@pytest.mark.slow
def test_a_cluster_is_created_updated_and_deleted_although_all_crash_once() -> None:
    verdict = check(worlds.cluster_life(Faults(crash=1)))
    verdict.assert_holds()
    assert verdict.distinct == 328751


def hasty_wish(obj: Instance) -> str:
    """The mistake of an early version: let a deleted object go without asking what is left of it."""
    if status_of(obj).state is TrackedState.NOT_PRESENT and obj.metadata.is_deleting:
        return "leave"
    return intents.wish(obj)


@pytest.mark.slow
def test_a_coordinator_that_lets_go_too_early_leaves_something_running(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coordinator, "wish", hasty_wish)
    trace = check(worlds.cluster_life(Faults(crash=1))).assert_violated("eventually stable")
    assert any(step.action == "crash" for step in trace.steps)


@pytest.mark.nightly
def test_a_cluster_survives_a_crash_and_a_lost_answer_together() -> None:
    verdict = check(worlds.cluster_life(Faults(crash=1, lost_answer=1)))
    verdict.assert_holds()
    assert verdict.distinct == 1097700


@pytest.mark.slow
def test_an_upgrade_ends_in_the_new_version_or_in_an_error_although_all_crash_once() -> None:
    verdict = check(worlds.upgrade(Faults(crash=1)))
    verdict.assert_holds()
    assert verdict.distinct == 998770


@pytest.mark.nightly
def test_an_app_and_its_cluster_are_never_worked_on_at_once() -> None:
    verdict = check(worlds.app_and_cluster(lag=1))
    verdict.assert_holds()
    assert verdict.distinct == 6934640
