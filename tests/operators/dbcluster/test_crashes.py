"""The operator dies after each of its writes, on the real runtime: no prefix of a plan is one that cannot be gone on from."""

from collections.abc import Awaitable, Callable

from attractor.k8s.apps_v1 import StatefulSet
from attractor.k8s.core_v1 import ConfigMap, Secret, Service
from attractor.objects.gvk import Key
from attractor.operators.dbcluster import Cluster
from attractor.operators.dbcluster.controllers.controller import clusters
from attractor.operators.dbcluster.controllers.plan import KINDS
from attractor.testing import ClusterUnderTest, VirtualTime, eventually

from .places import KEY, CountedEntropy, Mortal, cluster_of, component, edit, externals, is_gone, ready_pods

CREDENTIALS = Key("default", "shop-credentials")


async def lives_of_one_write(
    cluster: ClusterUnderTest, entropy: CountedEntropy, is_done: Callable[[], Awaitable[bool]]
) -> int:
    """Start the operator again and again, each time for one write; how many lives it took."""
    lives = 0
    while not await is_done():
        lives += 1
        mortal = Mortal(1)
        client = cluster.controller_client("mortal", mortal)
        async with cluster.running(clusters, externals=externals(entropy), client=client):
            await eventually(lambda mortal=mortal: _is_over(mortal, is_done))  # type: ignore[misc]
        await check_order(cluster)
    return lives


async def _is_over(mortal: Mortal, is_done: Callable[[], Awaitable[bool]]) -> bool:
    return mortal.is_dead or await is_done()


async def check_order(cluster: ClusterUnderTest) -> None:
    """Nothing is there without the credentials, and no workload without its configuration."""
    found = await everything(cluster)
    assert not found or any(ref == "Secret shop-credentials" for ref in found)
    for workload in await cluster.client.list(StatefulSet, "default"):
        volumes = [one.config_map.name for one in workload.spec.template.spec.volumes if one.config_map is not None]
        assert f"ConfigMap {volumes[0]}" in found


async def everything(cluster: ClusterUnderTest) -> set[str]:
    found = [obj for kind in KINDS for obj in await cluster.client.list(kind, "default")]
    return {f"{obj.kind} {obj.metadata.name}" for obj in found if obj.metadata.labels}


async def is_running(cluster: ClusterUnderTest, generation: int) -> bool:
    found = await cluster.client.get(Cluster, KEY)
    return found.status.phase == "Running" and found.status.observed_generation == generation


async def test_creation_change_and_deletion_survive_a_crash_after_every_write(
    cluster: ClusterUnderTest, virtual_time: VirtualTime
) -> None:
    entropy, client = CountedEntropy(), cluster.client
    async with cluster.running(ready_pods, client=cluster.controller_client("kubelet")):
        await cluster.install(Cluster)
        await client.create(cluster_of(component("app", depends_on=["store"]), component("store")))
        created = await lives_of_one_write(cluster, entropy, lambda: is_running(cluster, 1))
        password = (await client.get(Secret, CREDENTIALS)).data

        await edit(client, components=[{"name": "store", "config": {"maxclients": "64"}}])

        async def is_changed() -> bool:
            return await is_running(cluster, 2) and not await orphans(cluster)

        changed = await lives_of_one_write(cluster, entropy, is_changed)
        assert (await client.get(Secret, CREDENTIALS)).data == password

        await client.delete(Cluster, KEY)
        deleted = await lives_of_one_write(cluster, entropy, lambda: is_gone(client, Cluster, KEY))
    assert await everything(cluster) == set()
    assert created >= 10
    assert changed >= 5
    assert deleted >= 6


async def orphans(cluster: ClusterUnderTest) -> list[str]:
    """What belongs to a component that is no longer wanted, and configuration that nothing reads."""
    configs = [one.metadata.name for one in await cluster.client.list(ConfigMap, "default") if one.metadata.labels]
    parts = [obj.metadata.name for kind in (StatefulSet, Service) for obj in await cluster.client.list(kind, "default")]
    return [name for name in parts if "shop-app" in name] + configs[1:]


async def test_credentials_that_were_stored_before_a_crash_are_the_ones_that_stay(cluster: ClusterUnderTest) -> None:
    """A lost answer: the Secret is stored, and the operator does not know; the second password is thrown away."""
    entropy = CountedEntropy()
    cluster.faults.lost_answer("create", "secrets")
    async with (
        cluster.running(ready_pods, client=cluster.controller_client("kubelet")),
        cluster.running(clusters, externals=externals(entropy)),
    ):
        await cluster.client.create(cluster_of())
        await eventually(lambda: is_running(cluster, 1))
    assert (await cluster.client.get(Secret, CREDENTIALS)).data["password"] == b"password-1"
