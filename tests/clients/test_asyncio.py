"""kubernetes_asyncio, unmodified: typed calls, a watch, the dynamic client."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from kubernetes_asyncio import client, config, watch
from kubernetes_asyncio.client.exceptions import ApiException
from kubernetes_asyncio.dynamic import DynamicClient

from tests.clients.conftest import GROUP, LEAKY, VERSION
from tests.serving import Serving

pytestmark = [pytest.mark.slow, *LEAKY]
PATIENCE_S = 30


@pytest.fixture
async def api(server: Serving) -> AsyncIterator[client.ApiClient]:
    made = await config.new_client_from_config(str(server.kubeconfig))
    async with made as api:
        yield api


def secret(name: str, **text: str) -> client.V1Secret:
    return client.V1Secret(metadata=client.V1ObjectMeta(name=name), string_data=text)


async def test_typed_objects_live_a_whole_life(api: client.ApiClient, namespace: str) -> None:
    core = client.CoreV1Api(api)
    made = await core.create_namespaced_secret(namespace, secret("s", password="p"))
    assert (made.type, made.data) == ("Opaque", {"password": "cA=="})
    made.data["user"] = "dQ=="
    replaced = await core.replace_namespaced_secret("s", namespace, made)
    assert replaced.metadata.resource_version != made.metadata.resource_version
    patch = [{"op": "remove", "path": "/data/user"}]
    assert (await core.patch_namespaced_secret("s", namespace, patch)).data == {"password": "cA=="}
    with pytest.raises(ApiException) as taken:
        await core.create_namespaced_secret(namespace, secret("s"))
    assert taken.value.status == 409
    await core.delete_namespaced_secret("s", namespace)
    assert (await core.list_namespaced_secret(namespace)).items == []


async def test_a_watch_streams_while_others_write(api: client.ApiClient, namespace: str) -> None:
    core = client.CoreV1Api(api)
    seen: list[tuple[str, str]] = []

    async def follow() -> None:
        async with watch.Watch().stream(core.list_namespaced_secret, namespace, timeout_seconds=20) as stream:
            async for event in stream:
                seen.append((event["type"], event["object"].metadata.name))
                if len(seen) == 20:
                    return

    async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as group:
        group.create_task(follow())
        for number in range(20):
            await core.create_namespaced_secret(namespace, secret(f"s{number:02}"))
    assert seen == [("ADDED", f"s{number:02}") for number in range(20)]


async def test_the_dynamic_client_discovers_and_applies(api: client.ApiClient, namespace: str) -> None:
    dynamic = await DynamicClient(api)
    gadgets = await dynamic.resources.get(api_version=f"{GROUP}/{VERSION}", kind="Gadget")
    body = {"apiVersion": f"{GROUP}/{VERSION}", "kind": "Gadget", "metadata": {"name": "g"}, "spec": {"size": 4}}
    made = await gadgets.server_side_apply(body=body, namespace=namespace, field_manager="me")
    assert (made.spec.size, made.spec.colour) == (4, "blue")
    await gadgets.delete(name="g", namespace=namespace)
