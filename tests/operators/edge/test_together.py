"""Two coordinators, lost messages, and upgrades row by row, in one process."""

import asyncio
from typing import Any

import pytest

from attractor.client import WatchEvent
from attractor.objects.errors import Forbidden
from attractor.objects.gvk import Key
from attractor.operators.edge.api.types import AppInst, Cloudlet, ClusterInst
from attractor.operators.edge.cli.credentials import repair
from attractor.operators.edge.drivers.protocols import LaunchError
from attractor.testing import eventually
from attractor.testing.faults import FaultInjector, FaultyTransport
from attractor.testing.request_log import RequestLog
from tests.operators.edge.world import Edge

HERE = Key("berlin", "berlin")


async def test_a_hundred_apps_racing_the_deletion_of_their_cluster_on_two_coordinators(edge: Edge) -> None:
    await edge.cloudlet()
    async with edge.coordinator(), edge.coordinator(), edge.agent():
        await edge.wait_ready()
        await edge.create_cluster()
        await edge.wait(ClusterInst, "one", "Ready")

        async def delete() -> bool:
            await edge.admin.delete(ClusterInst, Key("berlin", "one"))
            return True

        async with asyncio.TaskGroup() as group:
            for number in range(100):
                group.create_task(edge.create_app(f"app-{number}", auto_delete=True))
                if number == 50:
                    group.create_task(eventually(delete, within_s=30))
        await edge.wait_gone(ClusterInst, "one")

        async def all_rest() -> bool:
            left = await edge.admin.list(AppInst, "berlin")
            return all(app.status is not None and app.status.state == "NotPresent" for app in left)

        await eventually(all_rest, within_s=30)
    assert edge.platform.there == {}


@pytest.mark.parametrize("lost", ["lost_request", "lost_answer"])
async def test_the_message_that_work_has_begun_may_be_lost(
    edge: Edge, monkeypatch: pytest.MonkeyPatch, lost: str
) -> None:
    faults, plain = FaultInjector(), edge.client

    def client(user: Any) -> Any:
        made = plain(user)
        if "agent" in user.name:
            made.transport = FaultyTransport(made.transport, faults, RequestLog())
        return made

    monkeypatch.setattr(edge, "client", client)
    await edge.cloudlet()
    async with edge.coordinator(), edge.agent():
        await edge.wait_ready()
        struck = getattr(faults, lost)("patch", "clusterinsts", name="one")
        await edge.create_cluster()
        await edge.wait(ClusterInst, "one", "Ready")
        assert len(struck.struck) == 1


class Machine:
    """A launcher that starts the next agent in this process, or fails to."""

    def __init__(self, why_not: str = "", cannot_end: str = "") -> None:
        self.why_not, self.cannot_end = why_not, cannot_end
        self.started = asyncio.Event()
        self.ended = asyncio.Event()
        self.left: list[str] = []

    async def start(self, version: str) -> None:
        if self.why_not:
            raise LaunchError(self.why_not)
        self.started.set()

    async def end(self, version: str) -> None:
        if self.cannot_end:
            raise LaunchError(self.cannot_end)
        self.ended.set()

    async def leave(self, why: str) -> None:
        self.left.append(why)


async def test_an_upgrade_goes_through_every_row_of_its_table(edge: Edge) -> None:
    machine = Machine()
    seen: list[tuple[str, dict[str, str]]] = []

    async def watch() -> None:
        async with edge.admin.watch(Cloudlet, "berlin") as events:
            async for event in events:
                status = event.object.status if isinstance(event, WatchEvent) else None
                if status is not None:
                    row = (str(status.state), {name: str(one.state) for name, one in status.agents.items()})
                    if not seen or seen[-1] != row:
                        seen.append(row)

    await edge.cloudlet()
    async with edge.coordinator(), edge.agent(launcher=machine), asyncio.TaskGroup() as group:
        await edge.wait_ready()
        watching = group.create_task(watch())
        await eventually(lambda: seen)
        await edge.admin.patch(Cloudlet, HERE, {"spec": {"version": "2"}})
        await machine.started.wait()
        async with edge.agent(version="2", launcher=machine):
            await edge.wait_ready()
            await eventually(lambda: machine.left)
        watching.cancel()
    assert machine.ended.is_set()
    assert machine.left[0] in {
        "Cloudlet berlin wants agent 2, this is 1",
        "Cloudlet berlin lets agent 1 in no more",
    }
    assert seen == [
        ("Ready", {"1": "Ready"}),
        ("UpdateRequested", {"1": "Ready"}),
        ("UpdateRequested", {"1": "UpgradeInit"}),
        ("Updating", {"1": "UpgradeInit"}),
        ("Updating", {"1": "UpgradeInit", "2": "Init"}),
        ("Updating", {"1": "UpgradeInit", "2": "UpgradeDone"}),
        ("UpdateDone", {"1": "UpgradeInit", "2": "UpgradeDone"}),
        ("UpdateDone", {"1": "UpgradeInit", "2": "Ready"}),
        ("Ready", {"2": "Ready"}),
    ]


async def test_a_new_agent_that_cannot_end_the_old_one_leaves_the_error_to_an_administrator(edge: Edge) -> None:
    await edge.cloudlet()
    async with edge.coordinator(), edge.agent(launcher=Machine()):
        await edge.wait_ready()
        await edge.admin.patch(Cloudlet, HERE, {"spec": {"version": "2"}})
        await edge.wait(Cloudlet, "berlin", "Updating")
        async with edge.agent(version="2", launcher=Machine(cannot_end="it hangs")):
            status = await edge.wait(Cloudlet, "berlin", "UpdateError")
        assert status.agents["2"].state == "Error"
        assert "upgrade to 2 failed (CRMv2 is Error): it hangs" in status.message
        with pytest.raises(Forbidden, match="in failed upgrade state, please upgrade it manually"):
            await edge.create_cluster()
        await repair(edge.admin, "berlin")
        await edge.create_cluster()
        await edge.wait(ClusterInst, "one", "Ready")


async def test_an_upgrade_waits_for_work_in_progress_and_refuses_new_work(edge: Edge) -> None:
    machine = Machine()
    await edge.cloudlet()
    edge.platform.hold.clear()
    async with edge.coordinator(), edge.agent(launcher=machine):
        await edge.wait_ready()
        await edge.create_cluster()
        await edge.wait(ClusterInst, "one", "Creating")
        await edge.admin.patch(Cloudlet, HERE, {"spec": {"version": "2"}})
        await edge.wait_message(Cloudlet, "berlin", "the upgrade waits for ClusterInst one, which is Creating")
        edge.platform.hold.set()
        await machine.started.wait()
        with pytest.raises(Forbidden, match="Cloudlet berlin is upgrading"):
            await edge.create_app()
