"""The whole thing with a real database: operator, StatefulSets, processes, rows."""

import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from attractor.k8s.core_v1 import PersistentVolumeClaim, Pod, Secret
from attractor.objects.gvk import Key
from attractor.operators.dbcluster import Cluster
from attractor.operators.dbcluster.controllers.controller import clusters
from attractor.operators.dbcluster.controllers.entropy import Entropy, SystemEntropy
from attractor.operators.dbcluster.drivers.local import LocalNode, Node, controllers
from attractor.operators.dbcluster.drivers.redis_client import RedisConnection
from attractor.testing import ClusterUnderTest, eventually

from .places import KEY, Mortal, cluster_of, component, edit, is_gone

PRIMARY = Key("default", "shop-cache-0")
ENTROPY = {Entropy: SystemEntropy()}


@asynccontextmanager
async def agent(cluster: ClusterUnderTest, directory: Path) -> AsyncIterator[LocalNode]:
    async with LocalNode(directory) as node:
        client = await cluster.granted_client(*controllers, name="agent")
        async with cluster.running(*controllers, externals={Node: node}, client=client):
            yield node


async def is_running(cluster: ClusterUnderTest, generation: int = 1) -> bool:
    status = (await cluster.client.get(Cluster, KEY)).status
    return status.phase == "Running" and status.observed_generation == generation


async def connection(cluster: ClusterUnderTest, pod: Key = PRIMARY) -> RedisConnection:
    found = await cluster.client.get(Pod, pod)
    secret = await cluster.client.get(Secret, Key("default", "shop-credentials"))
    certificate = ""
    if any(one.name == "tls" for one in found.spec.volumes):
        certificate = (await cluster.client.get(Secret, Key("default", "shop-cache-tls"))).data["tls.crt"].decode()
    return RedisConnection(found.status.pod_ip, 6379, secret.data["password"].decode(), certificate=certificate)


async def ask(cluster: ClusterUnderTest, *words: str, pod: Key = PRIMARY) -> object:
    async with await connection(cluster, pod) as database:
        return await database.call(*words)


@pytest.mark.slow
async def test_a_database_answers_copies_and_loses_no_row_in_a_rolling_change(
    cluster: ClusterUnderTest, tmp_path: Path
) -> None:
    async with agent(cluster, tmp_path):
        async with cluster.running(clusters, externals=ENTROPY, only_granted=True):
            await cluster.client.create(cluster_of(component(replicas=2)))
            await eventually(lambda: is_running(cluster), within_s=30)
            for number in range(50):
                assert await ask(cluster, "SET", f"row-{number}", str(number)) == "OK"
            copy = Key("default", "shop-cache-1")
            await eventually(lambda: _has(cluster, copy, "row-49"), within_s=30)
            before = {name: (await cluster.client.get(Pod, name)).metadata.uid for name in (PRIMARY, copy)}

        mortal = Mortal(1)
        await edit(cluster.client, components=[{"name": "cache", "replicas": 2, "config": {"maxclients": "64"}}])
        async with cluster.running(clusters, externals=ENTROPY, client=cluster.controller_client("mortal", mortal)):
            await eventually(lambda: mortal.is_dead)

        async with cluster.running(clusters, externals=ENTROPY, only_granted=True):
            await eventually(lambda: is_running(cluster, 2), within_s=30)
            assert await ask(cluster, "CONFIG", "GET", "maxclients") == ["maxclients", "64"]
            assert await ask(cluster, "DBSIZE") == 50
            after = {name: (await cluster.client.get(Pod, name)).metadata.uid for name in (PRIMARY, copy)}
            assert not set(before.values()) & set(after.values())


async def _has(cluster: ClusterUnderTest, pod: Key, row: str) -> bool:
    return await ask(cluster, "GET", row, pod=pod) is not None


@pytest.mark.slow
async def test_data_and_credentials_outlive_a_halted_cluster_and_not_a_deleted_one(
    cluster: ClusterUnderTest, tmp_path: Path
) -> None:
    async with agent(cluster, tmp_path), cluster.running(clusters, externals=ENTROPY, only_granted=True):
        await cluster.client.create(cluster_of(component(tls=True), termination_policy="Halt"))
        await eventually(lambda: is_running(cluster), within_s=30)
        await ask(cluster, "SET", "row", "kept")
        await cluster.client.delete(Cluster, KEY)
        await eventually(lambda: is_gone(cluster.client, Cluster, KEY), within_s=30)
        await eventually(lambda: is_gone(cluster.client, Pod, PRIMARY), within_s=30)

        await cluster.client.create(cluster_of(component(tls=True), termination_policy="Delete"))
        await eventually(lambda: is_running(cluster), within_s=30)
        assert await ask(cluster, "GET", "row") == "kept"
        assert len(list((tmp_path / "claims" / "default").iterdir())) == 1

        await cluster.client.delete(Cluster, KEY)
        await eventually(lambda: is_gone(cluster.client, Cluster, KEY), within_s=30)
        await eventually(lambda: _is_empty(cluster, tmp_path), within_s=30)


async def _is_empty(cluster: ClusterUnderTest, directory: Path) -> bool:
    claims = await cluster.client.list(PersistentVolumeClaim, "default")
    return not claims and not list((directory / "claims" / "default").iterdir())


@pytest.mark.slow
async def test_a_killed_database_comes_back_with_every_acknowledged_row(
    cluster: ClusterUnderTest, tmp_path: Path
) -> None:
    async with agent(cluster, tmp_path), cluster.running(clusters, externals=ENTROPY, only_granted=True):
        await cluster.client.create(cluster_of())
        await eventually(lambda: is_running(cluster), within_s=30)
        async with await connection(cluster) as database:
            for number in range(20):
                await database.call("SET", f"row-{number}", "x")
            told = dict(line.split(":", 1) for line in (await database.call("INFO", "server")).splitlines()[1:])
            os.kill(int(told["process_id"]), signal.SIGKILL)
        await eventually(lambda: _restarted(cluster), within_s=30)
        assert await ask(cluster, "DBSIZE") == 20


async def _restarted(cluster: ClusterUnderTest) -> bool:
    status = (await cluster.client.get(Pod, PRIMARY)).status.container_statuses[0]
    return status.restart_count == 1 and status.ready
