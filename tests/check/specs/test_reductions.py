"""Symmetry on the shipped specifications and their mistakes: fewer states, the same verdicts."""

from __future__ import annotations

import pytest

from attractor.check import Spec, check
from attractor.check.specs.appinst import AppInst
from attractor.check.specs.clock import Clock
from attractor.check.specs.cloudlet_upgrade import CloudletUpgrade
from attractor.check.specs.clusterinst import ClusterInst
from attractor.check.specs.mistakes.appinst import ChecksTheClusterTooEarly
from attractor.check.specs.mistakes.clock import CreatesCm2First, DoesNotWait
from attractor.check.specs.mistakes.cloudlet_upgrade import OldVersionServesAfterRestart, RemovesV1BeforeV2IsUp
from attractor.check.specs.mistakes.clusterinst import ReportsAreNotNumbered, TwoJobsAtOnce
from attractor.check.specs.mistakes.concurrency import AbortsAfterPreparing, GivesWayFirst, GrabsForks, NoTurn
from attractor.check.specs.mistakes.workqueue import QueuesWhileProcessing
from attractor.check.specs.peterson import Peterson
from attractor.check.specs.philosophers import Philosophers, WeaklyServed
from attractor.check.specs.transaction_commit import CommitProtocol
from attractor.check.specs.workqueue import WorkQueue

SPECS: list[Spec] = [
    WorkQueue(),
    Clock(),
    Clock(crashes=1, duplicates=False),
    ClusterInst(operations=2, disconnects=1),
    AppInst(operations=2),
    CloudletUpgrade(crm_crashes=1),
    CommitProtocol(),
    Peterson(),
    Philosophers(polite=False),
    WeaklyServed(),
    ChecksTheClusterTooEarly(operations=2),
    CreatesCm2First(),
    DoesNotWait(),
    OldVersionServesAfterRestart(),
    RemovesV1BeforeV2IsUp(),
    ReportsAreNotNumbered(operations=2),
    TwoJobsAtOnce(operations=2),
    AbortsAfterPreparing(),
    GivesWayFirst(),
    GrabsForks(),
    NoTurn(),
    QueuesWhileProcessing(),
]


def safety_of(spec: Spec) -> list[str]:
    """The names of the properties that a reduction must keep."""
    return [each.name for each in spec.compile().properties if not each.is_liveness]


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: type(spec).__name__)
def test_symmetry_keeps_the_verdict_of_every_safety_property(spec: Spec) -> None:
    whole = check(spec, properties=safety_of(spec))
    reduced = check(spec, properties=safety_of(spec), symmetry=True)
    assert reduced.distinct <= whole.distinct
    assert {p.name: p.verdict for p in reduced.properties} == {p.name: p.verdict for p in whole.properties}
