"""A cluster that lives: creation, changes, components that come and go."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from attractor.k8s.apps_v1 import ControllerRevision, StatefulSet
from attractor.k8s.core_v1 import ConfigMap, PersistentVolumeClaim, Secret, Service, ServiceAccount
from attractor.k8s.policy_v1 import PodDisruptionBudget
from attractor.objects.gvk import Key
from attractor.objects.resource import ObjectMeta, Resource, to_builtins
from attractor.operators.dbcluster import Cluster, ServiceSpec
from attractor.operators.dbcluster.controllers.controller import clusters
from attractor.operators.dbcluster.controllers.names import ROLLBACK
from attractor.runtime.toolkit.conditions import find_condition
from attractor.testing import ClusterUnderTest, eventually

from .places import KEY, CountedEntropy, cluster_of, component, edit, externals, is_gone, make_ready, ready_pods


@pytest.fixture
def entropy() -> CountedEntropy:
    return CountedEntropy()


@pytest_asyncio.fixture
async def running(cluster: ClusterUnderTest, entropy: CountedEntropy) -> AsyncIterator[ClusterUnderTest]:
    """The operator, and pods that are ready at once."""
    async with (
        cluster.running(ready_pods, client=cluster.controller_client("kubelet")),
        cluster.running(clusters, externals=externals(entropy), client=cluster.controller_client("operator")),
    ):
        yield cluster


async def phase(cluster: ClusterUnderTest, wanted: str, generation: int = 0) -> Cluster:
    async def reached() -> Cluster | None:
        found = await cluster.client.get(Cluster, KEY)
        settled = found.status.observed_generation == found.metadata.generation >= generation
        return found if found.status.phase == wanted and settled else None

    found = await eventually(reached)
    assert found is not None
    return found


async def names(cluster: ClusterUnderTest, kind: type[Resource]) -> list[str]:
    return [one.metadata.name for one in await cluster.client.list(kind, "default") if one.metadata.labels]


async def test_a_cluster_becomes_running_and_consists_of_its_parts(running: ClusterUnderTest) -> None:
    services = [ServiceSpec(name="write", component="cache"), ServiceSpec(name="read", component="cache", role="all")]
    await running.client.create(cluster_of(component(replicas=3, tls=True), services=services))
    found = await phase(running, "Running")
    assert found.status.components["cache"].phase == "Running"
    assert found.status.components["cache"].ready_replicas == 3
    assert found.status.components["cache"].version == "7.0"
    ready = find_condition(found.status.conditions, "Ready")
    assert ready is not None
    assert (ready.status, ready.observed_generation) == ("True", 1)
    assert await names(running, Secret) == ["shop-cache-tls", "shop-credentials"]
    assert len([one for one in await names(running, ConfigMap) if one.startswith("shop-cache-config-")]) == 1
    assert await names(running, Service) == ["shop-cache-headless", "shop-read", "shop-write"]
    assert await names(running, StatefulSet) == ["shop-cache"]
    assert await names(running, PodDisruptionBudget) == ["shop-cache"]
    assert await names(running, ServiceAccount) == ["shop"]
    assert len(await names(running, ControllerRevision)) == 1


async def test_the_credentials_are_written_before_everything_else(running: ClusterUnderTest) -> None:
    await running.client.create(cluster_of(component(tls=True), component("queue")))
    await phase(running, "Running")
    creations = [one for one in running.requests.select("create") if one.client == "operator" and one.code == 201]
    assert {one.resource for one in creations[:2]} == {"secrets"}
    assert {one.resource for one in creations[2:]} == {
        "configmaps", "controllerrevisions", "serviceaccounts", "services", "statefulsets",
    }  # fmt: skip


async def test_two_reconciles_in_a_row_do_nothing(running: ClusterUnderTest) -> None:
    await running.client.create(cluster_of(component(replicas=2, tls=True), component("queue", depends_on=["cache"])))
    await phase(running, "Running")
    await running.client.patch(Cluster, KEY, {"metadata": {"labels": {"touched": "once"}}})
    running.requests.clear()
    await running.client.patch(Cluster, KEY, {"metadata": {"labels": {"touched": "twice"}}})
    await edit(running.client, paused=True)
    await phase(running, "Paused")
    written = [str(one) for one in running.requests.writes if one.client == "operator"]
    assert written == ["patch clusters/default/shop/status -> 200"]


async def test_a_change_of_configuration_makes_a_new_config_map_and_removes_the_old_one(
    running: ClusterUnderTest, entropy: CountedEntropy
) -> None:
    await running.client.create(cluster_of())
    await phase(running, "Running")
    (old,) = await running.client.list(ConfigMap, "default", label_selector="app.kubernetes.io/instance=shop")
    assert old.immutable is True
    await edit(running.client, components=[{"name": "cache", "config": {"maxclients": "64"}}])
    await phase(running, "Running", 2)
    await eventually(lambda: _is_alone(running))
    (new,) = await running.client.list(ConfigMap, "default", label_selector="app.kubernetes.io/instance=shop")
    assert new.metadata.name != old.metadata.name
    assert "maxclients 64\n" in new.data["redis.conf"]
    assert not [one for one in running.requests.select(resource="configmaps") if one.verb in {"patch", "update"}]
    assert entropy.count == 1


async def _is_alone(running: ClusterUnderTest) -> bool:
    return len(await running.client.list(ConfigMap, "default", label_selector="app.kubernetes.io/instance=shop")) == 1


async def test_a_removed_component_leaves_no_orphan_and_takes_its_data_along(running: ClusterUnderTest) -> None:
    await running.client.create(cluster_of(component(), component("queue", tls=True)))
    await phase(running, "Running")
    labels = {"app.kubernetes.io/instance": "shop", "app.kubernetes.io/managed-by": "dbcluster.attractor.dev"}
    for name in ("cache", "queue"):
        metadata = ObjectMeta(name=f"data-shop-{name}-0", namespace="default")
        metadata.labels = {**labels, "app.kubernetes.io/component": name}
        spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
        claim = PersistentVolumeClaim(metadata=metadata).to_dict() | {"spec": spec}
        await running.client.create(PersistentVolumeClaim.from_dict(claim))
    await edit(running.client, components=[{"name": "cache"}])
    await phase(running, "Running", 2)
    for kind in (StatefulSet, Service, ConfigMap, Secret, PersistentVolumeClaim):
        await eventually(lambda kind=kind: _none_of(running, kind, "queue"))  # type: ignore[misc]
    assert await names(running, PersistentVolumeClaim) == ["data-shop-cache-0"]


async def _none_of(running: ClusterUnderTest, kind: type[Resource], part: str) -> bool:
    return not any(part in name for name in await names(running, kind))


async def test_scaling_and_upgrades_change_the_workload(running: ClusterUnderTest) -> None:
    await running.client.create(cluster_of())
    await phase(running, "Running")
    changed = {"name": "cache", "replicas": 3, "version": "7.2", "resources": {"memory": "128Mi"}}
    await edit(running.client, components=[changed])
    found = await phase(running, "Running", 2)
    assert found.status.components["cache"].version == "7.2"
    workload = await running.client.get(StatefulSet, Key("default", "shop-cache"))
    container = workload.spec.template.spec.containers[0]
    assert (workload.spec.replicas, container.image) == (3, "redis:7.2")
    assert container.resources.limits["memory"] == "128Mi"
    assert await names(running, PodDisruptionBudget) == ["shop-cache"]
    await edit(running.client, components=[{"name": "cache", "replicas": 0}])
    found = await phase(running, "Running", 3)
    assert found.status.components["cache"].phase == "Stopped"
    await eventually(lambda: is_gone(running.client, PodDisruptionBudget, Key("default", "shop-cache")))


async def test_claims_grow_and_never_shrink(running: ClusterUnderTest) -> None:
    await running.client.create(cluster_of())
    await phase(running, "Running")
    workload = await running.client.get(StatefulSet, Key("default", "shop-cache"))
    template = to_builtins(workload.spec.volume_claim_templates[0]) | {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
    }
    template["metadata"] |= {"name": "data-shop-cache-0", "namespace": "default"}
    made = await running.client.create(PersistentVolumeClaim.from_dict(template))
    bound = {"status": {"phase": "Bound"}}  # no claim grows before it is
    await running.client.patch(PersistentVolumeClaim, made.key, bound, subresource="status")
    await edit(running.client, components=[{"name": "cache", "storage": "2Gi"}])

    async def size() -> str:
        found = await running.client.get(PersistentVolumeClaim, made.key)
        return str(found.spec.resources.requests["storage"])

    await eventually(lambda: _is(size(), "2Gi"))
    await edit(running.client, components=[{"name": "cache", "storage": "500Mi"}])
    await phase(running, "Running", 3)
    assert await size() == "2Gi"


async def _is(found: object, wanted: str) -> bool:
    return await found == wanted  # type: ignore[misc, no-any-return]


async def test_an_invalid_cluster_fails_and_nothing_is_written(running: ClusterUnderTest) -> None:
    bad = cluster_of(component(depends_on=["queue"], config={"dir": "/"}), component("queue", depends_on=["cache"]))
    await running.client.create(bad)
    found = await phase(running, "Failed")
    valid = find_condition(found.status.conditions, "Valid")
    assert valid is not None
    assert valid.status == "False"
    assert "component cache sets dir, which the operator sets itself" in valid.message
    assert "cycle found" in valid.message
    assert {one.resource for one in running.requests.writes if one.client == "operator"} == {"clusters"}
    await edit(running.client, components=[{"name": "cache"}])
    await phase(running, "Running", 2)


async def test_a_paused_cluster_is_left_alone(running: ClusterUnderTest) -> None:
    await running.client.create(cluster_of(paused=True))
    await phase(running, "Paused")
    assert await names(running, StatefulSet) == []
    await edit(running.client, paused=False)
    await phase(running, "Running", 2)


async def test_a_spec_can_be_rolled_back_to_an_earlier_revision(running: ClusterUnderTest) -> None:
    await running.client.create(cluster_of(revision_history_limit=2))
    await phase(running, "Running")
    for number in (2, 3, 4):
        await edit(running.client, components=[{"name": "cache", "replicas": number}])
        await phase(running, "Running", number)
    kept = await running.client.list(ControllerRevision, "default")
    assert sorted(one.revision for one in kept) == [2, 3, 4]
    await running.client.patch(Cluster, KEY, {"metadata": {"annotations": {ROLLBACK: "3"}}})
    found = await phase(running, "Running", 5)
    assert found.spec.components[0].replicas == 3
    assert ROLLBACK not in found.metadata.annotations
    await running.client.patch(Cluster, KEY, {"metadata": {"annotations": {ROLLBACK: "99"}}})
    await eventually(lambda: _has_no_annotation(running))
    assert (await running.client.get(Cluster, KEY)).spec.components[0].replicas == 3


async def _has_no_annotation(running: ClusterUnderTest) -> bool:
    return ROLLBACK not in (await running.client.get(Cluster, KEY)).metadata.annotations


async def test_a_component_changes_only_after_those_that_it_depends_on_have_rolled_out(
    cluster: ClusterUnderTest,
) -> None:
    client = cluster.client
    async with cluster.running(clusters, externals=externals()):
        await client.create(cluster_of(component("app", depends_on=["store"]), component("store")))
        await eventually(lambda: client.get(StatefulSet, Key("default", "shop-store")))
        waiting = await phase(cluster, "Creating")
        assert waiting.status.components["app"].phase == "Waiting"
        assert await is_gone(client, StatefulSet, Key("default", "shop-app"))
        await make_ready(client, "shop-store")
        await eventually(lambda: client.get(StatefulSet, Key("default", "shop-app")))
        await make_ready(client, "shop-app")
        await phase(cluster, "Running")
        newer = [{"name": "app", "version": "7.2", "dependsOn": ["store"]}, {"name": "store", "version": "7.2"}]
        await edit(client, components=newer)
        await eventually(lambda: _image(cluster, "shop-store", "redis:7.2"))
        await phase(cluster, "Updating", 2)
        assert not await _image(cluster, "shop-app", "redis:7.2")
        await make_ready(client, "shop-store")
        await eventually(lambda: _image(cluster, "shop-app", "redis:7.2"))


async def _image(cluster: ClusterUnderTest, name: str, image: str) -> bool:
    found = await cluster.client.get(StatefulSet, Key("default", name))
    return found.spec.template.spec.containers[0].image == image
