"""The pair's two controllers on a real server: both work on a good day, one of them on every day."""

import asyncio
from typing import Protocol

from attractor.client import ByteStream, Client, ClientRequest, ClientResponse, Transport
from attractor.k8s.core_v1 import ConfigMap
from attractor.objects.gvk import Key
from attractor.objects.resource import ObjectMeta
from attractor.operators.configpair.api import ConfigPair, ConfigPairSpec
from attractor.operators.configpair.controllers import configpair, naive
from attractor.runtime import Controller, Manager
from attractor.testing import ClusterUnderTest, VirtualTime, eventually

WEB = Key("default", "web")


def pair(value: str = "red") -> ConfigPair:
    meta = ObjectMeta(name=WEB.name, namespace=WEB.namespace)
    return ConfigPair(metadata=meta, spec=ConfigPairSpec(value=value))


async def values(cluster: ClusterUnderTest) -> dict[str, str]:
    """What the ConfigMaps of the pair hold, by their last name."""
    listed = await cluster.client.list(ConfigMap, WEB.namespace)
    return {
        one.metadata.name.removeprefix("web-"): one.data["value"]
        for one in listed
        if one.metadata.name.startswith("web-")
    }


async def written(cluster: ClusterUnderTest) -> str:
    return (await cluster.client.get(ConfigPair, WEB)).status.written


class Holds(Protocol):
    async def __call__(self, value: str) -> bool: ...


def holds(cluster: ClusterUnderTest) -> Holds:
    """Whether both ConfigMaps have a value, and the status says so."""

    async def asked(value: str) -> bool:
        return await values(cluster) == {"cm1": value, "cm2": value} and await written(cluster) == value

    return asked


async def test_a_pair_becomes_two_configmaps_and_a_status(cluster: ClusterUnderTest, virtual_time: VirtualTime) -> None:
    async with cluster.running(configpair) as manager:
        await cluster.client.create(pair("red"))
        await eventually(lambda: holds(cluster)("red"))
        await eventually(lambda: manager.controllers[0].queue.core.is_idle)
        assert len(cluster.requests.writes) == 3
        assert cluster.requests.count("get") == 0, "reads come from the cache"


async def test_an_edit_reaches_both_configmaps(cluster: ClusterUnderTest, virtual_time: VirtualTime) -> None:
    async with cluster.running(configpair):
        made = await cluster.client.create(pair("red"))
        await eventually(lambda: holds(cluster)("red"))
        await cluster.client.patch(ConfigPair, made.key, {"spec": {"value": "blue"}})
        await eventually(lambda: holds(cluster)("blue"))


async def test_a_configmap_that_somebody_deletes_or_changes_is_put_right(
    cluster: ClusterUnderTest, virtual_time: VirtualTime
) -> None:
    async with cluster.running(configpair):
        await cluster.client.create(pair("red"))
        await eventually(lambda: holds(cluster)("red"))
        await cluster.client.delete(ConfigMap, Key("default", "web-cm1"))
        await eventually(lambda: holds(cluster)("red"))
        await cluster.client.patch(ConfigMap, Key("default", "web-cm2"), {"data": {"value": "stolen"}})
        await eventually(lambda: holds(cluster)("red"))


async def test_a_deleted_pair_leaves_nothing_behind(cluster: ClusterUnderTest, virtual_time: VirtualTime) -> None:
    async with cluster.running(configpair):
        await cluster.client.create(pair("red"))
        await eventually(lambda: holds(cluster)("red"))
        await cluster.client.delete(ConfigPair, WEB)

        async def is_gone() -> bool:
            return await values(cluster) == {}

        await eventually(is_gone)


async def test_a_pair_that_is_made_anew_waits_for_the_remains_of_the_old_one(
    cluster: ClusterUnderTest, virtual_time: VirtualTime
) -> None:
    async with cluster.running(configpair):
        await cluster.client.create(pair("red"))
        await eventually(lambda: holds(cluster)("red"))
        await cluster.client.delete(ConfigPair, WEB)
        await cluster.client.create(pair("green"))
        await eventually(lambda: holds(cluster)("green"), within_s=30)


async def test_somebody_elses_configmap_is_never_touched(cluster: ClusterUnderTest, virtual_time: VirtualTime) -> None:
    meta = ObjectMeta(name="web-cm1", namespace="default")
    async with cluster.running(configpair) as manager:
        await cluster.client.create(ConfigMap(metadata=meta, data={"value": "mine"}))
        await cluster.client.create(pair("red"))
        await eventually(lambda: manager.metrics.reconciles.value("configpair", "requeue_after") > 0)
        assert await values(cluster) == {"cm1": "mine"}
        await cluster.client.delete(ConfigMap, Key("default", "web-cm1"))
        await eventually(lambda: holds(cluster)("red"), within_s=30)


class DiesAfterOneConfigMap:
    """The way to the server of a process that dies between its first and its second ConfigMap."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner
        self._created = 0
        self.died = asyncio.Event()

    async def send(self, request: ClientRequest) -> ClientResponse:
        if request.method == "POST" and request.path.endswith("/configmaps"):
            if self._created:
                self.died.set()
                await asyncio.get_running_loop().create_future()
            self._created += 1
        return await self._inner.send(request)

    async def open(self, request: ClientRequest) -> ByteStream:
        return await self._inner.open(request)

    async def aclose(self) -> None:
        await self._inner.aclose()


async def crash_between_the_writes(cluster: ClusterUnderTest, declared: Controller) -> None:
    """Run a controller until its process dies with one ConfigMap made."""
    await cluster.install(ConfigPair)
    dying = DiesAfterOneConfigMap(cluster.embedded.transport())
    life = asyncio.create_task(Manager(Client(dying), [declared]).run())
    await cluster.client.create(pair("red"))
    await dying.died.wait()
    life.cancel()
    await asyncio.wait({life})
    assert await values(cluster) == {"cm1": "red"}


async def test_the_right_one_survives_a_crash_between_the_writes(
    cluster: ClusterUnderTest, virtual_time: VirtualTime
) -> None:
    await crash_between_the_writes(cluster, configpair)
    async with cluster.running(configpair):
        await eventually(lambda: holds(cluster)("red"))


async def test_the_naive_one_works_on_a_good_day(cluster: ClusterUnderTest, virtual_time: VirtualTime) -> None:
    async with cluster.running(naive):
        await cluster.client.create(pair("red"))
        await eventually(lambda: holds(cluster)("red"))


async def test_the_naive_one_does_not_survive_a_crash_between_the_writes(
    cluster: ClusterUnderTest, virtual_time: VirtualTime
) -> None:
    await crash_between_the_writes(cluster, naive)
    async with cluster.running(naive) as manager:
        await eventually(lambda: manager.metrics.reconciles.value("configpair-naive", "success") > 0)
        await eventually(lambda: manager.controllers[0].queue.core.is_idle)
        assert await values(cluster) == {"cm1": "red"}
