"""A cluster that is deleted: what goes, in which order, what stays, and who takes it over."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from attractor.k8s.core_v1 import PersistentVolumeClaim, Secret
from attractor.k8s.events_v1 import Event
from attractor.objects.gvk import Key
from attractor.objects.resource import ObjectMeta
from attractor.operators.dbcluster import Cluster
from attractor.operators.dbcluster.controllers.controller import clusters
from attractor.operators.dbcluster.controllers.plan import KINDS
from attractor.runtime.toolkit.conditions import find_condition
from attractor.testing import ClusterUnderTest, eventually

from .places import KEY, cluster_of, component, edit, externals, is_gone, ready_pods

CREDENTIALS = Key("default", "shop-credentials")


@pytest_asyncio.fixture
async def running(cluster: ClusterUnderTest) -> AsyncIterator[ClusterUnderTest]:
    async with (
        cluster.running(ready_pods, client=cluster.controller_client("kubelet")),
        cluster.running(clusters, externals=externals(), client=cluster.controller_client("operator")),
    ):
        yield cluster


async def start(running: ClusterUnderTest, cluster: Cluster) -> None:
    await running.client.create(cluster)
    await eventually(lambda: _is_running(running))


async def _is_running(running: ClusterUnderTest) -> bool:
    return (await running.client.get(Cluster, KEY)).status.phase == "Running"


async def claim(running: ClusterUnderTest, part: str = "cache") -> PersistentVolumeClaim:
    metadata = ObjectMeta(name=f"data-shop-{part}-0", namespace="default")
    metadata.labels = {
        "app.kubernetes.io/instance": "shop",
        "app.kubernetes.io/managed-by": "dbcluster.attractor.dev",
        "app.kubernetes.io/component": part,
    }
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    made = PersistentVolumeClaim.from_dict(PersistentVolumeClaim(metadata=metadata).to_dict() | {"spec": spec})
    return await running.client.create(made)


async def left(running: ClusterUnderTest) -> set[str]:
    found = [obj for kind in KINDS for obj in await running.client.list(kind, "default")]
    return {f"{obj.kind} {obj.metadata.name}" for obj in found if obj.metadata.labels}


async def delete(running: ClusterUnderTest) -> None:
    await running.client.delete(Cluster, KEY)
    await eventually(lambda: is_gone(running.client, Cluster, KEY))


async def test_delete_leaves_nothing_behind(running: ClusterUnderTest) -> None:
    await start(running, cluster_of(component(replicas=2, tls=True)))
    await claim(running)
    await delete(running)
    assert await left(running) == set()


async def test_workloads_go_first_and_dependents_before_what_they_depend_on(running: ClusterUnderTest) -> None:
    await start(running, cluster_of(component("app", depends_on=["store"]), component("store")))
    running.requests.clear()
    await delete(running)
    deletions = [one for one in running.requests.select("delete", code=200) if one.client == "operator"]
    assert [(one.resource, one.name) for one in deletions[:2]] == [
        ("statefulsets", "shop-app"),
        ("statefulsets", "shop-store"),
    ]
    assert {one.resource for one in deletions[-1:]} == {"secrets"}


async def test_do_not_terminate_keeps_everything_and_says_so(running: ClusterUnderTest) -> None:
    await start(running, cluster_of(termination_policy="DoNotTerminate"))
    before = await left(running)
    await running.client.delete(Cluster, KEY)
    await eventually(lambda: _says_no(running))
    assert await left(running) == before
    events = await eventually(lambda: running.client.list(Event, "default"))
    assert [(one.reason, one.type) for one in events] == [("DoNotTerminate", "Warning")]
    await edit(running.client, terminationPolicy="Delete")
    await eventually(lambda: is_gone(running.client, Cluster, KEY))
    assert await left(running) == set()


async def _says_no(running: ClusterUnderTest) -> bool:
    found = find_condition((await running.client.get(Cluster, KEY)).status.conditions, "Terminating")
    return found is not None and found.status == "False" and found.reason == "DoNotTerminate"


async def test_halt_keeps_credentials_and_data_for_a_successor_of_the_same_name(running: ClusterUnderTest) -> None:
    await start(running, cluster_of(component(tls=True), termination_policy="Halt"))
    await claim(running)
    first = await running.client.get(Secret, CREDENTIALS)
    await delete(running)
    kept = {"Secret shop-credentials", "Secret shop-cache-tls", "PersistentVolumeClaim data-shop-cache-0"}
    assert await left(running) == kept
    assert (await running.client.get(Secret, CREDENTIALS)).metadata.owner_references == []
    await start(running, cluster_of(component(tls=True), termination_policy="Halt"))
    second = await running.client.get(Secret, CREDENTIALS)
    assert (second.metadata.uid, second.data) == (first.metadata.uid, first.data)
    owner = second.metadata.controller
    assert owner is not None
    assert owner.uid == (await running.client.get(Cluster, KEY)).metadata.uid


@pytest.mark.parametrize(
    ("policy", "leftover"), [("Delete", {"PersistentVolumeClaim data-shop-old-0"}), ("WipeOut", set())]
)
async def test_wipe_out_deletes_also_what_earlier_clusters_have_left(
    running: ClusterUnderTest, policy: str, leftover: set[str]
) -> None:
    await start(running, cluster_of(termination_policy="Halt"))
    await claim(running, "old")
    await edit(running.client, terminationPolicy=policy, paused=True)
    await delete(running)
    assert await left(running) == leftover
