"""The first example, run: pairs appear, follow edits, come back after deletion, and go with their owner."""

from examples.configpair import ConfigPair, ConfigPairSpec, configpair

from attractor.objects.builtin.core_v1 import ConfigMap
from attractor.objects.gvk import Key
from attractor.objects.resource import ObjectMeta
from attractor.testing import ClusterUnderTest, VirtualTime, eventually

KEYS = (Key("default", "web-1"), Key("default", "web-2"))


def web(**data: str) -> ConfigPair:
    return ConfigPair(metadata=ObjectMeta(name="web", namespace="default"), spec=ConfigPairSpec(data=data))


async def data_of(cluster: ClusterUnderTest) -> list[dict[str, str]]:
    return [(await cluster.client.get(ConfigMap, key)).data for key in KEYS]


async def test_both_configmaps_follow_the_pair(cluster: ClusterUnderTest, virtual_time: VirtualTime) -> None:
    async with cluster.running(configpair):
        pair = await cluster.client.create(web(color="red"))

        async def are(data: dict[str, str]) -> bool:
            return await data_of(cluster) == [data, data]

        await eventually(lambda: are({"color": "red"}))
        changed = pair.deep_copy()
        changed.spec.data = {"color": "blue"}
        await cluster.client.patch(pair, changed)
        await eventually(lambda: are({"color": "blue"}))

        await cluster.client.delete(ConfigMap, KEYS[0])
        await eventually(lambda: are({"color": "blue"}))
        found = await cluster.client.get(ConfigMap, KEYS[1])
        edited = found.deep_copy()
        edited.data = {"color": "stolen"}
        await cluster.client.patch(found, edited)
        await eventually(lambda: are({"color": "blue"}))

        await cluster.client.delete(ConfigPair, pair.key)

        async def are_gone() -> bool:
            left = await cluster.client.list(ConfigMap, "default")
            return not [one for one in left if one.metadata.name.startswith("web-")]

        await eventually(are_gone)


async def test_a_converged_pair_costs_no_more_requests(cluster: ClusterUnderTest, virtual_time: VirtualTime) -> None:
    async with cluster.running(configpair) as manager:
        await cluster.client.create(web(color="red"))
        await eventually(lambda: data_of(cluster))
        await eventually(lambda: manager.controllers[0].queue.core.is_idle)
        assert cluster.requests.count("create", "configmaps") == 2
        assert len(cluster.requests.writes) == 2
        assert cluster.requests.count("get") == 0, "reads come from the cache"
