"""Leader election when the way to the Lease is bad: answers that are lost, connections that hang, watches that end."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime

import pytest

from attractor.client import ByteStream, Client, ClientRequest, ClientResponse, Transport
from attractor.k8s.coordination_v1 import Lease
from attractor.objects.gvk import Key
from attractor.runtime import Context, Election, Manager, Result, controller
from attractor.runtime.lease import Candidate, LeaderElector
from attractor.testing import ClusterUnderTest, VirtualTime, eventually
from attractor.testing.faults import FaultInjector
from tests.runtime.things import Thing, passing, thing

LEASE = Key("default", "things")


def election(identity: str) -> Election:
    return Election("things", "default", identity, duration_s=15, renew_deadline_s=10, retry_period_s=2)


class Bad:
    """A transport that does to requests about Leases what ``send`` and ``open`` say, if they say something."""

    def __init__(self, inner: Transport) -> None:
        self.inner = inner
        self.sends: Callable[[ClientRequest], AsyncIterator[None]] | None = None
        self.opens: Callable[[ByteStream], ByteStream] = lambda stream: stream
        self.requests: list[str] = []

    async def send(self, request: ClientRequest) -> ClientResponse:
        if "leases" not in request.path:
            return await self.inner.send(request)
        self.requests.append(request.method)
        if self.sends is None:
            return await self.inner.send(request)
        around = self.sends(request)
        await anext(around, None)
        answer = await self.inner.send(request)
        await anext(around, None)
        return answer

    async def open(self, request: ClientRequest) -> ByteStream:
        stream = await self.inner.open(request)
        if "leases" not in request.path:
            return stream
        self.requests.append("WATCH")
        return self.opens(stream)

    async def aclose(self) -> None:
        await self.inner.aclose()


class Over:
    """A watch that is over as soon as it has begun."""

    def __init__(self, inner: ByteStream) -> None:
        self.code = inner.code
        self._inner = inner

    async def receive(self) -> bytes:
        return b""

    def close(self) -> None:
        self._inner.close()


@asynccontextmanager
async def leading(elector: LeaderElector, lost: list[str]) -> AsyncIterator[None]:
    async with elector.leading(lambda: lost.append("lost")):
        yield


@pytest.fixture
def bad(cluster: ClusterUnderTest) -> Bad:
    return Bad(cluster.embedded.transport())


async def test_a_renewal_whose_answer_is_lost_is_found_out_by_looking_again_and_again(
    cluster: ClusterUnderTest, virtual_time: VirtualTime
) -> None:
    network = FaultInjector()
    elector = LeaderElector(cluster.controller_client("one", network), election("one"), now=virtual_time.now)
    lost: list[str] = []
    async with leading(elector, lost):
        struck = [network.lost_answer("update", "leases"), network.timeout("get", "leases", times=2)]
        await eventually(lambda: len(struck[1].struck) == 2, within_s=20)
        await passing(30)
        assert elector.is_leader
    assert lost == []


async def test_one_connection_that_hangs_does_not_cost_the_leader_its_lease(
    bad: Bad, cluster: ClusterUnderTest, virtual_time: VirtualTime
) -> None:
    elector = LeaderElector(Client(bad), election("one"), now=virtual_time.now)
    lost: list[str] = []
    hung: list[str] = []

    async def first_hangs(request: ClientRequest) -> AsyncIterator[None]:
        if not hung:
            hung.append(request.method)
            await asyncio.get_running_loop().create_future()
        yield

    async with leading(elector, lost):
        bad.sends = first_hangs
        await passing(60)
        assert elector.is_leader
    assert (hung, lost) == (["PUT"], [])


async def test_a_standby_whose_connection_hangs_asks_again_on_another_one(
    bad: Bad, cluster: ClusterUnderTest, virtual_time: VirtualTime
) -> None:
    hung: list[str] = []

    async def first_hangs(request: ClientRequest) -> AsyncIterator[None]:
        if not hung:
            hung.append(request.method)
            await asyncio.get_running_loop().create_future()
        yield

    bad.sends = first_hangs
    began = virtual_time.time()
    async with leading(LeaderElector(Client(bad), election("one"), now=virtual_time.now), []):
        assert virtual_time.time() - began <= 8
    assert hung == ["GET"]


async def test_an_election_at_a_slow_server_leads_for_the_whole_deadline_from_the_write_on(
    bad: Bad, cluster: ClusterUnderTest, virtual_time: VirtualTime
) -> None:
    async def reads_are_slow(request: ClientRequest) -> AsyncIterator[None]:
        if request.method == "GET":
            await passing(4)
        yield

    bad.sends = reads_are_slow
    elector = LeaderElector(Client(bad), election("one"), now=virtual_time.now)
    async with leading(elector, []):
        virtual_time.jump(9)
        assert elector.is_leader
        virtual_time.jump(1.5)
        assert not elector.is_leader


async def test_a_server_that_ends_every_watch_at_once_is_not_hammered_by_standbys(
    bad: Bad, cluster: ClusterUnderTest, virtual_time: VirtualTime
) -> None:
    first = LeaderElector(cluster.controller_client("one"), election("one"), now=virtual_time.now)
    second = LeaderElector(Client(bad), election("two"), now=virtual_time.now)
    bad.opens = Over
    async with leading(first, []):
        standing_by = asyncio.create_task(second.leading(lambda: None).__aenter__())
        await passing(60)
        assert not standing_by.done()
        standing_by.cancel()
        with suppress(asyncio.CancelledError):
            await standing_by
    assert 20 <= len(bad.requests) <= 70, "a look and a watch every retry period"


async def test_a_standby_that_cannot_write_the_free_lease_tries_again_every_retry_period(
    cluster: ClusterUnderTest, virtual_time: VirtualTime
) -> None:
    network = FaultInjector()
    refused = network.timeout("create", "leases", times=5)
    elector = LeaderElector(cluster.controller_client("one", network), election("one"), now=virtual_time.now)
    began = virtual_time.time()
    async with leading(elector, []):
        assert virtual_time.time() - began == pytest.approx(10, abs=0.5)
    assert len(refused.struck) == 5


async def test_a_leader_that_stops_while_it_renews_releases_the_lease_all_the_same(
    bad: Bad, cluster: ClusterUnderTest, virtual_time: VirtualTime
) -> None:
    elector = LeaderElector(Client(bad), election("one"), now=virtual_time.now)
    stored = asyncio.Event()

    async def answers_are_slow(request: ClientRequest) -> AsyncIterator[None]:
        yield
        if not stored.is_set():
            stored.set()
            await passing(1)

    async with leading(elector, []):
        bad.sends = answers_are_slow
        await stored.wait()
    lease = await cluster.client.get(Lease, LEASE)
    assert lease.spec.holder_identity is None


async def test_a_lease_that_somebody_else_has_taken_meanwhile_is_not_released(
    cluster: ClusterUnderTest, virtual_time: VirtualTime
) -> None:
    elector = LeaderElector(cluster.controller_client("one"), election("one"), now=virtual_time.now)
    async with leading(elector, []):
        await cluster.client.patch(Lease, LEASE, {"spec": {"holderIdentity": "two"}})
    assert (await cluster.client.get(Lease, LEASE)).spec.holder_identity == "two"


async def test_a_leader_away_from_the_server_for_longer_than_the_lease_stops_at_the_renew_deadline(
    cluster: ClusterUnderTest, virtual_time: VirtualTime
) -> None:
    network = FaultInjector()
    elector = LeaderElector(cluster.controller_client("one", network), election("one"), now=virtual_time.now)
    lost_at: list[float] = []
    async with elector.leading(lambda: lost_at.append(virtual_time.time())):
        renewed_at = virtual_time.time()
        network.unreachable(times=10**9)
        await passing(9.5)
        led = [elector.is_leader]
        await passing(20)
        led.append(elector.is_leader)
    assert led == [True, False]
    assert lost_at == [pytest.approx(renewed_at + 10, abs=0.01)]


async def test_a_leader_whose_lease_somebody_has_taken_stops_at_once_and_does_not_take_it_back(
    cluster: ClusterUnderTest, virtual_time: VirtualTime
) -> None:
    elector = LeaderElector(cluster.controller_client("one"), election("one"), now=virtual_time.now)
    lost: list[str] = []
    async with leading(elector, lost):
        await cluster.client.patch(Lease, LEASE, {"spec": {"holderIdentity": "two"}})
        await passing(2.5)
        assert lost == ["lost"]
        await passing(60)
    assert (await cluster.client.get(Lease, LEASE)).spec.holder_identity == "two"
    assert elector.holder == "two"


async def test_a_lease_that_was_deleted_or_emptied_under_its_leader_is_written_anew(
    cluster: ClusterUnderTest, virtual_time: VirtualTime
) -> None:
    elector = LeaderElector(cluster.controller_client("one"), election("one"), now=virtual_time.now)
    lost: list[str] = []
    async with leading(elector, lost):
        await cluster.client.delete(Lease, LEASE)
        await passing(3)
        assert (await cluster.client.get(Lease, LEASE)).spec.holder_identity == "one"
        await cluster.client.patch(Lease, LEASE, {"spec": {"holderIdentity": None}})
        await passing(3)
        assert (await cluster.client.get(Lease, LEASE)).spec.holder_identity == "one"
        assert elector.slow_renewals == 2
    assert lost == []


def test_a_candidate_waits_for_the_duration_that_the_holder_has_stored_if_it_is_longer_than_its_own() -> None:
    wall = datetime(2026, 1, 1, tzinfo=UTC)
    patient = Candidate(Election("x", "default", "a", duration_s=60, renew_deadline_s=50, retry_period_s=2))
    hasty = Candidate(Election("x", "default", "b", duration_s=5, renew_deadline_s=4, retry_period_s=2))
    lease = patient.claim(None, wall)
    lease.metadata.resource_version = "1"
    hasty.observe(lease, 100)
    assert hasty.free_in_s(lease, 110) == 50
    lease.spec.lease_duration_seconds = None
    assert hasty.free_in_s(lease, 101) == 4


def test_a_renewal_keeps_when_and_how_often_the_lease_changed_hands_and_a_takeover_counts() -> None:
    early, late = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 2, tzinfo=UTC)
    one, two = Candidate(election("one")), Candidate(election("two"))
    first = one.claim(None, early)
    again, taken = one.claim(first, late), two.claim(first, late)
    spec = again.spec
    assert (spec.acquire_time, spec.renew_time, spec.lease_transitions) == (early, late, 0)
    assert (taken.spec.acquire_time, taken.spec.renew_time, taken.spec.lease_transitions) == (late, late, 1)


def test_other_implementations_are_told_of_the_whole_duration() -> None:
    candidate = Candidate(Election("x", "default", "me", duration_s=15.4, renew_deadline_s=15.3, retry_period_s=2))
    assert candidate.claim(None, datetime(2026, 1, 1, tzinfo=UTC)).spec.lease_duration_seconds == 16


class Runs:
    """What a controller did: which runs began, and which ended."""

    def __init__(self, takes_s: float) -> None:
        self.takes_s = takes_s
        self.began: list[str] = []
        self.ended: list[str] = []

    async def __call__(self, ctx: Context, key: Key) -> Result | None:
        self.began.append(key.name)
        await passing(self.takes_s)
        self.ended.append(key.name)
        return None


def manager(cluster: ClusterUnderTest, identity: str, leaders: Runs, everywhere: Runs, **options: float) -> Manager:
    async def lead(ctx: Context, key: Key) -> Result | None:
        return await leaders(ctx, key)

    async def always(ctx: Context, key: Key) -> Result | None:
        return await everywhere(ctx, key)

    controllers = [
        controller(lead, name="leaders", for_=Thing),
        controller(always, name="everywhere", for_=Thing, needs_leader=False),
    ]
    client = cluster.controller_client(identity)
    return cluster.manager(*controllers, client=client, election=election(identity), **options)


async def test_a_standby_that_is_stopped_finishes_what_runs_without_a_lease(
    cluster: ClusterUnderTest, virtual_time: VirtualTime
) -> None:
    await cluster.install(Thing)
    idle, busy = Runs(0), Runs(5)
    first = LeaderElector(cluster.controller_client("one"), election("one"), now=virtual_time.now)
    async with leading(first, []):
        standby = manager(cluster, "two", idle, busy)
        running = asyncio.create_task(standby.run())
        await eventually(lambda: standby.is_ready)
        await cluster.client.create(thing("a"))
        await eventually(lambda: busy.began == ["a"])
        standby.stop()
        await running
    assert (busy.ended, idle.began) == (["a"], [])


async def test_all_controllers_have_one_grace_time_together_and_begin_nothing_in_it(
    cluster: ClusterUnderTest, virtual_time: VirtualTime
) -> None:
    await cluster.install(Thing)
    leaders, everywhere = Runs(1000), Runs(1000)
    one = manager(cluster, "one", leaders, everywhere, grace_s=30)
    running = asyncio.create_task(one.run())
    await one.wait_running()
    await cluster.client.create(thing("a"))
    await eventually(lambda: leaders.began == everywhere.began == ["a"])
    stopped_at = virtual_time.time()
    one.stop()
    await cluster.client.create(thing("b"))
    await running
    assert virtual_time.time() - stopped_at == pytest.approx(30, abs=3)
    assert (leaders.began, everywhere.began, leaders.ended, everywhere.ended) == (["a"], ["a"], [], [])


async def test_a_manager_that_has_failed_is_neither_ready_nor_waited_for(
    cluster: ClusterUnderTest, virtual_time: VirtualTime
) -> None:
    await cluster.install(Thing)
    one = manager(cluster, "one", Runs(0), Runs(0))
    first = LeaderElector(cluster.controller_client("two"), election("two"), now=virtual_time.now)
    async with leading(first, []):
        running = asyncio.create_task(one.run())
        await eventually(lambda: one.is_ready)
        waiting = asyncio.create_task(one.wait_running())
        running.cancel()
        with pytest.raises(RuntimeError, match="stopped before its controllers ran"):
            await waiting
    assert not one.is_ready
    assert running.cancelled()
