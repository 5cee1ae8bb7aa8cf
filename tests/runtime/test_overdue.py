"""Reconciles that do not end: others go on, they are ended and tried again, and what cannot be ended is told."""

import asyncio
import math
from pathlib import Path

import pytest

from attractor.objects.gvk import Key
from attractor.runtime import Context, Result, controller
from attractor.runtime.worker.overdue import LOOK_S, SLACK_S, TIMEOUT_S, WORKERS
from attractor.testing import ClusterUnderTest, VirtualTime, eventually
from tests.runtime.test_manager import fetch
from tests.runtime.things import Thing, passing, thing

A = Key("default", "a")
FILE = Path(__file__).name


async def hang() -> None:
    await asyncio.Event().wait()  # the line that is told


LINE = next(n for n, text in enumerate(Path(__file__).read_text().splitlines(), 1) if "the line that is told" in text)


async def hang_whatever_comes() -> None:
    while True:
        try:
            await hang()
        except asyncio.CancelledError:
            continue


def told(caplog: pytest.LogCaptureFixture, message: str) -> list[dict[str, object]]:
    return [vars(record) for record in caplog.records if message in record.getMessage()]


async def test_one_object_that_hangs_does_not_stop_the_others_and_is_tried_again(
    cluster: ClusterUnderTest, virtual_time: VirtualTime, caplog: pytest.LogCaptureFixture
) -> None:
    runs: list[str] = []

    @controller(name="careless", for_=Thing)
    async def careless(ctx: Context, key: Key) -> None:
        runs.append(key.name)
        if key == A and runs.count("a") == 1:
            await hang()

    async with cluster.running(careless) as manager:
        await cluster.client.create(thing("a"))
        await eventually(lambda: runs == ["a"])
        await cluster.client.create(thing("b"))
        await eventually(lambda: runs == ["a", "b"])
        await passing(LOOK_S + 60)
        stuck = f'attractor_stuck_reconciles{{controller="careless",line="{__file__}:{LINE}"}} 1'
        assert stuck in manager.metrics.text()
        await eventually(lambda: runs == ["a", "b", "a"], within_s=TIMEOUT_S + LOOK_S)
        assert manager.metrics.timeouts.value("careless") == 1
        assert stuck not in manager.metrics.text()
    [late] = told(caplog, "a reconcile has not ended; it is cancelled when its time is over")[:1]
    assert str(late["line"]) == f"{__file__}:{LINE}: await asyncio.Event().wait()  # the line that is told"
    [failed] = told(caplog, "reconcile failed")
    assert (failed["line"], failed["exc_info"]) == (late["line"], None)
    assert "no end within 300 s" in str(failed["error"])


async def test_a_controller_whose_workers_all_ignore_their_end_is_unhealthy(
    cluster: ClusterUnderTest, virtual_time: VirtualTime, caplog: pytest.LogCaptureFixture
) -> None:
    release = False

    @controller(name="deaf", for_=Thing, workers=2)
    async def deaf(ctx: Context, key: Key) -> None:
        while not release:
            try:
                await hang()
            except asyncio.CancelledError:
                continue

    async with cluster.running(deaf, health=("127.0.0.1", 0), timeout_s=100, grace_s=1) as manager:
        await cluster.client.create(thing("a"))
        await passing(100 + LOOK_S + SLACK_S)
        assert (await fetch(manager.health_port, "/healthz")) == (200, "ok"), "one worker is free"
        await cluster.client.create(thing("b"))
        await passing(100 + LOOK_S + SLACK_S)
        code, body = await fetch(manager.health_port, "/healthz")
        assert code == 503
        assert "[-]controllers failed: deaf: no reconcile has ended for 1" in body
        assert f"on any of 2 workers, at {__file__}:{LINE}" in body
        assert told(caplog, "although it was cancelled; only a restart frees its worker")
        release = True  # stopping cancels once more


async def test_a_reconcile_that_ends_in_good_order_when_cancelled_frees_its_worker(
    cluster: ClusterUnderTest, virtual_time: VirtualTime
) -> None:
    runs: list[str] = []

    @controller(name="polite", for_=Thing, workers=1)
    async def polite(ctx: Context, key: Key) -> Result | None:
        runs.append(key.name)
        if len(runs) == 1:
            try:
                await hang()
            except asyncio.CancelledError:
                return None
        await passing(1)  # would be cancelled, had the first cancellation stayed
        runs.append("end")
        return None

    async with cluster.running(polite, timeout_s=20) as manager:
        await cluster.client.create(thing("a"))
        await eventually(lambda: runs == ["a"])
        await cluster.client.create(thing("b"))
        await eventually(lambda: runs == ["a", "b", "end"], within_s=60)
        assert manager.metrics.errors.value("polite") == 0


async def test_a_controller_may_ask_for_as_long_as_it_likes(
    cluster: ClusterUnderTest, virtual_time: VirtualTime, caplog: pytest.LogCaptureFixture
) -> None:
    ended: list[str] = []

    @controller(name="patient", for_=Thing, timeout_s=math.inf)
    async def patient(ctx: Context, key: Key) -> None:
        await passing(2 * TIMEOUT_S)
        ended.append(key.name)

    async with cluster.running(patient, health=("127.0.0.1", 0)) as manager:
        await cluster.client.create(thing("a"))
        await passing(TIMEOUT_S + SLACK_S + LOOK_S)
        assert await fetch(manager.health_port, "/healthz") == (200, "ok")
        await passing(TIMEOUT_S)
        assert ended == ["a"]
    assert told(caplog, "`timeout_s` of its controller would end it")


async def test_a_manager_that_stops_while_a_reconcile_is_being_ended_stops(
    cluster: ClusterUnderTest, virtual_time: VirtualTime
) -> None:
    """The cancellation of the one must not be taken for that of the other."""
    begun: list[str] = []

    @controller(name="slow", for_=Thing, workers=1)
    async def slow(ctx: Context, key: Key) -> None:
        begun.append(key.name)
        try:
            await hang()
        finally:
            await passing(30)

    async with cluster.running(slow, timeout_s=10, grace_s=1):
        await cluster.client.create(thing("a"))
        await passing(12)  # cancelled, and cleaning up
    assert begun == ["a"]


def test_a_declaration_says_nothing_of_what_its_author_does_not_say() -> None:
    """Whoever runs it, or explores it, must be able to tell a promise from a default."""

    @controller(for_=Thing)
    async def silent(ctx: Context, key: Key) -> None: ...

    assert (silent.workers, silent.timeout_s) == (None, None)
    assert WORKERS > 1
