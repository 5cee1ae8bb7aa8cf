"""The Reconciler base: finalizer first, one write a run, status first, quiet conflicts."""

from collections import Counter
from datetime import UTC, datetime
from typing import Any

import pytest

from attractor.objects.errors import Conflict, Forbidden, NotFound
from attractor.objects.gvk import Key
from attractor.runtime import Context, Reconciler, Result, controller, effects
from attractor.runtime.reconciler import Conflicts
from attractor.runtime.steps import Steps
from attractor.runtime.toolkit.finalizers import finalizer_name
from attractor.testing import ClusterUnderTest, VirtualTime, eventually
from tests.runtime.things import Thing, thing

A = Key("default", "a")
FINALIZER = finalizer_name(Thing)


class Things(Reconciler[Thing]):
    """Counts what it is asked to do."""

    kind = Thing

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()
        self.is_clean = True

    async def sync(self, ctx: Context, obj: Thing) -> Result | None:
        self.calls["sync"] += 1
        obj.status.seen = obj.spec.size
        if obj.spec.size == 7:
            obj.metadata.labels = {"lucky": "yes"}
        return Result(requeue_after_s=60)

    async def clean_up(self, ctx: Context, obj: Thing) -> Result | None:
        self.calls["clean_up"] += 1
        return None if self.is_clean else Result(requeue_after_s=1)


def stored(**changes: Any) -> Thing:
    made = thing("a", 7)
    made.metadata.resource_version = "5"
    made.metadata.finalizers = [FINALIZER]
    for name, value in changes.items():
        setattr(made.metadata, name, value)
    return made


def begun(obj: Thing | None, conflicts: Conflicts | None = None) -> Steps[Result | None]:
    steps: Steps[Result | None] = Steps(Things().reconcile(Context("things", A), A))
    assert isinstance(steps.effect, effects.Recall)
    steps.answer(conflicts)
    steps.answer(obj)
    return steps


def test_the_first_run_only_adds_the_finalizer() -> None:
    steps = begun(stored(finalizers=[]))
    effect: Any = steps.effect
    assert isinstance(effect, effects.Patch)
    assert effect.body == {"metadata": {"finalizers": [FINALIZER], "resourceVersion": "5"}}
    assert effect.subresource == ""


def test_an_object_that_is_not_there_is_the_reconcilers_own_matter() -> None:
    class Watchful(Things):
        async def gone(self, ctx: Context, key: Key) -> Result | None:
            return Result(requeue_after_s=len(key.name))

    for reconciler, result in ((Things(), None), (Watchful(), Result(requeue_after_s=1))):
        steps: Steps[Result | None] = Steps(reconciler.reconcile(Context("things", A), A))
        steps.answer(None)
        steps.answer(None)
        assert steps.result == result


def test_of_status_and_metadata_the_status_is_written_and_the_rest_comes_at_once() -> None:
    steps = begun(stored())
    effect: Any = steps.effect
    assert (effect.subresource, effect.body) == (
        "status",
        {"status": {"seen": 7}, "metadata": {"resourceVersion": "5"}},
    )
    steps.answer(None)
    steps.answer(None)
    assert steps.result == Result(requeue_after_s=0.001)


def test_metadata_is_written_once_the_status_is_as_it_should_be() -> None:
    obj = stored()
    obj.status.seen = 7
    steps = begun(obj)
    effect: Any = steps.effect
    assert (effect.subresource, effect.body["metadata"]["labels"]) == ("", {"lucky": "yes"})
    steps.answer(None)
    steps.answer(None)
    assert steps.result == Result(requeue_after_s=60)


def test_nothing_changed_writes_nothing() -> None:
    obj = stored(labels={"lucky": "yes"})
    obj.status.seen = 7
    steps = begun(obj)
    assert isinstance(steps.effect, effects.Recall)
    steps.answer(None)
    assert steps.result == Result(requeue_after_s=60)


@pytest.mark.parametrize(
    ("before", "delay"), [(None, 0.1), (Conflicts(1), 0.2), (Conflicts(4), 1.6), (Conflicts(9), 5.0)]
)
def test_a_conflict_is_a_quiet_requeue_that_waits_longer_each_time(before: Conflicts | None, delay: float) -> None:
    steps = begun(stored(), before)
    steps.fail(Conflict("somebody was faster"))
    steps.answer(before)
    effect: Any = steps.effect
    assert effect == effects.Remember(A, Conflicts(1 if before is None else before.count + 1), None, "Conflicts")
    steps.answer(None)
    assert steps.result == Result(requeue_after_s=delay)


def test_after_a_conflict_the_object_is_read_past_the_cache_until_a_write_succeeds() -> None:
    steps: Steps[Result | None] = Steps(Things().reconcile(Context("things", A), A))
    steps.answer(Conflicts(2))
    read: Any = steps.effect
    assert read == effects.Get(Thing, A, is_cached=False, is_optional=True)
    steps.answer(stored())
    steps.answer(None)
    steps.answer(Conflicts(2))
    forgotten: Any = steps.effect
    assert forgotten == effects.Forget(A, "Conflicts")


def test_an_object_that_is_gone_needs_nothing_and_other_errors_are_the_callers() -> None:
    assert begun(None).result is None
    steps = begun(stored())
    steps.fail(NotFound("gone meanwhile"))
    steps.answer(None)
    assert steps.result is None
    steps = begun(stored())
    with pytest.raises(Forbidden):
        steps.fail(Forbidden("not you"))


def test_an_object_that_is_deleted_before_the_finalizer_was_there_is_left_alone() -> None:
    steps = begun(stored(finalizers=["someone-else"], deletion_timestamp=datetime.now(UTC)))
    assert isinstance(steps.effect, effects.Recall)
    steps.answer(None)
    assert steps.result is None


def test_a_reconciler_without_sync_says_what_is_missing() -> None:
    class Empty(Reconciler[Thing]):
        kind = Thing

    steps: Steps[Result | None] = Steps(Empty().reconcile(Context("things", A), A))
    steps.answer(None)
    with pytest.raises(NotImplementedError, match="Empty must define `async def sync"):
        steps.answer(stored())


async def test_an_object_is_held_until_it_is_cleaned_up(cluster: ClusterUnderTest, virtual_time: VirtualTime) -> None:
    things = Things()
    things.is_clean = False
    async with cluster.running(controller(things)):
        await cluster.client.create(thing("a", 7))

        async def is_settled() -> bool:
            found = await cluster.client.get(Thing, A)
            return found.status.seen == 7 and found.metadata.labels == {"lucky": "yes"}

        await eventually(is_settled)
        await cluster.client.delete(Thing, A)
        await eventually(lambda: things.calls["clean_up"] >= 3)
        assert (await cluster.client.get(Thing, A)).metadata.is_deleting
        things.is_clean = True

        async def is_gone() -> bool:
            return not await cluster.client.list(Thing)

        await eventually(is_gone)
    writes = [str(entry) for entry in cluster.requests.writes]
    assert writes == [
        "patch things/default/a -> 200",
        "patch things/default/a/status -> 200",
        "patch things/default/a -> 200",
        "patch things/default/a -> 200",
    ]


@pytest.mark.parametrize("fault", ["conflict", "lost_answer", "lost_request", "timeout", "unreachable"])
async def test_every_fault_of_a_write_is_overcome(
    cluster: ClusterUnderTest, virtual_time: VirtualTime, fault: str
) -> None:
    injected = getattr(cluster.faults, fault)("patch", "things", times=3)
    async with cluster.running(controller(Things())):
        await cluster.client.create(thing("a", 7))

        async def is_settled() -> bool:
            found = await cluster.client.get(Thing, A)
            return found.status.seen == 7 and found.metadata.labels == {"lucky": "yes"}

        await eventually(is_settled, within_s=60)
    assert len(injected.struck) == 3
