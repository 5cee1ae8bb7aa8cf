"""The testing kit tests itself: time that jumps, faults that strike as told, a log that tells the truth."""

import asyncio
import time

import pytest

from attractor.client import AnswerLost, ClientRequest, ServerUnreachable
from attractor.k8s.core_v1 import ConfigMap
from attractor.objects.errors import Conflict, Gone, NotFound, Timeout
from attractor.objects.gvk import Key
from attractor.testing import ClusterUnderTest, FaultInjector, RequestLog, VirtualTime, eventually
from attractor.testing.request_log import describe
from tests.factories import config_map
from tests.runtime.things import passing

A = Key("default", "a")


async def test_a_day_passes_in_no_time_and_timers_keep_their_order(virtual_time: VirtualTime) -> None:
    began, real = virtual_time.time(), time.monotonic()
    order: list[str] = []

    async def after(seconds: float, name: str) -> None:
        await passing(seconds)
        order.append(f"{name} at {virtual_time.time() - began:g}")

    async with asyncio.TaskGroup() as group:
        group.create_task(after(86400, "day"))
        group.create_task(after(1, "second"))
        group.create_task(after(60, "minute"))
    assert order == ["second at 1", "minute at 60", "day at 86400"]
    assert time.monotonic() - real < 5


async def test_time_waits_for_threads(virtual_time: VirtualTime) -> None:
    began = virtual_time.time()
    timer = asyncio.ensure_future(passing(1000))
    assert await asyncio.to_thread(lambda: 6 * 7) == 42
    assert virtual_time.time() - began < 1000
    await timer


async def test_time_is_real_again_afterwards() -> None:
    assert abs(asyncio.get_running_loop().time() - time.monotonic()) < 1


async def test_stamps_of_objects_follow_the_virtual_clock(cluster: ClusterUnderTest, virtual_time: VirtualTime) -> None:
    first = await cluster.client.create(config_map("first"))
    await passing(3600)
    second = await cluster.client.create(config_map("second"))
    assert first.metadata.creation_timestamp is not None
    assert second.metadata.creation_timestamp is not None
    passed = second.metadata.creation_timestamp - first.metadata.creation_timestamp
    assert passed.total_seconds() == pytest.approx(3600, abs=1)


async def test_faults_strike_as_often_as_told_and_only_what_matches(cluster: ClusterUnderTest) -> None:
    client = cluster.controller_client()
    made = await client.create(config_map(x="1"))
    fault = cluster.faults.conflict("update", "configmaps", name="a", times=2)
    for _ in range(2):
        with pytest.raises(Conflict):
            await client.update(made)
    assert (await client.update(made)).data == {"x": "1"}
    assert len(fault.struck) == 2
    cluster.faults.timeout("get", "configmaps")
    with pytest.raises(Timeout):
        await client.get(ConfigMap, A)
    assert await client.get(ConfigMap, A)


def test_a_verb_that_there_is_not_is_refused_where_it_is_written() -> None:
    for wrong in (FaultInjector().conflict, RequestLog().count):
        with pytest.raises(ValueError, match="there is no verb 'updaet'; there are: get, list, "):
            wrong("updaet", "configmaps")


async def test_a_lost_answer_means_that_it_happened_and_a_lost_request_that_it_did_not(
    cluster: ClusterUnderTest,
) -> None:
    client = cluster.controller_client()
    cluster.faults.lost_answer("create", "configmaps", name="", times=1)
    with pytest.raises(AnswerLost):
        await client.create(config_map("happened"))
    assert await cluster.client.get(ConfigMap, Key("default", "happened"))
    cluster.faults.lost_request("create", "configmaps")
    with pytest.raises(AnswerLost):
        await client.create(config_map("did-not"))
    with pytest.raises(NotFound):
        await cluster.client.get(ConfigMap, Key("default", "did-not"))


async def test_an_unreachable_server_is_tried_again_and_then_given_up(
    cluster: ClusterUnderTest, virtual_time: VirtualTime
) -> None:
    client = cluster.controller_client()
    await client.create(config_map())
    cluster.faults.unreachable("get", times=2)
    assert await client.get(ConfigMap, A)
    cluster.faults.unreachable("get", times=10**6)
    with pytest.raises(ServerUnreachable):
        await client.get(ConfigMap, A)


async def test_a_stale_list_shows_the_past(cluster: ClusterUnderTest) -> None:
    client = cluster.controller_client()
    before = len(await client.list(ConfigMap, "default"))
    await cluster.client.create(config_map())
    cluster.faults.stale_list("configmaps")
    assert len(await client.list(ConfigMap, "default")) == before
    assert len(await client.list(ConfigMap, "default")) == before + 1


async def test_watches_are_cut_and_versions_are_gone(cluster: ClusterUnderTest) -> None:
    client = cluster.controller_client()
    listed = await client.list(ConfigMap, "default")
    async with client.watch(ConfigMap, "default", resource_version=listed.resource_version) as events:
        await cluster.client.create(config_map())
        assert (await anext(events)).resource_version
        assert cluster.faults.cut_watches("configmaps") == 1
        with pytest.raises(AnswerLost):
            await anext(events)
    cluster.faults.gone("configmaps")
    with pytest.raises(Gone):
        async with client.watch(ConfigMap, "default", resource_version="1"):
            pass


class Pieces:
    """A stream of one piece, which comes when it is told to."""

    code = 200

    def __init__(self) -> None:
        self.piece = asyncio.get_running_loop().create_future()
        self.is_closed = False

    async def receive(self) -> bytes:
        data: bytes = await asyncio.shield(self.piece)
        self.piece = asyncio.get_running_loop().create_future()
        return data

    def close(self) -> None:
        self.is_closed = True


@pytest.mark.parametrize("turns", range(6))
async def test_whoever_stops_waiting_for_a_watch_and_asks_again_misses_nothing(turns: int) -> None:
    inner = Pieces()
    stream = FaultInjector().opened("pods", inner)
    waiting = asyncio.ensure_future(stream.receive())
    await asyncio.sleep(0)
    inner.piece.set_result(b"news")
    for _ in range(turns):
        await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.wait({waiting})
    async with asyncio.timeout(5):
        assert (await stream.receive() if waiting.cancelled() else waiting.result()) == b"news"
    stream.close()
    assert inner.is_closed


async def test_eventually_tells_the_last_answer_when_it_gives_up(virtual_time: VirtualTime) -> None:
    with pytest.raises(AssertionError, match=r"not within 3 s; the last answer was \[\]"):
        await eventually(list, within_s=3)

    async def refuses() -> bool:
        raise NotFound("no such thing")

    with pytest.raises(AssertionError, match="no such thing"):
        await eventually(refuses, within_s=1)


async def test_the_log_has_every_request_of_controllers_and_none_of_the_test(cluster: ClusterUnderTest) -> None:
    client = cluster.controller_client("mine")
    await cluster.client.create(config_map("by-the-test"))
    await client.create(config_map())
    await client.list(ConfigMap)
    with pytest.raises(NotFound):
        await client.get(ConfigMap, Key("default", "missing"))
    assert [str(entry) for entry in cluster.requests] == [
        "create configmaps/default -> 201",
        "list configmaps -> 200",
        "get configmaps/default/missing -> 404",
    ]
    assert {entry.client for entry in cluster.requests} == {"mine"}
    assert (len(cluster.requests.writes), cluster.requests.count("get", code=404)) == (1, 1)


@pytest.mark.parametrize(
    ("method", "path", "told"),
    [
        ("GET", "/api/v1/namespaces", "list namespaces"),
        ("GET", "/api/v1/namespaces/a", "get namespaces/a"),
        ("PUT", "/api/v1/namespaces/a/status", "update namespaces/a/status"),
        ("DELETE", "/apis/apps/v1/namespaces/a/deployments", "deletecollection deployments/a"),
        ("PATCH", "/apis/apps/v1/namespaces/a/deployments/web/scale", "patch deployments/a/web/scale"),
        ("DELETE", "/apis/x.org/v1/things/t", "delete things/t"),
    ],
)
def test_requests_are_told_in_kubernetes_words(method: str, path: str, told: str) -> None:
    entry = describe(ClientRequest(method, path))
    assert entry is not None
    assert str(entry) == f"{told} -> no answer"


def test_discovery_is_no_request_for_a_resource() -> None:
    assert describe(ClientRequest("GET", "/apis")) is None
