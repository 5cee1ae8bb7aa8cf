"""Why a reconcile ran: told at debug, for events, timers, retries and sources; and Events of what keeps failing."""

import logging
from typing import Any

import pytest

from attractor.k8s.core_v1 import ConfigMap, Event
from attractor.objects.errors import Conflict
from attractor.objects.gvk import Key
from attractor.runtime import Context, Result, controller
from attractor.runtime.observability.causes import TOLD, Causes
from attractor.runtime.toolkit.channel import Channel
from attractor.runtime.worker.running_controller import PERSISTENT_FAILURES
from attractor.testing import ClusterUnderTest, VirtualTime
from tests.factories import config_map
from tests.runtime.things import Thing, passing, thing

A = Key("default", "a")


def told(caplog: pytest.LogCaptureFixture, name: str) -> list[dict[str, Any]]:
    logger = f"attractor.controller.{name}"
    return [vars(one) for one in caplog.records if one.name == logger and one.message == "reconciled"]


async def test_each_reconcile_is_told_at_debug_with_the_event_timer_retry_or_source_that_caused_it(
    cluster: ClusterUnderTest, virtual_time: VirtualTime, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "attractor.controller.caused")
    named: Channel[Key] = Channel()
    runs = iter([Result(requeue_after_s=5), Result(requeue=True), None, None, None])

    @controller(name="caused", for_=Thing, sources=[named])
    async def caused(ctx: Context, key: Key) -> Result | None:
        return next(runs)

    async with cluster.running(caused):
        made = await cluster.client.create(thing("a"))
        await passing(10)
        named.send(A)
        await passing(1)
        await cluster.client.delete(Thing, A)
        await passing(1)
    lines = told(caplog, "caused")
    assert [(one["result"], one["key"]) for one in lines] == [
        ("requeue_after", "default/a"),
        ("requeue", "default/a"),
        ("success", "default/a"),
        ("success", "default/a"),
        ("success", "default/a"),
    ]
    assert [one["cause"] for one in lines[:4]] == [
        f"Thing default/a appeared at version {made.metadata.resource_version}",
        "timer of 5 s",
        "retry 1",
        "source Channel",
    ]
    assert lines[4]["cause"].startswith("Thing default/a is gone at version ")
    assert all(one["took_ms"] >= 0 for one in lines)


async def test_causes_cost_nothing_where_nobody_debugs(
    cluster: ClusterUnderTest, virtual_time: VirtualTime, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "attractor")

    @controller(name="plain", for_=Thing)
    async def plain(ctx: Context, key: Key) -> None: ...

    async with cluster.running(plain) as manager:
        await cluster.client.create(thing("a"))
        await passing(1)
        assert manager.metrics.reconciles.value("plain", "success") == 1
    assert told(caplog, "plain") == []


def test_many_causes_of_one_run_are_counted() -> None:
    causes = Causes()
    for number in range(TOLD + 4):
        causes.note(A, f"ConfigMap default/{number} changed")
        causes.note(A, "ConfigMap default/0 changed")
    assert causes.take(A) == (
        "ConfigMap default/0 changed; ConfigMap default/1 changed; ConfigMap default/2 changed; 4 more"
    )


async def test_an_object_whose_reconcile_keeps_failing_gets_one_warning_event(
    cluster: ClusterUnderTest, virtual_time: VirtualTime
) -> None:
    @controller(name="poisoned", for_=ConfigMap)
    async def poisoned(ctx: Context, key: Key) -> None:
        if key.name == "poison":
            raise ValueError("no such colour")
        if key.name == "contended":
            raise Conflict("somebody else was faster")

    async with cluster.running(poisoned):
        for name in ("poison", "contended", "fine"):
            await cluster.client.create(config_map(name))
        await passing(60)
    (event,) = await cluster.client.list(Event)
    assert (event.type, event.reason, event.involved_object.name) == ("Warning", "ReconcileKeepsFailing", "poison")
    assert event.message == "the reconcile keeps failing: ValueError: no such colour"
    assert event.count > 1
    assert PERSISTENT_FAILURES > 1
