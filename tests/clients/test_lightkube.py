"""lightkube, unmodified: both clients, patches, apply, wait, watch, generic resources."""

import asyncio

import pytest
from lightkube import ApiError, AsyncClient, Client, KubeConfig
from lightkube.generic_resource import create_namespaced_resource
from lightkube.models.core_v1 import Container, PodSpec
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.operators import in_
from lightkube.resources.core_v1 import ConfigMap, Pod
from lightkube.types import CascadeType, PatchType

from tests.clients.conftest import GROUP, LEAKY, VERSION
from tests.serving import Serving

pytestmark = [pytest.mark.slow, *LEAKY]
PATIENCE_S = 30

Gadget = create_namespaced_resource(GROUP, VERSION, "Gadget", "gadgets")


def config_of(server: Serving) -> KubeConfig:
    return KubeConfig.from_file(str(server.kubeconfig))


def test_objects_live_a_whole_life(server: Serving, namespace: str) -> None:
    with Client(config=config_of(server), namespace=namespace, field_manager="guest") as client:
        made = client.create(ConfigMap(metadata=ObjectMeta(name="c", labels={"tier": "a"}), data={"x": "1"}))
        assert made.metadata is not None
        assert made.metadata.uid
        made.data = {"x": "2"}
        assert client.replace(made).data == {"x": "2"}
        patched = client.patch(ConfigMap, "c", {"data": {"y": "3"}})
        assert patched.data == {"x": "2", "y": "3"}
        merged = client.patch(ConfigMap, "c", {"data": {"x": None}}, patch_type=PatchType.MERGE)
        assert merged.data == {"y": "3"}
        applied = client.apply(ConfigMap(metadata=ObjectMeta(name="c"), data={"z": "4"}))
        assert applied.data == {"y": "3", "z": "4"}
        assert [one.metadata.name for one in client.list(ConfigMap, labels={"tier": in_(["a", "b"])})] == ["c"]
        client.set(ConfigMap, "c", labels={"tier": None})
        assert list(client.list(ConfigMap, labels={"tier": in_(["a", "b"])})) == []
        client.delete(ConfigMap, "c", cascade=CascadeType.BACKGROUND)
        with pytest.raises(ApiError) as absent:
            client.get(ConfigMap, "c")
    assert absent.value.status.reason == "NotFound"


async def test_lists_are_paged_and_watches_told(server: Serving, namespace: str) -> None:
    async with AsyncClient(config=config_of(server), namespace=namespace) as client:
        for number in range(5):
            await client.create(ConfigMap(metadata=ObjectMeta(name=f"c{number}", labels={"of": "us"})))
        listed = client.list(ConfigMap, chunk_size=2, labels={"of": "us"})
        names = [one.metadata.name async for one in listed if one.metadata]
        assert names == [f"c{number}" for number in range(5)]
        version = listed.resourceVersion
        await client.delete(ConfigMap, "c0")
        async with asyncio.timeout(PATIENCE_S):
            async for operation, one in client.watch(ConfigMap, labels={"of": "us"}, resource_version=version):
                assert one.metadata is not None
                assert (operation, one.metadata.name) == ("DELETED", "c0")
                break


async def test_wait_ends_when_a_condition_is_true(server: Serving, namespace: str) -> None:
    async with AsyncClient(config=config_of(server), namespace=namespace) as client:
        pod = Pod(metadata=ObjectMeta(name="p"), spec=PodSpec(containers=[Container(name="c", image="i")]))
        await client.create(pod)
        ready = {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}
        async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as group:
            waiting = group.create_task(client.wait(Pod, "p", for_conditions=["Ready"]))
            await client.patch(Pod.Status, "p", ready, patch_type=PatchType.MERGE)
        waited = waiting.result()
        assert waited.status is not None


def test_generic_resources_have_status_and_scale(server: Serving, namespace: str) -> None:
    with Client(config=config_of(server), namespace=namespace, field_manager="guest") as client:
        client.create(Gadget(metadata=ObjectMeta(name="g"), spec={"size": 1}))
        client.patch(Gadget.Status, "g", {"status": {"phase": "done"}}, patch_type=PatchType.MERGE)
        found = client.get(Gadget, "g")
        assert (found["spec"]["colour"], found["status"]) == ("blue", {"phase": "done"})
        scale = client.patch(Gadget.Scale, "g", {"spec": {"replicas": 6}}, patch_type=PatchType.MERGE)
        assert scale.spec is not None
        assert scale.spec.replicas == 6
        with pytest.raises(ApiError) as wrong:
            client.patch(Gadget, "g", {"spec": {"size": -1}}, patch_type=PatchType.MERGE)
        assert (wrong.value.status.code, wrong.value.status.reason) == (422, "Invalid")
