"""kr8s, unmodified: objects, selection, wait, watch, scale, and kinds made up on the spot."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import kr8s
import pytest
from kr8s.asyncio.objects import ConfigMap, Deployment, Pod, new_class

from tests.clients.conftest import GROUP, LEAKY, VERSION
from tests.serving import Serving

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:Kubernetes version .* is not supported:UserWarning"),
    *LEAKY,
]
PATIENCE_S = 30


@pytest.fixture
async def api(server: Serving, namespace: str) -> AsyncIterator[Any]:
    api = await kr8s.asyncio.api(kubeconfig=str(server.kubeconfig), namespace=namespace)
    yield api
    if api._session is not None:
        await api._session.aclose()


def pod(namespace: str) -> dict[str, Any]:
    metadata = {"name": "p", "namespace": namespace, "labels": {"app": "p"}}
    return {"metadata": metadata, "spec": {"containers": [{"name": "c", "image": "i"}]}}


async def test_server_and_caller_introduce_themselves(api: Any) -> None:
    assert (await api.version())["gitVersion"].startswith("v1.")
    assert await api.whoami() == "attractor:admin"
    assert "gadgets" in {one["name"] for one in await api.api_resources()}


async def test_objects_live_a_whole_life(api: Any, namespace: str) -> None:
    made = await ConfigMap({"metadata": {"name": "c", "namespace": namespace}, "data": {"x": "1"}}, api=api)
    await made.create()
    assert await made.exists()
    await made.patch({"data": {"y": "2"}})
    assert made.data == {"x": "1", "y": "2"}
    await made.label({"tier": "a"})
    await made.annotate({"note": "hi"})
    found = [one.name async for one in api.get("configmaps", namespace=namespace, label_selector={"tier": "a"})]
    assert found == ["c"]
    await made.delete()
    with pytest.raises(kr8s.NotFoundError):
        await ConfigMap.get("c", namespace=namespace, api=api)


async def test_wait_ends_with_the_condition(api: Any, namespace: str) -> None:
    made = await Pod(pod(namespace), api=api)
    await made.create()
    ready = {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}
    async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as group:
        group.create_task(made.wait("condition=Ready"))
        other = await Pod.get("p", namespace=namespace, api=api)
        await other.patch(ready, subresource="status")
    assert made.status.conditions[0].type == "Ready"


async def test_a_watch_tells_changes(api: Any, namespace: str) -> None:
    made = await Pod(pod(namespace), api=api)
    await made.create()
    seen = []
    async with asyncio.timeout(PATIENCE_S):
        async for event, one in api.watch("pods", namespace=namespace):
            seen.append((event, one.name))
            if len(seen) == 1:
                await made.label({"x": "y"})
            else:
                break
    assert seen == [("ADDED", "p"), ("MODIFIED", "p")]


async def test_scale_of_a_deployment(api: Any, namespace: str) -> None:
    spec = {
        "replicas": 1,
        "selector": {"matchLabels": {"app": "d"}},
        "template": {"metadata": {"labels": {"app": "d"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}},
    }
    made = await Deployment({"metadata": {"name": "d", "namespace": namespace}, "spec": spec}, api=api)
    await made.create()
    await made.scale(4)
    assert (await Deployment.get("d", namespace=namespace, api=api)).replicas == 4


async def test_a_kind_made_up_on_the_spot(api: Any, namespace: str) -> None:
    gadget = new_class("Gadget", f"{GROUP}/{VERSION}", namespaced=True, asyncio=True)
    made = await gadget({"metadata": {"name": "g", "namespace": namespace}, "spec": {"size": 2}}, api=api)
    await made.create()
    await made.refresh()
    assert made.spec.colour == "blue"
