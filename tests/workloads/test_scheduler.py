"""The scheduler: what fits where, and what is told when nothing does."""

from typing import Any

import pytest

from attractor import Key
from attractor.k8s import Node, Pod
from attractor.testing import ClusterUnderTest, eventually
from attractor.workloads import simulated_node
from attractor.workloads.placement import Place, obstacle, requests_of, summary
from tests.workloads.scenes import NAMESPACE, reasons


def pod(name: str = "p", *, requests: dict[str, str] | None = None, **spec: Any) -> Pod:
    container = {"name": "c", "image": "i", "resources": {"requests": requests or {}}}
    return Pod.from_dict(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "namespace": NAMESPACE},
            "spec": {"containers": [container], **spec},
        }
    )


def node(**spec: Any) -> Node:
    made = simulated_node("n", capacity={"cpu": "2", "memory": "1Gi", "pods": "2"}, labels={"zone": "a"})
    return Node.from_dict({**made.to_dict(), "spec": spec})


def affinity(operator: str, *values: str) -> dict[str, Any]:
    term = {"matchExpressions": [{"key": "zone", "operator": operator, "values": list(values)}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}


TAINT = {"key": "gpu", "value": "yes", "effect": "NoSchedule"}
ELSEWHERE = "node(s) didn't match Pod's node affinity/selector"


@pytest.mark.parametrize(
    ("asked", "has", "why"),
    [
        (pod(), node(), ""),
        (pod(requests={"cpu": "2"}), node(), ""),
        (pod(requests={"cpu": "2001m"}), node(), "Insufficient cpu"),
        (pod(requests={"gpu": "1"}), node(), "Insufficient gpu"),
        (pod(), node(unschedulable=True), "node(s) were unschedulable"),
        (pod(), node(taints=[TAINT]), "node(s) had untolerated taint {gpu: yes}"),
        (pod(tolerations=[{"key": "gpu", "operator": "Exists"}]), node(taints=[TAINT]), ""),
        (pod(tolerations=[{"key": "gpu", "value": "no"}]), node(taints=[TAINT]), "node(s) had untolerated taint {gpu: yes}"),
        (pod(), node(taints=[{**TAINT, "effect": "PreferNoSchedule"}]), ""),
        (pod(nodeSelector={"zone": "a"}), node(), ""),
        (pod(nodeSelector={"zone": "b"}), node(), ELSEWHERE),
        (pod(affinity=affinity("In", "a", "b")), node(), ""),
        (pod(affinity=affinity("NotIn", "a")), node(), ELSEWHERE),
        (pod(affinity=affinity("DoesNotExist")), node(), ELSEWHERE),
    ],
)  # fmt: skip
def test_a_pod_fits_or_it_is_said_why_not(asked: Pod, has: Node, why: str) -> None:
    assert obstacle(Place.of(has, []), asked, requests_of(asked)) == why


def test_pods_that_are_there_take_room() -> None:
    place = Place.of(node(), [pod(requests={"cpu": "1500m"})])
    assert place.lacks(requests_of(pod(requests={"cpu": "600m"}))) == "Insufficient cpu"
    place.take({})
    assert place.lacks({}) == "Too many pods"


def test_reasons_are_counted() -> None:
    assert summary(["Insufficient cpu", "Too many pods", "Insufficient cpu"], 3) == (
        "0/3 nodes are available: 2 Insufficient cpu, 1 Too many pods."
    )
    assert summary([], 0) == "no nodes available to schedule pods"


async def test_a_pod_that_fits_nowhere_waits_and_is_placed_when_a_node_comes(cluster: ClusterUnderTest) -> None:
    client = cluster.client
    await client.create(pod(requests={"cpu": "33"}))
    key = Key(NAMESPACE, "p")

    async def is_refused() -> bool:
        found = await client.get(Pod, key)
        return [one.message for one in found.status.conditions] == ["0/3 nodes are available: 3 Insufficient cpu."]

    await eventually(is_refused)
    assert "FailedScheduling" in await reasons(client, "Pod")
    await client.create(simulated_node("big", capacity={"cpu": "64", "memory": "1Gi", "pods": "10"}))

    async def is_running() -> bool:
        found = await client.get(Pod, key)
        return found.spec.node_name == "big" and found.status.phase == "Running"

    await eventually(is_running)


async def test_room_that_a_pod_gives_back_is_taken_by_one_that_waits(cluster: ClusterUnderTest) -> None:
    client = cluster.client
    for number in range(4):
        await client.create(pod(f"p{number}", requests={"cpu": "20"}))

    async def running() -> list[str]:
        found = await client.list(Pod, NAMESPACE)
        return sorted(one.metadata.name for one in found if one.status.phase == "Running")

    async def three() -> bool:
        return len(await running()) == 3

    await eventually(three)
    first, *others = await running()
    await client.delete(Pod, Key(NAMESPACE, first))

    async def is_taken() -> bool:
        now = await running()
        return len(now) == 3 and set(others) < set(now)

    await eventually(is_taken)
