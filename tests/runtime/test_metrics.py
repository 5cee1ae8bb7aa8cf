"""Metrics as dashboards made for controller-runtime expect them: names, types, labels, and what counts as what."""

import gc
import os
import re
import time

import pytest

from attractor.objects.errors import Conflict
from attractor.objects.gvk import Key
from attractor.runtime import Context, Election, Result, TerminalError, controller
from attractor.runtime.observability.metrics import Metrics
from attractor.runtime.worker.outcome import is_panic
from attractor.testing import ClusterUnderTest, VirtualTime, eventually
from tests.runtime.things import Thing, passing, thing

PUBLISHED = {
    "controller_runtime_active_workers": ("gauge", {"controller"}),
    "controller_runtime_max_concurrent_reconciles": ("gauge", {"controller"}),
    "controller_runtime_reconcile_errors_total": ("counter", {"controller"}),
    "controller_runtime_reconcile_panics_total": ("counter", {"controller"}),
    "controller_runtime_reconcile_time_seconds": ("histogram", {"controller"}),
    "controller_runtime_reconcile_timeouts_total": ("counter", {"controller"}),
    "controller_runtime_reconcile_total": ("counter", {"controller", "result"}),
    "controller_runtime_terminal_reconcile_errors_total": ("counter", {"controller"}),
    "leader_election_master_status": ("gauge", {"name"}),
    "leader_election_slowpath_total": ("counter", {"name"}),
    "process_cpu_seconds_total": ("counter", set()),
    "process_max_fds": ("gauge", set()),
    "process_open_fds": ("gauge", set()),
    "process_resident_memory_bytes": ("gauge", set()),
    "process_start_time_seconds": ("gauge", set()),
    "process_virtual_memory_bytes": ("gauge", set()),
    "rest_client_requests_total": ("counter", {"code", "host", "method"}),
    "workqueue_adds_total": ("counter", {"controller", "name"}),
    "workqueue_depth": ("gauge", {"controller", "name", "priority"}),
    "workqueue_longest_running_processor_seconds": ("gauge", {"controller", "name"}),
    "workqueue_queue_duration_seconds": ("histogram", {"controller", "name"}),
    "workqueue_retries_total": ("counter", {"controller", "name"}),
    "workqueue_unfinished_work_seconds": ("gauge", {"controller", "name"}),
    "workqueue_work_duration_seconds": ("histogram", {"controller", "name"}),
}
"""What controller-runtime 0.22 exports by default on Linux, without the parts that are Go's (``go_``), a webhook
server's (``controller_runtime_webhook_``) or a certificate watcher's (``certwatcher_``)."""


def scraped(text: str) -> dict[str, tuple[str, set[str]]]:
    """Type and labels of every metric that has a sample."""
    types = dict(re.findall(r"^# TYPE (\S+) (\S+)$", text, re.MULTILINE))
    found: dict[str, tuple[str, set[str]]] = {}
    for sample, labels in re.findall(r"^([a-z_]+)(?:\{(.*)\})? \S+$", text, re.MULTILINE):
        name = sample if sample in types else re.sub("_(bucket|sum|count)$", "", sample)
        found.setdefault(name, (types[name], set()))[1].update(re.findall(r'(\w+)="', labels))
    return {name: (kind, labels - {"le"}) for name, (kind, labels) in found.items()}


@controller(name="once", for_=Thing)
async def once(ctx: Context, key: Key) -> Result | None:
    """Fails the first time, so that there is a retry to count."""
    state = await ctx.recall(int)
    await ctx.remember((state or 0) + 1)
    if state is None:
        raise ConnectionError("the world is not ready")
    return None


async def test_every_metric_that_controller_runtime_publishes_is_there_under_its_name_with_its_labels(
    cluster: ClusterUnderTest, virtual_time: VirtualTime
) -> None:
    async with cluster.running(once, election=Election("once", "default", "one")) as manager:
        await cluster.client.create(thing("a"))
        await eventually(lambda: manager.metrics.reconciles.value("once", "success") == 1)
        found = scraped(manager.metrics.text())
    assert {name: found.get(name) for name in PUBLISHED} == PUBLISHED
    ours = {"attractor_events_total", "attractor_self_triggered_reconciles_total"}
    assert set(found) - set(PUBLISHED) <= ours


async def test_counters_of_failures_begin_at_nought_so_that_the_first_one_is_an_increase(
    cluster: ClusterUnderTest,
) -> None:
    async with cluster.running(once) as manager:
        text = manager.metrics.text()
    for failure in ("errors", "panics", "timeouts"):
        assert f'controller_runtime_reconcile_{failure}_total{{controller="once"}} 0' in text
    assert 'controller_runtime_terminal_reconcile_errors_total{controller="once"} 0' in text


async def test_a_mistake_in_the_program_is_counted_as_a_panic_and_as_an_error_and_is_tried_again(
    cluster: ClusterUnderTest, virtual_time: VirtualTime
) -> None:
    runs = 0

    @controller(name="wrong", for_=Thing)
    async def reconcile(ctx: Context, key: Key) -> Result | None:
        nonlocal runs
        runs += 1
        if runs == 1:
            return [Result()][runs]
        return None

    async with cluster.running(reconcile) as manager:
        await cluster.client.create(thing("a"))
        await eventually(lambda: manager.metrics.reconciles.value("wrong", "success") == 1)
        assert manager.metrics.panics.value("wrong") == 1
        assert manager.metrics.errors.value("wrong") == 1
        assert manager.metrics.reconciles.value("wrong", "error") == 1


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (AttributeError("'NoneType' object has no attribute 'spec'"), True),
        (KeyError("colour"), True),
        (AssertionError(), True),
        (ZeroDivisionError(), True),
        (NotImplementedError(), True),
        (ExceptionGroup("two at once", [ConnectionError(), TypeError()]), True),
        (ExceptionGroup("two at once", [ConnectionError(), TimeoutError()]), False),
        (Conflict("somebody else was faster"), False),
        (ConnectionError("refused"), False),
        (ValueError("not a number: x"), False),
        (LookupError("no such device"), False),
        (RuntimeError("the disk is full"), False),
        (TerminalError("the spec makes no sense"), False),
    ],
    ids=repr,
)
def test_what_the_world_can_cause_is_no_panic(error: Exception, expected: bool) -> None:
    assert is_panic(error) is expected


async def test_a_renewal_that_had_to_read_the_lease_first_is_counted(
    cluster: ClusterUnderTest, virtual_time: VirtualTime
) -> None:
    async with cluster.running(once, election=Election("once", "default", "one")) as manager:
        cluster.faults.conflict("update", "leases", times=2)
        await passing(10)
        assert 'leader_election_slowpath_total{name="once"} 2' in manager.metrics.text()
        assert manager.is_leader


def test_the_process_tells_what_it_takes_of_the_machine() -> None:
    gc.collect()  # files that nobody holds any more are closed now, not between the two looks
    found = dict(re.findall(r"^(process_\w+) (\S+)$", Metrics().text(), re.MULTILINE))
    read, written = os.pipe()
    try:
        later = dict(re.findall(r"^(process_\w+) (\S+)$", Metrics().text(), re.MULTILINE))
    finally:
        os.close(read)
        os.close(written)
    assert int(later["process_open_fds"]) == int(found["process_open_fds"]) + 2
    assert 0 < float(found["process_cpu_seconds_total"]) <= float(later["process_cpu_seconds_total"])
    assert 10**7 < float(found["process_resident_memory_bytes"]) <= float(found["process_virtual_memory_bytes"])
    assert 0 < time.time() - float(found["process_start_time_seconds"]) < 86_400
