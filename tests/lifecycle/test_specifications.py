"""A table is a specification: it holds as it stands, and a table without its shortcuts is caught."""

import pytest

from attractor.check import check
from attractor.check.spec.lifecycles import specification
from attractor.lifecycle import Lifecycle
from attractor.operators.edge.api.states import AGENT, CLOUDLET, CLUSTER_INST, Actor, TrackedState


@pytest.mark.parametrize(
    ("table", "states"), [(CLUSTER_INST, 1116), (CLOUDLET, 17), (AGENT, 7)], ids=lambda each: getattr(each, "name", "")
)
def test_a_table_holds_as_it_stands(table: Lifecycle[str, str], states: int) -> None:
    verdict = check(specification(table))
    verdict.assert_holds()
    assert verdict.distinct == states


def test_a_table_without_the_shortcut_past_a_lost_message_waits_for_ever() -> None:
    rows = [row for row in CLUSTER_INST.rows if row.kind != "missed" or row.state != TrackedState.UPDATE_REQUESTED]
    broken = Lifecycle("ClusterInst", initial=TrackedState.NOT_PRESENT, requester=Actor.USER, rows=rows)
    trace = check(specification(broken)).assert_violated("comes_to_rest")
    assert any(step.action == "is_lost" for step in trace.steps)


def test_without_losses_a_missing_shortcut_shows_when_messages_overtake_each_other() -> None:
    rows = [row for row in CLUSTER_INST.rows if row.kind != "missed" or row.state != TrackedState.UPDATE_REQUESTED]
    broken = Lifecycle("ClusterInst", initial=TrackedState.NOT_PRESENT, requester=Actor.USER, rows=rows)
    verdict = check(specification(broken, losses=0))
    assert verdict.verdict == "holds", "the last word is said again until the earlier one has come"
