"""Deployments: rollouts, scaling, history, rollback, pause and deadlines, as ``kubectl rollout`` sees them."""

import asyncio

from attractor import EmbeddedCluster, GroupVersionKind, Key
from attractor.k8s import Deployment, Pod, ReplicaSet
from attractor.testing import ClusterUnderTest, VirtualTime, eventually
from attractor.testing.virtual_time import VirtualSource
from attractor.workloads.deployments import ROLLBACK_TO
from attractor.workloads.rollouts import HASH_LABEL, REVISION, REVISION_HISTORY
from tests.workloads.scenes import NAMESPACE, WEB, deployment, pods, reasons, rolled_out, set_image


def condition(found: Deployment, type_: str) -> tuple[str, str]:
    return next((one.status, one.reason) for one in found.status.conditions if one.type == type_)


async def history(cluster: ClusterUnderTest) -> dict[str, tuple[str, int]]:
    """Image to revision and size, of each ReplicaSet."""
    found = await cluster.client.list(ReplicaSet, NAMESPACE)
    return {
        one.spec.template.spec.containers[0].image: (one.metadata.annotations[REVISION], one.spec.replicas or 0)
        for one in found
    }


async def test_a_deployment_becomes_ready_and_says_so(cluster: ClusterUnderTest) -> None:
    await cluster.client.create(deployment(3))
    found = await rolled_out(cluster.client)
    assert found.metadata.annotations[REVISION] == "1"
    assert condition(found, "Available") == ("True", "MinimumReplicasAvailable")
    assert condition(found, "Progressing") == ("True", "NewReplicaSetAvailable")
    (owner,) = await cluster.client.list(ReplicaSet, NAMESPACE)
    running = await pods(cluster.client)
    assert {pod.metadata.labels[HASH_LABEL] for pod in running} == {owner.metadata.labels[HASH_LABEL]}
    assert owner.metadata.name == f"web-{owner.metadata.labels[HASH_LABEL]}"
    assert len({pod.spec.node_name for pod in running}) == 3
    assert await reasons(cluster.client, "Deployment") == ["ScalingReplicaSet"]


async def test_a_rolling_update_stays_within_surge_and_unavailability(slow_cluster: ClusterUnderTest) -> None:
    client = slow_cluster.client
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 1}}
    await client.create(deployment(4, strategy=strategy))
    await rolled_out(client)
    await set_image(client, "web:2")
    seen = []

    async def watched() -> bool:
        alive = [pod for pod in await pods(client) if not pod.metadata.is_deleting]
        ready = [
            pod for pod in alive if any(one.type == "Ready" and one.status == "True" for one in pod.status.conditions)
        ]
        seen.append((len(alive), len(ready)))
        images = {pod.spec.containers[0].image for pod in await pods(client)}
        return images == {"web:2"} and len(ready) == 4

    await eventually(watched, within_s=120)
    assert max(alive for alive, _ in seen) == 5
    assert min(ready for _, ready in seen) == 3
    assert await history(slow_cluster) == {"web:1": ("1", 0), "web:2": ("2", 4)}


async def test_recreate_starts_new_pods_only_when_the_last_old_one_is_gone(slow_cluster: ClusterUnderTest) -> None:
    client = slow_cluster.client
    await client.create(deployment(3, strategy={"type": "Recreate"}))
    await rolled_out(client)
    await set_image(client, "web:2")
    mixed = []

    async def watched() -> bool:
        images = {pod.spec.containers[0].image for pod in await pods(client)}
        mixed.append(len(images) > 1)
        return images == {"web:2"}

    await eventually(watched, within_s=60)
    await rolled_out(client)
    assert not any(mixed)


async def test_scaling_adds_and_removes_pods(cluster: ClusterUnderTest) -> None:
    await cluster.client.create(deployment(2))
    await rolled_out(cluster.client)
    for replicas in (5, 1, 0):
        await cluster.client.scale(Deployment, WEB, replicas)
        await rolled_out(cluster.client)
        await eventually(lambda wanted=replicas: _count_is(cluster, wanted))  # type: ignore[misc]


async def _count_is(cluster: ClusterUnderTest, wanted: int) -> bool:
    return len(await pods(cluster.client)) == wanted


async def test_a_rollback_takes_up_the_old_replica_set_under_a_new_revision(cluster: ClusterUnderTest) -> None:
    client = cluster.client
    await client.create(deployment(2))
    await rolled_out(client)
    await set_image(client, "web:2")
    await rolled_out(client)
    await set_image(client, "web:1")  # what `kubectl rollout undo` does
    found = await rolled_out(client)
    assert found.metadata.annotations[REVISION] == "3"
    assert await history(cluster) == {"web:1": ("3", 2), "web:2": ("2", 0)}
    kept = [one.metadata.annotations.get(REVISION_HISTORY) for one in await client.list(ReplicaSet, NAMESPACE)]
    assert sorted(kept, key=str) == ["1", None]


async def test_the_rollback_annotation_restores_the_template_of_the_last_revision(cluster: ClusterUnderTest) -> None:
    client = cluster.client
    await client.create(deployment(1))
    await rolled_out(client)
    await set_image(client, "web:2")
    await rolled_out(client)
    await client.patch(Deployment, WEB, {"metadata": {"annotations": {ROLLBACK_TO: "0"}}})

    async def is_back() -> bool:
        found = await client.get(Deployment, WEB)
        return found.spec.template.spec.containers[0].image == "web:1"

    await eventually(is_back)
    found = await rolled_out(client)
    assert ROLLBACK_TO not in found.metadata.annotations
    assert "DeploymentRollback" in await reasons(client, "Deployment")


async def test_a_rollback_to_a_revision_that_is_gone_is_refused_with_an_event(cluster: ClusterUnderTest) -> None:
    client = cluster.client
    await client.create(deployment(1))
    await rolled_out(client)
    await client.patch(Deployment, WEB, {"metadata": {"annotations": {ROLLBACK_TO: "7"}}})

    async def is_told() -> bool:
        return "DeploymentRollbackRevisionNotFound" in await reasons(client, "Deployment")

    await eventually(is_told)
    assert ROLLBACK_TO not in (await client.get(Deployment, WEB)).metadata.annotations


async def test_a_paused_deployment_is_scaled_but_not_rolled(cluster: ClusterUnderTest) -> None:
    client = cluster.client
    await client.create(deployment(2))
    await rolled_out(client)
    await client.patch(Deployment, WEB, {"spec": {"paused": True}})
    await set_image(client, "web:2")
    await client.scale(Deployment, WEB, 3)
    await eventually(lambda: _count_is(cluster, 3))
    paused = await client.get(Deployment, WEB)
    assert condition(paused, "Progressing") == ("Unknown", "DeploymentPaused")
    assert {pod.spec.containers[0].image for pod in await pods(client)} == {"web:1"}
    await client.patch(Deployment, WEB, {"spec": {"paused": None}})
    await rolled_out(client)
    assert {pod.spec.containers[0].image for pod in await pods(client) if not pod.metadata.is_deleting} == {"web:2"}


async def test_an_image_that_never_starts_exceeds_the_progress_deadline(cluster: ClusterUnderTest) -> None:
    client = cluster.client
    await client.create(deployment(2, progressDeadlineSeconds=30))
    await rolled_out(client)
    await set_image(client, "web:404")

    async def is_overdue() -> bool:
        return condition(await client.get(Deployment, WEB), "Progressing") == ("False", "ProgressDeadlineExceeded")

    await eventually(is_overdue, within_s=120)
    assert condition(await client.get(Deployment, WEB), "Available")[0] == "True"
    (waiting,) = [pod for pod in await pods(client) if pod.status.phase == "Pending"]
    state = waiting.status.container_statuses[0].state
    assert state.waiting is not None
    assert state.waiting.reason == "ErrImagePull"


async def test_scaling_amid_a_rollout_is_shared_in_proportion(cluster: ClusterUnderTest) -> None:
    """Kubernetes' conformance test: 10 replicas, surge 3, unavailable 2, an image that never starts, then 30."""
    client = cluster.client
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 3, "maxUnavailable": 2}}
    await client.create(deployment(10, strategy=strategy))
    await rolled_out(client)
    await set_image(client, "web:404")

    async def sizes(old: int, new: int) -> bool:
        return await history(cluster) == {"web:1": ("1", old), "web:404": ("2", new)}

    await eventually(lambda: sizes(8, 5))
    await client.scale(Deployment, WEB, 30)
    await eventually(lambda: sizes(20, 13))


async def test_history_is_kept_up_to_its_limit(cluster: ClusterUnderTest) -> None:
    client = cluster.client
    await client.create(deployment(1, revisionHistoryLimit=1))
    for number in (1, 2, 3, 4):
        await set_image(client, f"web:{number}")
        await rolled_out(client)

    async def is_short() -> bool:
        return set(await history(cluster)) == {"web:3", "web:4"}

    await eventually(is_short)


async def test_a_replica_set_without_an_owner_is_adopted_by_the_deployment_that_selects_it(
    cluster: ClusterUnderTest,
) -> None:
    client = cluster.client
    await client.create(deployment(2))
    await rolled_out(client)
    await client.delete(Deployment, WEB, propagation="Orphan")

    async def is_orphaned() -> bool:
        return all(not one.metadata.owner_references for one in await client.list(ReplicaSet, NAMESPACE))

    await eventually(is_orphaned)
    before = {pod.metadata.uid for pod in await pods(client)}
    made = await client.create(deployment(2))
    await rolled_out(client)
    (adopted,) = await client.list(ReplicaSet, NAMESPACE)
    assert adopted.metadata.controller is not None
    assert adopted.metadata.controller.uid == made.metadata.uid
    assert {pod.metadata.uid for pod in await pods(client)} == before


async def test_a_deleted_deployment_takes_its_pods_with_it(cluster: ClusterUnderTest) -> None:
    client = cluster.client
    await client.create(deployment(3))
    await rolled_out(client)
    await client.delete(Deployment, WEB)
    await eventually(lambda: _count_is(cluster, 0))
    assert await client.list(ReplicaSet, NAMESPACE) == []


async def test_a_refused_pod_is_told_in_the_deployments_status(virtual_time: VirtualTime) -> None:
    quota = {
        "apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "few", "namespace": NAMESPACE},
        "spec": {"hard": {"pods": "1"}},
    }  # fmt: skip
    source = VirtualSource(virtual_time)
    async with EmbeddedCluster(admission_plugins=["ResourceQuota"], nodes=1, source=source) as cluster:
        client = cluster.client()
        await client.create(quota)

        async def is_counted() -> bool:
            found = await client.get(GroupVersionKind("", "v1", "ResourceQuota"), Key(NAMESPACE, "few"))
            return bool(found.get("status", {}).get("hard"))

        await eventually(is_counted)
        await client.create(deployment(2))

        async def is_told() -> bool:
            found = await client.get(Deployment, WEB)
            return ("ReplicaFailure", "FailedCreate") in [(one.type, one.reason) for one in found.status.conditions]

        await eventually(is_told)
        assert len(await pods(client)) == 1


async def test_the_name_of_a_deployment_of_another_kind_is_no_trouble(cluster: ClusterUnderTest) -> None:
    client = cluster.client
    await client.create(deployment(1))
    await client.create(deployment(1, name="api"))
    await rolled_out(client)
    await rolled_out(client, Key(NAMESPACE, "api"))
    assert len(await client.list(Pod, NAMESPACE)) == 2


async def test_a_rollout_takes_no_real_time(cluster: ClusterUnderTest) -> None:
    await cluster.client.create(deployment(3, minReadySeconds=60))
    before = asyncio.get_running_loop().time()
    await rolled_out(cluster.client, within_s=120)
    assert asyncio.get_running_loop().time() - before >= 59
