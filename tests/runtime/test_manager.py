"""The manager: health, readiness, metrics, logs, traces, order of start and stop; predicates and Events as cores."""

import asyncio
import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from attractor.k8s.core_v1 import ConfigMap, Event, Namespace
from attractor.objects.gvk import Key
from attractor.objects.resource import ObjectMeta
from attractor.runtime import Context, Result, Watches, controller
from attractor.runtime.observability.events import BURST, COMBINED, SIMILAR, EventCorrelator, Occurrence
from attractor.runtime.observability.health_server import HealthServer
from attractor.runtime.observability.metrics import Metrics
from attractor.runtime.predicates import (
    Change,
    always,
    annotations_changed,
    created,
    deleted,
    generation_changed,
    labels_changed,
    labels_match,
    resource_version_changed,
)
from attractor.testing import ClusterUnderTest, VirtualTime, eventually
from attractor.wire.prometheus import Histogram
from tests.runtime.things import Thing, passing, thing

NOW = datetime(2026, 11, 1, tzinfo=UTC)


@controller(for_=Thing)
async def idle(ctx: Context, key: Key) -> Result | None:
    ctx.log.info("looked", name="a reserved field name")
    return None


async def fetch(port: int, path: str) -> tuple[int, str]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    answer = (await reader.read()).decode()
    writer.close()
    await writer.wait_closed()
    head, _, body = answer.partition("\r\n\r\n")
    return int(head.split(" ")[1]), body


async def test_health_readiness_and_metrics_are_served(cluster: ClusterUnderTest) -> None:
    async with cluster.running(idle, health=("127.0.0.1", 0)) as manager:
        await cluster.client.create(thing("a"))
        await eventually(lambda: manager.metrics.reconciles.value("idle", "success") == 1)
        port = manager.health_port
        assert await fetch(port, "/healthz") == (200, "ok")
        assert await fetch(port, "/readyz?verbose") == (200, "ok")
        assert (await fetch(port, "/nowhere"))[0] == 404
        code, text = await fetch(port, "/metrics")
        assert code == 200
        for line in (
            'controller_runtime_reconcile_total{controller="idle",result="success"} 1',
            'controller_runtime_reconcile_errors_total{controller="idle"} 0',
            'controller_runtime_max_concurrent_reconciles{controller="idle"} 4',
            'controller_runtime_active_workers{controller="idle"} 0',
            'controller_runtime_reconcile_time_seconds_count{controller="idle"} 1',
            'workqueue_depth{name="idle",controller="idle",priority="0"} 0',
            'workqueue_depth{name="idle",controller="idle",priority="-100"} 0',
            'workqueue_adds_total{name="idle",controller="idle"} 1',
            'workqueue_work_duration_seconds_bucket{name="idle",controller="idle",le="+Inf"} 1',
            'workqueue_unfinished_work_seconds{name="idle",controller="idle"} 0',
            'rest_client_requests_total{code="200",host="",method="GET"}',
        ):
            assert line in text, line


async def test_a_scraper_that_does_not_read_what_it_asked_for_does_not_keep_the_address(
    virtual_time: VirtualTime,
) -> None:
    metrics = Metrics()
    for number in range(100_000):
        metrics.events.add(f"{number}" * 20)
    server = HealthServer(metrics, {}, {})
    await server.start("127.0.0.1", 0)
    _, writer = await asyncio.open_connection("127.0.0.1", server.port, limit=1)
    writer.write(b"GET /metrics HTTP/1.1\r\n\r\n")
    await passing(1)
    async with asyncio.timeout(60):
        await server.aclose()
    writer.close()


async def test_a_manager_whose_watch_is_dead_is_not_ready_until_it_heals(
    cluster: ClusterUnderTest, virtual_time: VirtualTime
) -> None:
    async with cluster.running(idle) as manager:
        assert manager.is_ready
        fault = cluster.faults.unreachable("watch", times=3)
        cluster.faults.cut_watches()
        await eventually(lambda: not manager.is_ready)
        await cluster.client.create(thing("meanwhile"))
        await eventually(lambda: manager.is_ready and len(fault.struck) == 3, within_s=60)
        await eventually(lambda: manager.metrics.reconciles.value("idle", "success") == 1)


def test_a_failing_check_is_named() -> None:
    server = HealthServer(
        Metrics(), {"ping": lambda: ""}, {"caches": lambda: "Pod: connection refused", "x": lambda: ""}
    )
    code, _, body = server.answer("GET /readyz HTTP/1.1")
    assert (code, body.decode()) == (503, "[-]caches failed: Pod: connection refused\n[+]x ok\n")
    assert server.answer("POST /readyz HTTP/1.1")[0] == 405


async def test_spans_and_structured_logs_tell_about_each_reconcile(
    cluster: ClusterUnderTest, virtual_time: VirtualTime, caplog: pytest.LogCaptureFixture
) -> None:
    spans: list[tuple[str, Mapping[str, Any]]] = []

    class Tracer:
        @contextmanager
        def start_as_current_span(self, name: str, *, attributes: Mapping[str, Any]) -> Iterator[None]:
            spans.append((name, attributes))
            yield

    with caplog.at_level(logging.INFO, "attractor.controller.idle"):
        async with cluster.running(idle, tracer=Tracer()):
            await cluster.client.create(thing("a"))
            await eventually(lambda: bool(spans))
            await passing(1)
    assert spans == [("reconcile idle", {"controller": "idle", "namespace": "default", "name": "a"})]
    record: Any = next(one for one in caplog.records if one.message == "looked")
    assert (record.controller, record.key, record.name_) == ("idle", "default/a", "a reserved field name")


async def test_a_manager_of_one_namespace_sees_it_and_what_lives_in_none(
    cluster: ClusterUnderTest, virtual_time: VirtualTime
) -> None:
    seen: set[str] = set()

    @controller(for_=Namespace, watches=[Watches(ConfigMap, lambda one: [Key("", f"of-{one.metadata.name}")])])
    async def spaces(ctx: Context, key: Key) -> Result | None:
        seen.add(key.name)
        return None

    async with cluster.running(spaces, namespace="mine"):
        for name in ("mine", "yours"):
            await cluster.client.create(Namespace(metadata=ObjectMeta(name=name)))
            await cluster.client.create(ConfigMap(metadata=ObjectMeta(name=f"in-{name}", namespace=name)))
        await eventually(lambda: {"mine", "yours", "of-in-mine"} <= seen)
        await passing(5)
    assert "of-in-yours" not in seen


async def test_events_that_wait_are_written_before_the_manager_ends(
    cluster: ClusterUnderTest, virtual_time: VirtualTime
) -> None:
    @controller(for_=Thing)
    async def teller(ctx: Context, key: Key) -> Result | None:
        await ctx.emit(await ctx.get(Thing, key), "Seen", "here it is")
        manager.stop()
        return None

    await cluster.install(Thing)
    manager = cluster.manager(teller)
    await cluster.client.create(thing("a"))
    await manager.run()
    assert [one.reason for one in await cluster.client.list(Event, "default")] == ["Seen"]


async def test_waiting_for_a_manager_that_was_stopped_early_is_an_error_and_no_hang(cluster: ClusterUnderTest) -> None:
    await cluster.install(Thing)
    manager = cluster.manager(idle)
    manager.stop()
    await manager.run()
    with pytest.raises(RuntimeError, match="stopped before its controllers ran"):
        await manager.wait_running()


def changed(**fields: Any) -> Change:
    old = ConfigMap(metadata=ObjectMeta(name="a", resource_version="1", generation=1))
    new = old.deep_copy()
    for name, value in fields.items():
        setattr(new.metadata, name, value)
    return Change(old, new)


def test_predicates_see_what_changed_and_combine() -> None:
    assert resource_version_changed(changed(resource_version="2"))
    assert not resource_version_changed(changed())
    assert generation_changed(changed(generation=2))
    assert generation_changed(changed(deletion_timestamp=NOW))
    assert not generation_changed(changed(labels={"a": "b"}))
    assert (labels_changed & ~annotations_changed)(changed(labels={"a": "b"}))
    assert not (labels_changed & annotations_changed)(changed(labels={"a": "b"}))
    assert (labels_changed | annotations_changed)(changed(annotations={"a": "b"}))
    assert labels_match(a="b")(changed(labels={"a": "b"}))
    assert not labels_match(a="b")(changed())
    obj = ConfigMap()
    assert created(Change(None, obj))
    assert deleted(Change(obj, None))
    assert not (created | deleted)(changed())
    assert always(changed())
    assert all(one(Change(None, obj)) for one in (generation_changed, labels_changed, annotations_changed))
    assert repr(labels_changed & ~deleted) == "(labels changed and not deleted)"


def told(message: str, reason: str = "Waiting") -> Occurrence:
    return Occurrence(("v1", "Pod", "default", "a", "u1"), "Normal", reason, message)


def test_many_similar_events_become_one() -> None:
    correlator = EventCorrelator()
    messages = set()
    for number in range(SIMILAR + 5):
        record = correlator.correlate(told(f"message {number}"), NOW)
        assert record is not None
        messages.add(record.occurrence.message)
    assert messages == {f"message {n}" for n in range(SIMILAR)} | {f"{COMBINED}Waiting"}


def test_an_object_that_tells_too_much_is_not_heard_until_its_budget_refills() -> None:
    correlator = EventCorrelator()
    heard = [correlator.correlate(told("again"), NOW) is not None for _ in range(BURST + 10)]
    assert heard.count(True) == BURST
    assert correlator.correlate(told("again"), NOW + timedelta(seconds=301)) is not None
    assert correlator.correlate(told("again"), NOW + timedelta(seconds=302)) is None


def test_an_event_that_comes_again_much_later_is_a_new_one() -> None:
    correlator = EventCorrelator()
    first = correlator.correlate(told("x"), NOW)
    second = correlator.correlate(told("x"), NOW + timedelta(seconds=5))
    later = correlator.correlate(told("x"), NOW + timedelta(hours=1))
    assert first is second
    assert later is not None
    assert first is not None
    assert (first.count, later.count, later.name != first.name) == (2, 1, True)


def test_a_clock_that_is_put_back_mutes_nobody() -> None:
    correlator = EventCorrelator()
    assert correlator.correlate(told("before"), NOW) is not None
    for number in range(SIMILAR):
        correlator.correlate(told(f"message {number}"), NOW)
    past = NOW - timedelta(days=365)
    after = correlator.correlate(told("after"), past)
    assert after is not None
    assert after.occurrence.message == "after"
    again = correlator.correlate(told("before"), past)
    assert again is not None
    assert (again.first, again.last, again.count) == (past, past, 1)


def test_a_histogram_counts_into_cumulative_buckets() -> None:
    histogram = Histogram("h", "text", ("who",), (1.0, 2.0))
    for value in (0.5, 1.0, 1.5, 9.0):
        histogram.observe('a"b', value=value)
    assert [(suffix, labels, value) for suffix, labels, value in histogram.samples()] == [
        ("_bucket", '{who="a\\"b",le="1"}', 2),
        ("_bucket", '{who="a\\"b",le="2"}', 3),
        ("_bucket", '{who="a\\"b",le="+Inf"}', 4),
        ("_sum", '{who="a\\"b"}', 12.0),
        ("_count", '{who="a\\"b"}', 4),
    ]
