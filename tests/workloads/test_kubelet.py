"""The simulated kubelet: stages, programs that end, graceful deletion, nodes that fail."""

from typing import Any

import pytest

from attractor import Key
from attractor.k8s import Container, Lease, Node, Pod, PodSpec
from attractor.testing import ClusterUnderTest, VirtualTime, eventually
from attractor.workloads import Behaviour
from attractor.workloads.kubelet import EXIT_CODE, Program, program_of
from attractor.workloads.nodes import KUBELET, LEASES
from tests.workloads.scenes import NAMESPACE

KEY = Key(NAMESPACE, "p")


def pod(*command: str, notes: dict[str, str] | None = None, **spec: Any) -> Pod:
    container = {"name": "c", "image": "i", "command": list(command)}
    return Pod.from_dict(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": KEY.name, "namespace": NAMESPACE, "annotations": notes or {}},
            "spec": {"containers": [container], "restartPolicy": "Never", **spec},
        }
    )


async def phase(cluster: ClusterUnderTest, wanted: str) -> Pod | None:
    found = await cluster.client.get(Pod, KEY)
    return found if found.status.phase == wanted else None


@pytest.mark.parametrize(
    ("command", "program"),
    [
        (["true"], Program(0, 0)),
        (["/bin/false"], Program(0, 1)),
        (["sleep", "30"], Program(30, 0)),
        (["sh", "-c", "sleep 2; exit 3"], Program(2, 3)),
        (["sh", "-c", "sleep 1 && sleep 1 && false"], Program(2, 1)),
        (["nginx"], None),
        ([], None),
    ],
)
def test_simple_programs_are_understood(command: list[str], program: Program | None) -> None:
    container = Container(name="c", command=command)
    made = Pod(spec=PodSpec(restart_policy="Never", containers=[container]))
    assert program_of(made, container, Behaviour()) == program


async def test_a_pod_is_ready_after_its_stages(slow_cluster: ClusterUnderTest, virtual_time: VirtualTime) -> None:
    await slow_cluster.client.create(pod("nginx"))
    running = await eventually(lambda: phase(slow_cluster, "Running"))
    assert running is not None
    assert {one.type: one.status for one in running.status.conditions}["Ready"] == "False"
    before = virtual_time.time()

    async def is_ready() -> bool:
        found = await slow_cluster.client.get(Pod, KEY)
        return {one.type: one.status for one in found.status.conditions}["Ready"] == "True"

    await eventually(is_ready)
    assert virtual_time.time() - before == pytest.approx(5, abs=1.1)


async def test_a_program_that_ends_ends_its_pod(cluster: ClusterUnderTest) -> None:
    await cluster.client.create(pod("sh", "-c", "sleep 2; exit 3"))
    ended = await eventually(lambda: phase(cluster, "Failed"))
    assert ended is not None
    done = ended.status.container_statuses[0].state.terminated
    assert done is not None
    assert (done.exit_code, done.reason) == (3, "Error")


async def test_an_annotation_says_how_a_pod_ends(cluster: ClusterUnderTest) -> None:
    await cluster.client.create(pod("nginx", notes={EXIT_CODE: "0"}))
    assert await eventually(lambda: phase(cluster, "Succeeded"))


async def test_a_failed_program_is_restarted_where_the_policy_says_so(cluster: ClusterUnderTest) -> None:
    await cluster.client.create(pod("false", restartPolicy="OnFailure"))

    async def is_restarted() -> bool:
        found = await cluster.client.get(Pod, KEY)
        return any(one.restart_count >= 2 for one in found.status.container_statuses)

    await eventually(is_restarted, within_s=60, interval_s=0.5)
    assert await phase(cluster, "Running")


async def test_a_readiness_gate_holds_a_pod_back(cluster: ClusterUnderTest) -> None:
    await cluster.client.create(pod("nginx", readinessGates=[{"conditionType": "example.org/open"}]))

    async def ready(wanted: str) -> bool:
        found = await cluster.client.get(Pod, KEY)
        return {one.type: one.status for one in found.status.conditions}.get("Ready") == wanted

    await eventually(lambda: phase(cluster, "Running"))
    assert await ready("False")
    gate = {"type": "example.org/open", "status": "True"}
    await cluster.client.patch(Pod, KEY, {"status": {"conditions": [gate]}}, type="strategic", subresource="status")
    await eventually(lambda: ready("True"))


async def test_a_deleted_pod_is_shown_as_terminating_until_it_has_stopped(slow_cluster: ClusterUnderTest) -> None:
    client = slow_cluster.client
    await client.create(pod("nginx"))
    await eventually(lambda: phase(slow_cluster, "Running"))
    await client.delete(Pod, KEY)
    assert (await client.get(Pod, KEY)).metadata.is_deleting

    async def is_gone() -> bool:
        return not await client.list(Pod, NAMESPACE)

    await eventually(is_gone)


async def test_nothing_moves_on_a_node_that_failed(cluster: ClusterUnderTest) -> None:
    client = cluster.client
    for node in await client.list(Node):
        await client.patch(Node, node.key, {"metadata": {"annotations": {KUBELET: "stopped"}}})
    await client.create(pod("nginx"))

    async def is_bound() -> bool:
        return bool((await client.get(Pod, KEY)).spec.node_name)

    await eventually(is_bound)
    assert await phase(cluster, "Pending")
    name = (await client.get(Pod, KEY)).spec.node_name
    await client.patch(Node, Key("", name), {"metadata": {"annotations": {KUBELET: "simulated"}}})
    assert await eventually(lambda: phase(cluster, "Running"))


async def test_leases_of_nodes_are_renewed(cluster: ClusterUnderTest) -> None:
    async def renewed() -> set[Any]:
        return {one.spec.renew_time for one in await cluster.client.list(Lease, LEASES)}

    first = await eventually(renewed)

    async def is_later() -> bool:
        return bool(min(await renewed()) > max(first))

    await eventually(is_later, within_s=30, interval_s=1)
