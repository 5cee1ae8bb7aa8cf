"""ReplicaSets: numbers, adoption, release, and which Pod goes first."""

from attractor.k8s import Pod, ReplicaSet
from attractor.testing import ClusterUnderTest, eventually
from attractor.workloads.pods import DELETION_COST, first_to_delete
from tests.workloads.scenes import NAMESPACE, WEB, pods, reasons, replica_set, template


async def is_full(cluster: ClusterUnderTest) -> ReplicaSet | None:
    found = await cluster.client.get(ReplicaSet, WEB)
    status = found.status
    return found if status.replicas == status.available_replicas == found.spec.replicas else None


async def test_a_deleted_pod_is_replaced(cluster: ClusterUnderTest) -> None:
    await cluster.client.create(replica_set(2))
    await eventually(lambda: is_full(cluster))
    gone, kept = await pods(cluster.client)
    await cluster.client.delete(gone)

    async def is_replaced() -> bool:
        names = {pod.metadata.name for pod in await pods(cluster.client)}
        return len(names) == 2 and kept.metadata.name in names and gone.metadata.name not in names

    await eventually(is_replaced)
    assert set(await reasons(cluster.client, "ReplicaSet")) == {"SuccessfulCreate"}


async def test_an_orphan_that_the_selector_chooses_is_adopted(cluster: ClusterUnderTest) -> None:
    made = {"apiVersion": "v1", "kind": "Pod", **template("web")}
    made["metadata"] |= {"name": "lonely", "namespace": NAMESPACE}
    await cluster.client.create(Pod.from_dict(made))
    owner = await cluster.client.create(replica_set(1))
    await eventually(lambda: is_full(cluster))
    (only,) = await pods(cluster.client)
    assert only.metadata.name == "lonely"
    assert only.metadata.controller is not None
    assert only.metadata.controller.uid == owner.metadata.uid


async def test_a_pod_whose_labels_no_longer_match_is_released_and_replaced(cluster: ClusterUnderTest) -> None:
    await cluster.client.create(replica_set(1))
    await eventually(lambda: is_full(cluster))
    (released,) = await pods(cluster.client)
    await cluster.client.patch(Pod, released.key, {"metadata": {"labels": {"app": "debug"}}})

    async def is_replaced() -> bool:
        now = await cluster.client.get(Pod, released.key)
        return not now.metadata.owner_references and len(await pods(cluster.client)) == 1

    await eventually(is_replaced)


async def test_the_status_tells_ready_and_available_apart(slow_cluster: ClusterUnderTest) -> None:
    await slow_cluster.client.create(replica_set(1, minReadySeconds=20))
    seen = set()

    async def look() -> bool:
        status = (await slow_cluster.client.get(ReplicaSet, WEB)).status
        seen.add((status.replicas, status.ready_replicas, status.available_replicas))
        return (1, 1, 1) in seen

    await eventually(look, within_s=60, interval_s=0.1)
    assert {(1, 0, 0), (1, 1, 0), (1, 1, 1)} <= seen


def pod(name: str, *, node: str = "n", ready_at: int | None = 1, cost: str = "0", restarts: int = 0) -> Pod:
    ready = [] if ready_at is None else [
        {"type": "Ready", "status": "True", "lastTransitionTime": f"2026-01-01T00:00:0{ready_at}Z"}
    ]  # fmt: skip
    return Pod.from_dict(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "annotations": {DELETION_COST: cost}},
            "spec": {"nodeName": node, "containers": []},
            "status": {
                "phase": "Running",
                "conditions": ready,
                "containerStatuses": [
                    {"name": "c", "image": "", "imageID": "", "ready": True, "restartCount": restarts}
                ],
            },
        }
    )


def test_pods_whose_end_hurts_least_go_first() -> None:
    crowded = [pod(str(number), node="m") for number in range(9)]
    in_order = [
        pod("unassigned", node="", ready_at=None),
        pod("not-ready", ready_at=None),
        pod("cheap", cost="-1"),
        pod("crowded", node="m"),
        pod("young", ready_at=9),
        pod("restarted", restarts=3),
        pod("plain"),
    ]
    chosen = first_to_delete(list(reversed(in_order)), len(in_order) - 1, [*crowded, *in_order])
    assert [one.metadata.name for one in chosen] == [one.metadata.name for one in in_order[:-1]]
