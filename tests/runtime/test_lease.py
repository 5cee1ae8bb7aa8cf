"""Leader election: one leads, the other stands by warm, and never do two write at once."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attractor.k8s.coordination_v1 import Lease
from attractor.k8s.core_v1 import ConfigMap
from attractor.objects.errors import ApiError
from attractor.objects.gvk import Key
from attractor.objects.resource import ObjectMeta
from attractor.runtime import Context, Controller, Election, LeadershipLost, Manager, Result, controller
from attractor.runtime.lease import Candidate
from attractor.testing import ClusterUnderTest, VirtualTime, eventually
from attractor.testing.faults import FaultInjector
from tests.runtime.things import Thing, passing, thing

LEASE = Key("default", "things")
WALL = datetime(2026, 11, 1, tzinfo=UTC)


def election(identity: str) -> Election:
    return Election("things", "default", identity, duration_s=15, renew_deadline_s=10, retry_period_s=2)


def writer(name: str, log: list[tuple[str, str]]) -> Controller:
    """Creates ConfigMaps, one a second, for ever; each run takes three seconds."""

    async def reconcile(ctx: Context, key: Key) -> Result | None:
        for _ in range(3):
            count = len(await ctx.list(ConfigMap, namespace="default", cached=False))
            await ctx.create(ConfigMap(metadata=ObjectMeta(name=f"{name}-{count}", namespace="default")))
            log.append((name, "wrote"))
            await passing(1)
        return Result(requeue_after_s=1)

    return controller(reconcile, name="writer", for_=Thing)


@asynccontextmanager
async def running(manager: Manager) -> AsyncIterator[asyncio.Task[None]]:
    task = asyncio.create_task(manager.run())
    try:
        yield task
    finally:
        manager.stop()
        with suppress(ExceptionGroup, asyncio.CancelledError):
            await task


async def holder(cluster: ClusterUnderTest) -> str | None:
    return (await cluster.client.get(Lease, LEASE)).spec.holder_identity


def who_wrote(cluster: ClusterUnderTest) -> list[tuple[float, str]]:
    """The server's view: every ConfigMap that was created, when and by whom."""
    return [(entry.at_s, entry.client) for entry in cluster.requests.select("create", "configmaps", code=201)]


async def test_the_leader_is_killed_in_the_middle_of_a_reconcile_and_the_other_takes_over(
    cluster: ClusterUnderTest, virtual_time: VirtualTime
) -> None:
    await cluster.install(Thing)
    log: list[tuple[str, str]] = []
    network = FaultInjector()
    one = cluster.manager(
        writer("one", log), client=cluster.controller_client("one", network), election=election("one")
    )
    two = cluster.manager(writer("two", log), client=cluster.controller_client("two"), election=election("two"))
    await cluster.client.create(thing("a"))
    async with running(one) as first:
        await one.wait_running()
        async with running(two):
            await eventually(lambda: two.is_ready and not two.is_running)
            await eventually(lambda: len(log) >= 4, within_s=60)
            assert {name for name, _ in log} == {"one"}
            killed_at = virtual_time.time()
            network.unreachable(times=10**9)  # what a killed process does to the server: it is not heard of again
            first.cancel()
            await two.wait_running()
            assert virtual_time.time() - killed_at <= 15.0
            await eventually(lambda: ("two", "wrote") in log, within_s=60)
    names = [name for _, name in who_wrote(cluster)]
    assert names == sorted(names), "one wrote, then two wrote; never one after two"


async def test_a_leader_that_is_cut_off_stops_before_the_other_may_begin(
    cluster: ClusterUnderTest, virtual_time: VirtualTime
) -> None:
    await cluster.install(Thing)
    log: list[tuple[str, str]] = []
    network = FaultInjector()
    one = cluster.manager(
        writer("one", log), client=cluster.controller_client("one", network), election=election("one")
    )
    two = cluster.manager(writer("two", log), client=cluster.controller_client("two"), election=election("two"))
    await cluster.client.create(thing("a"))
    async with running(one) as first:
        await one.wait_running()
        async with running(two):
            await eventually(lambda: len(log) >= 2, within_s=60)
            for verb in ("update", "get", "watch"):
                network.unreachable(verb, "leases", times=10**9)  # writes of ConfigMaps would still go through
            cut_at = virtual_time.time()
            await eventually(first.done, within_s=60)
            assert virtual_time.time() - cut_at <= 12
            with pytest.raises(ExceptionGroup) as failed:
                await first
            assert failed.group_contains(LeadershipLost, depth=2) or failed.group_contains(LeadershipLost)
            await two.wait_running()
            await eventually(lambda: ("two", "wrote") in log, within_s=60)
    last_of_one = max(at for at, name in who_wrote(cluster) if name == "one")
    first_of_two = min(at for at, name in who_wrote(cluster) if name == "two")
    assert first_of_two - last_of_one >= 3, "the deadline to stop lies well before the moment to begin"


async def test_stopping_releases_the_lease_and_the_standby_begins_at_once(
    cluster: ClusterUnderTest, virtual_time: VirtualTime
) -> None:
    await cluster.install(Thing)
    log: list[tuple[str, str]] = []
    one = cluster.manager(writer("one", log), client=cluster.controller_client("one"), election=election("one"))
    two = cluster.manager(writer("two", log), client=cluster.controller_client("two"), election=election("two"))
    async with running(one):
        await one.wait_running()
        assert one.metrics.text().count('leader_election_master_status{name="things"} 1') == 1
        async with running(two):
            await eventually(lambda: two.is_ready)
            assert not two.is_leader
            stopped_at = virtual_time.time()
            one.stop()
            await two.wait_running()
            assert virtual_time.time() - stopped_at < 0.5
            assert await holder(cluster) == "two"
            transitions = (await cluster.client.get(Lease, LEASE)).spec.lease_transitions
            assert transitions == 1


async def test_a_standby_that_is_stopped_ends_without_having_led(
    cluster: ClusterUnderTest, virtual_time: VirtualTime
) -> None:
    await cluster.install(Thing)
    one = cluster.manager(writer("one", []), client=cluster.controller_client("one"), election=election("one"))
    two = cluster.manager(writer("two", []), client=cluster.controller_client("two"), election=election("two"))
    async with running(one):
        await one.wait_running()
        async with running(two) as second:
            await eventually(lambda: two.is_ready)
            two.stop()
            await second
        assert await holder(cluster) == "one"


async def test_a_process_that_was_asleep_past_its_lease_may_not_write(
    cluster: ClusterUnderTest, virtual_time: VirtualTime
) -> None:
    await cluster.install(Thing)
    refused: list[str] = []

    @controller(name="sleeper", for_=Thing)
    async def reconcile(ctx: Context, key: Key) -> Result | None:
        virtual_time.jump(60)  # the whole process stood still: no timer fired, no renewal happened
        try:
            await ctx.create(ConfigMap(metadata=ObjectMeta(name="late", namespace="default")))
        except LeadershipLost as error:
            refused.append(str(error))
            raise
        return None

    one = cluster.manager(reconcile, client=cluster.controller_client("one"), election=election("one"))
    async with running(one):
        await one.wait_running()
        await cluster.client.create(thing("a"))
        await eventually(lambda: bool(refused), within_s=100)
        with pytest.raises(ApiError):
            await cluster.client.get(ConfigMap, Key("default", "late"))


@given(st.lists(st.tuples(st.integers(0, 9), st.booleans()), max_size=40))
def test_a_candidate_takes_a_lease_only_after_seeing_it_unchanged_for_its_whole_duration(
    steps: list[tuple[int, bool]],
) -> None:
    leader, rival = Candidate(election("leader")), Candidate(election("rival"))
    lease = leader.claim(None, WALL)
    lease.metadata.resource_version = "1"
    now, version, last_change = 0.0, 1, 0.0
    rival.observe(lease, now)
    for seconds, renews in steps:
        now += seconds
        if renews:
            version += 1
            lease = leader.claim(lease, WALL)
            lease.metadata.resource_version = str(version)
            last_change = now
        rival.observe(lease, now)
        assert (rival.free_in_s(lease, now) <= 0) == (now - last_change >= 15)
    assert leader.free_in_s(lease, now) == 0 or leader.holder == ""


def test_an_election_that_could_have_two_leaders_is_refused() -> None:
    with pytest.raises(ValueError, match="must exceed the renew deadline"):
        Election("x", "default", "me", duration_s=10, renew_deadline_s=10)
