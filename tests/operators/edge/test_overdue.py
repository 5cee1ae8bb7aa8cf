"""A state that lasts too long is told, and nothing is undone."""

from datetime import UTC, datetime, timedelta

from attractor.objects.gvk import Key
from attractor.objects.resource import ObjectMeta
from attractor.operators.edge.api.states import TrackedState
from attractor.operators.edge.api.types import Cloudlet, CloudletStatus, ClusterInst, ClusterInstStatus
from attractor.operators.edge.controllers.overdue import Since, tell
from attractor.runtime import Context, Result
from attractor.runtime.effects import Patch, Remember
from attractor.runtime.steps import Steps

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
ONE = Key("berlin", "one")


def creating() -> ClusterInst:
    status = ClusterInstStatus(state=TrackedState.CREATING, operation=1, message="agent 1 is at work")
    return ClusterInst(metadata=ObjectMeta(name="one", namespace="berlin", resource_version="7"), status=status)


def steps_at(now: datetime, known: Since | None) -> Steps[Result | None]:
    steps = Steps(tell(Context("overdue", ONE), creating()))
    steps.answer(now)
    steps.answer(known)
    return steps


def test_the_first_look_begins_to_count() -> None:
    steps = steps_at(NOON, None)
    assert isinstance(steps.effect, Remember)
    assert steps.effect.state == Since("Creating", 1, NOON)
    steps.answer()
    assert steps.result == Result(requeue_after_s=1800)


def test_before_its_time_nothing_is_said() -> None:
    steps = steps_at(NOON + timedelta(minutes=10), Since("Creating", 1, NOON))
    assert steps.result == Result(requeue_after_s=1200)


def test_an_overdue_state_is_told_and_stays_what_it_is() -> None:
    steps = steps_at(NOON + timedelta(minutes=30), Since("Creating", 1, NOON))
    assert isinstance(steps.effect, Patch)
    assert isinstance(steps.effect.body, dict)
    assert set(steps.effect.body["status"]) == {"message"}
    assert steps.effect.body["status"]["message"].startswith("still Creating after 30 min: the CRM is at work or away")


def test_an_upgrade_that_lasts_too_long_is_told_too() -> None:
    status = CloudletStatus(state=TrackedState.UPDATING, version="1", upgrading_to="2")
    meta = ObjectMeta(name="berlin", namespace="berlin", resource_version="7")
    steps = Steps(tell(Context("overdue", ONE), Cloudlet(metadata=meta, status=status)))
    steps.answer(NOON + timedelta(minutes=20))
    steps.answer(Since("Updating", 0, NOON))
    assert isinstance(steps.effect, Patch)
    assert isinstance(steps.effect.body, dict)
    assert steps.effect.body["status"]["message"].startswith("still Updating after 20 min: the Controller is at work")


def test_the_count_begins_anew_with_the_next_operation() -> None:
    steps = steps_at(NOON + timedelta(hours=2), Since("Creating", 0, NOON))
    assert isinstance(steps.effect, Remember)
