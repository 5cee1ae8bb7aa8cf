"""The network between agents, coordinator and API server breaks, or swallows what goes one way, in the middle of things."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from attractor.client import WatchEvent
from attractor.k8s.coordination_v1 import Lease
from attractor.objects.errors import Forbidden, NotFound
from attractor.objects.gvk import Key
from attractor.operators.edge.api.states import APP_INST
from attractor.operators.edge.api.types import AppInst, Cloudlet, ClusterInst
from attractor.operators.edge.drivers.protocols import Ref
from attractor.operators.edge.drivers.records import Records
from attractor.testing import eventually
from tests.operators.edge.atwork import AtWork
from tests.operators.edge.holds import Held, Holds
from tests.operators.edge.programs import GATED, WITHIN_S, Programs
from tests.operators.edge.proxy import ANSWERS, REQUESTS, CuttableProxy

HERE, LEASE = Key("berlin", "berlin"), Key("berlin", "agent-1")
OFTEN = ("--heartbeat", "1")


@asynccontextmanager
async def behind_a_proxy(directory: Path) -> AsyncIterator[tuple[Programs, CuttableProxy]]:
    """A server, and a way to it that can be cut."""
    async with (
        Programs(directory, Holds()) as programs,
        CuttableProxy(programs.server_port, "http") as network,
    ):
        yield programs, network


async def started_behind(programs: Programs, network: CuttableProxy, *options: str) -> AtWork:
    """A coordinator, and a cloudlet with a cluster whose agent is behind the network."""
    coordinator = await programs.coordinator()
    await programs.cloudlet()
    await programs.credentials(server=network.url)
    agent = programs.agent("berlin", *GATED, *options)
    await programs.wait(Cloudlet, "berlin", "Ready")
    await programs.create_cluster()
    await programs.wait(ClusterInst, "one", "Ready")
    return AtWork(programs, coordinator, agent)


async def session(programs: Programs) -> str:
    """The session in which everything was reported, as the agent's sign of life says."""
    return (await programs.admin.get(Lease, LEASE)).spec.holder_identity or ""


async def are_reported(programs: Programs, since: str) -> bool:
    """Whether everything was reported in the session of the sign of life, which is a later one."""
    now = await session(programs)
    assert now != since
    said = [(await programs.status(ClusterInst, "one")).reported, (await programs.status(AppInst, "shop")).reported]
    assert said == [now, now]
    return True


class Order:
    """The revisions at which each session was first seen: in reports, and in signs of life."""

    def __init__(self) -> None:
        self.reported: dict[tuple[str, str], int] = {}
        self.signed: dict[str, int] = {}

    async def follow(self, programs: Programs, kind: Any) -> None:
        async with programs.admin.watch(kind, "berlin") as events:
            async for event in events:
                if not isinstance(event, WatchEvent):
                    continue
                at, obj = int(event.resource_version), event.object
                if isinstance(obj, Lease):
                    self.signed.setdefault(obj.spec.holder_identity or "", at)
                elif obj.status is not None:
                    self.reported.setdefault((obj.kind, obj.status.reported), at)


@pytest.mark.slow
async def test_after_a_cut_an_agent_reports_everything_and_only_then_gives_a_sign_of_life(tmp_path: Path) -> None:
    async with behind_a_proxy(tmp_path) as (programs, network):
        at_work = await started_behind(programs, network, *OFTEN)
        await programs.create_app()
        before = await programs.wait(AppInst, "shop", "Ready")
        await eventually(lambda: are_reported(programs, ""), within_s=WITHIN_S)
        first = await session(programs)
        network.cut()
        await eventually(lambda: is_cloudlet(programs, "Offline"), within_s=WITHIN_S)
        with pytest.raises(Forbidden, match="Cloudlet berlin not ready, state is Offline"):
            await programs.create_app("late")
        record = Records(programs.state_dir() / "instances").load(Ref("AppInst", "berlin", "shop"))
        assert record is not None
        os.kill(record.pid, signal.SIGKILL)
        order = Order()
        async with asyncio.TaskGroup() as group:
            following = [group.create_task(order.follow(programs, kind)) for kind in (Lease, ClusterInst, AppInst)]
            network.heal()
            await eventually(lambda: is_cloudlet(programs, "Ready"), within_s=WITHIN_S)
            await eventually(lambda: are_reported(programs, first), within_s=WITHIN_S)
            second = await session(programs)
            await eventually(lambda: second in order.signed, within_s=WITHIN_S)
            for task in following:
                task.cancel()
        for kind in ("ClusterInst", "AppInst"):
            assert order.reported[kind, second] < order.signed[second]
        await eventually(at_work.serves("shop", "1"), within_s=WITHIN_S)
        assert (await programs.status(AppInst, "shop")).current.endpoint != before.current.endpoint


async def is_cloudlet(programs: Programs, state: str) -> bool:
    """Whether the coordinator says that a cloudlet's agent is this."""
    status = await programs.status(Cloudlet, "berlin")
    assert status.cloudlet_state == state, status
    return True


@pytest.mark.parametrize(
    "lost",
    [
        pytest.param("both", marks=pytest.mark.nightly),
        pytest.param(REQUESTS, marks=pytest.mark.nightly),
        pytest.param(ANSWERS, marks=pytest.mark.slow),
    ],
)
async def test_an_agent_that_is_cut_off_at_work_needs_nothing_special(tmp_path: Path, lost: str) -> None:
    async with behind_a_proxy(tmp_path) as (programs, network):
        at_work = await started_behind(programs, network, *OFTEN)
        for operation, working, ended in (
            ("create", "Creating", "Ready"),
            ("update", "Updating", "Ready"),
            ("delete", "Deleting", "NotPresent"),
        ):
            await eventually(lambda: is_cloudlet(programs, "Ready"), within_s=WITHIN_S)
            programs.gate("before")
            await at_work.wish(operation, "shop")
            await programs.wait_gate()
            await programs.wait(AppInst, "shop", working)
            cut(network, lost)
            programs.gate("after")
            await programs.wait_gate()
            programs.gate("")
            if lost == ANSWERS:
                await has_come_to(programs, ended)
            else:
                await eventually(lambda: is_cloudlet(programs, "Offline"), within_s=WITHIN_S)
                assert (await programs.status(AppInst, "shop")).state == working
            network.heal()
            await at_work.judge(operation, "shop", failed=False)


async def has_come_to(programs: Programs, state: str) -> None:
    """Wait until the agent's word has arrived; an object that is gone was NotPresent before."""
    if state == "NotPresent":
        await programs.wait_gone(AppInst, "shop")
    else:
        await programs.wait(AppInst, "shop", state)


def cut(network: CuttableProxy, lost: str) -> None:
    if lost == "both":
        network.cut()
    else:
        network.swallow(lost)


@pytest.mark.nightly
@pytest.mark.parametrize("lost", ["both", REQUESTS, ANSWERS])
async def test_a_coordinator_that_is_cut_off_catches_up(tmp_path: Path, lost: str) -> None:
    async with Programs(tmp_path, Holds()) as programs, CuttableProxy(programs.server_port, "http") as network:
        away = tmp_path / "away"
        document = yaml.safe_load(programs.admin_config.read_text())
        document["clusters"][0]["cluster"]["server"] = network.url
        away.write_text(yaml.safe_dump(document))
        coordinator = await programs.coordinator(config=away)
        agent = await programs.started("berlin", *GATED)
        await programs.create_cluster()
        await programs.wait(ClusterInst, "one", "Ready")
        at_work = AtWork(programs, coordinator, agent)
        for operation, app in (("create", "bad"), ("create", "shop"), ("update", "shop"), ("delete", "shop")):
            if app == "bad":
                programs.fail_next()
            programs.gate("before")
            await at_work.wish(operation, app)
            await programs.wait_gate()
            cut(network, lost)
            programs.gate("")
            await eventually(lambda app=app: has_ended(programs, app), within_s=WITHIN_S)  # type: ignore[misc]
            network.heal()
            await at_work.judge(operation, app, failed=app == "bad")


async def has_ended(programs: Programs, app: str) -> bool:
    """Whether the agent's last word has arrived."""
    try:
        status = await programs.status(AppInst, app)
    except NotFound:
        return True
    return status.state in APP_INST.resting | APP_INST.errors


@pytest.mark.nightly
@pytest.mark.parametrize("lost", ["both", ANSWERS])
async def test_an_upgrade_in_which_the_agents_are_cut_off_goes_on_afterwards(tmp_path: Path, lost: str) -> None:
    async with behind_a_proxy(tmp_path) as (programs, network):
        assert programs.holds is not None
        await programs.coordinator()
        await programs.cloudlet()
        await programs.credentials(server=network.url)
        programs.agent("berlin", *OFTEN)
        await programs.wait(Cloudlet, "berlin", "Ready")
        for version, state in enumerate(("UpdateRequested", "Updating", "UpdateDone"), start=2):
            held = programs.holds.hold(Held("Cloudlet", "berlin", "berlin", state))
            await eventually(lambda: is_cloudlet(programs, "Ready"), within_s=WITHIN_S)
            await programs.admin.patch(Cloudlet, HERE, {"spec": {"version": str(version)}})
            await eventually(lambda held=held: held.was_tried, within_s=WITHIN_S)  # type: ignore[misc]
            cut(network, lost)
            programs.holds.release()
            await eventually(lambda: is_cloudlet(programs, "Offline"), within_s=WITHIN_S)
            assert await is_waiting(programs, state)
            network.heal()

            async def is_upgraded(version: str = str(version)) -> bool:
                status = await programs.status(Cloudlet, "berlin")
                assert (status.state, status.version) == ("Ready", version), status
                return programs.agents() == {version}

            await eventually(is_upgraded, within_s=WITHIN_S)


async def is_waiting(programs: Programs, held: str) -> bool:
    """Whether the upgrade has come as far as the coordinator gets it without the agents, and no further."""
    after = {"UpdateRequested": "Updating", "Updating": "UpdateDone", "UpdateDone": "Ready"}[held]
    return bool((await programs.status(Cloudlet, "berlin")).state == after)
