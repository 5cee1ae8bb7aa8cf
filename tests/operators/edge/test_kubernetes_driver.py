"""The kubernetes driver works in another cluster: here a second embedded server, with somebody who plays the kubelet."""

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from attractor.client import Client
from attractor.embedded import EmbeddedCluster
from attractor.k8s.apps_v1 import Deployment
from attractor.k8s.core_v1 import Namespace
from attractor.objects.gvk import Key
from attractor.operators.edge.drivers.kubernetes import KubernetesDriver
from attractor.operators.edge.drivers.protocols import Drained, Found, Ref
from attractor.testing import eventually

CLUSTER, APP = Ref("ClusterInst", "berlin", "one"), Ref("AppInst", "berlin", "shop")
NODES = (("nodes", "1"),)
SHOP = (("cluster", "one"), ("image", "shop:1"), ("replicas", "2"), ("revision", "1"))


@pytest_asyncio.fixture
async def elsewhere() -> AsyncIterator[Client]:
    async with EmbeddedCluster() as cluster, cluster.client() as client:
        yield client


async def test_a_cluster_is_a_namespace_and_an_app_a_deployment_in_it(elsewhere: Client) -> None:
    driver = KubernetesDriver(elsewhere, wait_available=False)
    assert await driver.find(CLUSTER) is None
    assert await driver.apply(CLUSTER, 1, NODES) == Found(1, NODES, "namespace/berlin-one")
    assert await driver.apply(APP, 1, SHOP) == Found(1, SHOP, "deployment/shop")
    found = await elsewhere.get(Deployment, Key("berlin-one", "shop"))
    assert found.to_dict()["spec"]["replicas"] == 2
    assert await driver.inventory() == {
        CLUSTER: Found(1, NODES, "namespace/berlin-one"),
        APP: Found(1, SHOP, "deployment/shop"),
    }
    await driver.remove(APP)
    await driver.remove(CLUSTER)
    assert await driver.inventory() == {}
    with pytest.raises(Exception, match="not found"):
        await elsewhere.get(Namespace, Key("", "berlin-one"))


async def test_an_app_is_there_once_its_deployment_is_available(elsewhere: Client) -> None:
    driver = KubernetesDriver(elsewhere)
    await driver.apply(CLUSTER, 1, NODES)
    async with asyncio.TaskGroup() as group:
        applying = group.create_task(driver.apply(APP, 1, SHOP))
        await eventually(lambda: elsewhere.get(Deployment, Key("berlin-one", "shop")))
        assert await driver.find(APP) is None
        available = {"observedGeneration": 1, "replicas": 2, "readyReplicas": 2, "availableReplicas": 2}
        await elsewhere.patch(Deployment, Key("berlin-one", "shop"), {"status": available}, subresource="status")
    assert applying.result() == Found(1, SHOP, "deployment/shop")


async def test_another_agent_finds_what_the_last_one_made_and_a_drained_one_makes_nothing(elsewhere: Client) -> None:
    first = KubernetesDriver(elsewhere, wait_available=False)
    await first.apply(CLUSTER, 1, NODES)
    await first.apply(APP, 3, SHOP)
    assert await first.drain()
    with pytest.raises(Drained):
        await first.remove(APP)
    second = KubernetesDriver(elsewhere, wait_available=False)
    assert await second.find(APP) == Found(3, SHOP, "deployment/shop")
