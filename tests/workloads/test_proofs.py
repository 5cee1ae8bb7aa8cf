"""Worlds of the workload controllers: what holds, with pinned numbers of states, and the mistakes that are found."""

import pytest

from attractor.check import check
from attractor.workloads.proofs import deployments, replica_sets


def test_replica_sets_hold_under_an_edit_and_a_crash() -> None:
    verdict = check(replica_sets.crash_and_edit())
    verdict.assert_holds(within=["lag"])
    assert verdict.distinct == 2248


def test_a_deleted_replica_set_leaves_no_pod_behind() -> None:
    verdict = check(replica_sets.deletion())
    verdict.assert_holds(within=["lag", "incarnations", "generated_names", "ordered_names"])
    assert verdict.distinct == 3096


def test_a_lost_answer_costs_a_pod_too_many_that_goes_again() -> None:
    verdict = check(replica_sets.lost_answers())
    verdict.assert_holds(within=["lag"])
    assert verdict.distinct == 8729


def test_pods_that_the_cache_does_not_know_yet_are_made_twice() -> None:
    verdict = check(replica_sets.without_own_writes())
    assert "never too many" in [one.name for one in verdict.violations()]


def test_a_greedy_deployment_is_found() -> None:
    verdict = check(deployments.greedy_rollout())
    assert [one.name for one in verdict.violations()] == ["never too many", "never too few"]


@pytest.mark.slow
def test_a_rollback_at_any_moment_converges_within_surge() -> None:
    verdict = check(deployments.rollback())
    verdict.assert_holds(within=["lag"])
    assert verdict.distinct == 655_430


@pytest.mark.nightly
def test_a_rollout_holds_under_a_crash_at_any_step() -> None:
    verdict = check(deployments.rollout())
    verdict.assert_holds(within=["lag"])
    assert verdict.distinct == 5_230_763
