"""Certificates of everything shipped that holds verify. Small ones are checked here, all of them by the nightly run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from attractor.check import check
from attractor_verify import verify
from tests.verify.shipped import specifications, twins, worlds

if TYPE_CHECKING:
    from pathlib import Path

SMALL = {
    *("irsa:Irsa", "twophase:TwoPhaseCommit", "peterson:Peterson", "clock:Clock", "transaction_commit:CommitProtocol"),
    *("workqueue:WorkQueue", "clusterinst:ClusterInst", "zoo:already_exists_is_success", "zoo:apply_by_force"),
    *("zoo:counted_by_each_process", "zoo:deletion_waits_for_the_spec", "zoo:expired_after_renewal"),
    *(
        "zoo:failed_is_for_ever",
        "zoo:names_are_generated",
        "zoo:outside_call_repeated",
        "zoo:owner_in_another_namespace",
    ),
    *("zoo:replaced_while_the_watch_was_closed", "zoo:result_of_a_predecessor", "configpair.proofs:world"),
}
STRONG = {"philosophers:Philosophers"}
"""What rests on strong fairness, and has no certificate."""
MOST_STATES = 3_000_000


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(make, id=name, marks=() if name in SMALL | STRONG else pytest.mark.nightly)
        for every in (specifications, twins, worlds)
        for name, make in every()
    ],
)
@pytest.mark.filterwarnings("ignore::attractor.check.verdict.HoldsWithin")
def test_certificates_of_what_is_shipped_verify(make: Any, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    path = tmp_path / "proof.cert"
    verdict = check(make(), max_states=MOST_STATES, certificate=path)
    if not verdict.verdict.startswith("holds"):
        assert any("no certificate was written" in each for each in verdict.warnings), "as it is shipped to show"
        return
    if request.node.callspec.id in STRONG:
        assert any("rests on strong fairness" in each for each in verdict.warnings)
        return
    shown = verify(path, make())
    assert shown.states == verdict.distinct
    assert set(shown.properties) == {each.name for each in verdict.properties}


def test_small_ones_are_shipped() -> None:
    assert {name for every in (specifications, twins, worlds) for name, _ in every()} >= SMALL | STRONG
