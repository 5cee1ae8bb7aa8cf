"""Coordinator and agent, proved: the production controllers under every interleaving, in every trouble.

What is proved, and what it costs, is the table in `docs/explanation/edge-proofs.md`; the counts are in ``counts``.
"""

import re
from pathlib import Path
from typing import Any

import pytest

from attractor.check import Faults, check
from attractor.operators.edge.api import intents
from attractor.operators.edge.api.intents import status_of
from attractor.operators.edge.api.states import TrackedState
from attractor.operators.edge.api.types import Instance
from attractor.operators.edge.controllers import coordinator
from attractor.operators.edge.proofs import worlds
from tests.operators.edge.counts import COUNTS
from tests.operators.edge.proofs import PROOFS, Proof

PAGE = Path(__file__).parents[3] / "docs" / "explanation" / "edge-proofs.md"


def marked(proof: Proof) -> Any:
    """A proof as a parameter."""
    marks = [] if proof.when == "ci" else [getattr(pytest.mark, proof.when)]
    return pytest.param(proof, id=proof.key, marks=marks)


@pytest.mark.parametrize("proof", [marked(proof) for proof in PROOFS])
def test_all_claims_hold_in_trouble(proof: Proof) -> None:
    verdict = proof.run().assert_holds()
    assert verdict.bound is None
    assert verdict.distinct == COUNTS[proof.key]


def test_every_proof_has_a_count_and_every_count_a_proof() -> None:
    assert {proof.key for proof in PROOFS} == COUNTS.keys()


def test_the_page_tells_the_counts() -> None:
    told = {
        (world, trouble): count
        for world, trouble, count in re.findall(r"^\| `(\w+)` \| (.*?) \| ([\d,]+) \|", PAGE.read_text(), re.MULTILINE)
    }
    for proof in PROOFS:
        if (proof.world, proof.trouble) in told:
            assert told[proof.world, proof.trouble] == f"{COUNTS[proof.key]:,}", proof.key
    assert len(told) > 60


@pytest.mark.slow
def test_a_cluster_is_created_updated_and_deleted_although_all_crash_once() -> None:
    verdict = check(worlds.cluster_life(Faults(crash=1)))
    verdict.assert_holds()
    assert verdict.distinct == 484314


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
    assert verdict.distinct == 2318324
