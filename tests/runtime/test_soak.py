"""What is kept of objects that came and went: nothing. Sizes are asserted, never time."""

from datetime import UTC, datetime

import pytest

from attractor.cache.cache import REMEMBERED
from attractor.k8s.core_v1 import ConfigMap, Namespace
from attractor.objects.errors import AlreadyExists
from attractor.objects.gvk import Key
from attractor.objects.resource import ObjectMeta
from attractor.runtime import Context, Manager, Result, controller
from attractor.runtime.observability.events import KEPT, EventCorrelator, Occurrence
from attractor.runtime.observability.metered_queue import MeteredQueue
from attractor.runtime.observability.metrics import Metrics
from attractor.runtime.toolkit.debounce import Debounce
from attractor.runtime.worker.performer import Memory
from attractor.testing import ClusterUnderTest, VirtualTime, eventually
from attractor.workqueue import Backoff
from tests.runtime.things import Thing, thing

MANY = 100_000
NOW = datetime(2026, 11, 1, tzinfo=UTC)


async def test_a_hundred_thousand_keys_pass_through_a_queue_and_its_limits_and_leave_nothing_behind(
    virtual_time: VirtualTime,
) -> None:
    metrics, limiter = Metrics(), Backoff()
    queue = MeteredQueue("soak", metrics, limiter)
    lines = len(metrics.text().splitlines())
    most = 0
    for number in range(MANY):
        key = Key("n", f"k{number}")
        queue.add(key, priority=-100)
        queue.add(key)
        assert await queue.get() == key
        queue.add_rate_limited(key)
        queue.add_after(key, 5.0)
        queue.done(key)
        assert await queue.get() == key
        queue.forget(key)
        queue.done(key)
        kept = (queue._added_s, queue._taken_s, queue._delayed, queue._delayed_until, limiter._failures)
        most = max(most, sum(map(len, kept)) + len(queue.core._waiting) + len(queue.core._dirty))
    assert most < 100
    assert queue.core.is_idle
    assert len(metrics.text().splitlines()) <= lines + 40, "two histograms, and no label for each key"


def test_memory_debounced_calls_and_events_of_a_hundred_thousand_objects_are_bounded() -> None:
    memory, debounce, correlator = Memory(), Debounce[Key](), EventCorrelator()
    for number in range(MANY):
        key, identity = Key("n", f"k{number}"), ("pid", number)
        memory.slot("processes").store(key, [number], identity)
        memory.slot("processes").defer(key, lambda state: state.clear())
        debounce.call(key, number / 1000)
        if number % 3:
            debounce.drop(key)
        debounce.take_due(number / 1000)
        memory.slot("processes").delete(key)
        correlator.correlate(Occurrence(("v1", "Pod", "n", key.name, str(number)), "Normal", "Seen", "here"), NOW)
    states = memory.slot("processes")
    assert (len(states), len(states._owners), len(states._deferred)) == (0, 0, 0)
    assert len(debounce._order) + len(debounce._waiting) < 3 * 500 + 64, "what came within the delay, and no more"
    assert {len(correlator._records), len(correlator._similar), len(correlator._budgets)} == {KEPT}


@pytest.mark.parametrize("count", [50])
async def test_objects_and_namespaces_that_came_and_went_leave_a_manager_as_it_was(
    cluster: ClusterUnderTest, virtual_time: VirtualTime, count: int
) -> None:
    done: set[str] = set()
    failed: set[str] = set()

    @controller(for_=Thing, owns=[ConfigMap])
    async def soak(ctx: Context, key: Key) -> Result | None:
        found = await ctx.find(Thing, key)
        if found is None:
            await ctx.forget(list)
            done.add(key.name)
            return None
        await ctx.remember([key.name], identity=key.name)
        child = ConfigMap(metadata=ObjectMeta(name=key.name, namespace=f"of-{key.name}"))
        try:
            await ctx.create(child)
        except AlreadyExists:
            await ctx.delete(child)
        if key.name not in failed:
            failed.add(key.name)
            raise OSError("the first time fails")
        return Result(requeue_after_s=3600)

    async with cluster.running(soak) as manager:
        for number in range(count):
            await cluster.client.create(Namespace(metadata=ObjectMeta(name=f"of-t{number}")))
            await cluster.client.create(thing(f"t{number}"))
        await eventually(lambda: len(failed) == count, within_s=600, interval_s=1)
        for number in range(count):
            await cluster.client.delete(Thing, Key("default", f"t{number}"))
            await cluster.client.delete(Namespace, Key("", f"of-t{number}"))
        await eventually(lambda: len(done) == count, within_s=600, interval_s=1)
        await cluster.client.create(Namespace(metadata=ObjectMeta(name="of-last")))
        await cluster.client.create(thing("last"))  # what was refused or hidden is history after a later write
        await eventually(lambda: sizes(manager) <= 8, within_s=7200, interval_s=60)


def sizes(manager: Manager) -> int:
    """How much a manager keeps of single objects; the cache's short memory of namespaces is bounded."""
    assert len(manager.cache._concerned) <= REMEMBERED
    kept = 0
    for one in manager.controllers:
        queue, limiter = one.queue, one.queue._limiter
        kept += sum(map(len, (queue._added_s, queue._taken_s, queue._delayed, queue._delayed_until)))
        kept += sum(limiter.failures(Key("default", f"t{number}")) for number in range(1000))
        kept += sum(map(len, one.performer.memory.slots.values())) + len(one.scheduled._core._order)
    for informer in manager.cache._informers.values():
        core = informer.core
        kept += sum(map(len, (core._floors, core._in_flight, core._awaited or (), core._settling or ())))
    return kept
