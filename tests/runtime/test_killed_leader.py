"""Two operators as processes, one Lease: one is killed, or put to sleep, in the middle of a reconcile."""

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest

from attractor.client import Client, load_kubeconfig
from attractor.k8s.coordination_v1 import Lease
from attractor.k8s.core_v1 import ConfigMap
from attractor.objects.gvk import Key
from attractor.objects.resource import ObjectMeta
from attractor.testing import eventually
from tests.anycluster import PATIENCE_S, Leftovers, own_namespace
from tests.runtime.operatorprocess import Times, operator
from tests.runtime.steps_operator import STEPS
from tests.runtime.things import passing
from tests.serving import serving

pytestmark = [pytest.mark.any_cluster, pytest.mark.slow]
OPERATOR = Path(__file__).parent / "steps_operator.py"
TIMES = Times(lease_s=5.0, renew_s=4.0, retry_s=0.5)


class Cluster:
    """Where the operators run, and what the server has of their writes."""

    def __init__(self, kubeconfig: Path, client: Client, namespace: str, context: str = "") -> None:
        self.kubeconfig, self.client, self.namespace, self.context = kubeconfig, client, namespace, context

    def operator(self, name: str) -> AbstractAsyncContextManager[asyncio.subprocess.Process]:
        """An operator that leads or stands by, its cache warm."""
        return operator(OPERATOR, self.kubeconfig, self.namespace, TIMES, context=self.context, OPERATOR=name)

    async def steps(self) -> list[ConfigMap]:
        """The steps in the order in which the server stored them."""
        listed = await self.client.list(ConfigMap, self.namespace, label_selector="role=step")
        return sorted(listed, key=lambda step: int(step.metadata.resource_version))

    async def writers(self) -> list[str]:
        """Who stored each step, in the server's order."""
        return [step.data["by"] for step in await self.steps()]

    async def lease(self) -> Lease:
        return await self.client.get(Lease, Key(self.namespace, "steps-operator-leader"))

    async def begin(self) -> None:
        meta = ObjectMeta(name="task", namespace=self.namespace, labels={"role": "task"})
        await self.client.create(ConfigMap(metadata=meta))

    async def reached(self, writer: str, count: int) -> None:
        """Wait until somebody has stored so many steps."""

        async def has() -> bool:
            return (await self.writers()).count(writer) >= count

        await eventually(has, within_s=PATIENCE_S)


@pytest.fixture
async def cluster(request: pytest.FixtureRequest, tmp_path: Path, leftovers: Leftovers) -> AsyncIterator[Cluster]:
    given: Path | None = request.config.getoption("--kubeconfig")
    if given is not None:
        context = request.config.getoption("--kube-context")
        async with Client.connect(load_kubeconfig(given, context=context)) as client:
            yield Cluster(given, client, await own_namespace(client, leftovers), context)
        return
    with serving(tmp_path / "server") as server:
        async with Client.connect(load_kubeconfig(server.kubeconfig)) as client:
            yield Cluster(server.kubeconfig, client, await own_namespace(client, leftovers))


@asynccontextmanager
async def leader_at_work(cluster: Cluster) -> AsyncIterator[asyncio.subprocess.Process]:
    """Operator one leads and is in the middle of a reconcile, operator two stands by."""
    async with cluster.operator("one") as one:
        await eventually(cluster.lease, within_s=PATIENCE_S)
        async with cluster.operator("two"):
            await cluster.begin()
            await cluster.reached("one", 3)
            yield one


async def test_a_leader_that_is_killed_is_followed_by_the_standby_which_finishes_the_work(cluster: Cluster) -> None:
    async with leader_at_work(cluster) as one:
        before = await cluster.lease()
        one.send_signal(signal.SIGKILL)
        await cluster.reached("two", 1)
        after = await cluster.lease()
        async with asyncio.timeout(PATIENCE_S):
            while len(await cluster.steps()) < STEPS:
                await passing(0.05)
    assert (before.spec.lease_transitions, after.spec.lease_transitions) == (0, 1)
    assert after.spec.acquire_time is not None
    assert before.spec.renew_time is not None
    waited_s = after.spec.acquire_time.timestamp() - before.spec.renew_time.timestamp()
    assert waited_s >= TIMES.lease_s, "a lease is taken only after its whole duration"
    writers = await cluster.writers()
    assert writers == sorted(writers), "one wrote, then two wrote; never one after two"
    assert [step.metadata.name for step in await cluster.steps()] == [f"task-{n:02d}" for n in range(STEPS)]


async def test_a_leader_that_wakes_up_after_its_lease_writes_nothing_more_and_ends(cluster: Cluster) -> None:
    async with leader_at_work(cluster) as one:
        one.send_signal(signal.SIGSTOP)
        await cluster.reached("two", 1)
        one.send_signal(signal.SIGCONT)
        async with asyncio.timeout(PATIENCE_S):
            assert await one.wait() == 1
        await cluster.reached("two", 2)
    writers = await cluster.writers()
    assert writers == sorted(writers), "one wrote, then two wrote; never one after two"
