"""Real agents: processes that are killed in every state, cut off, replaced; nothing is lost, nothing runs that should not."""

import asyncio
from pathlib import Path

import pytest

from attractor.client import Client, load_kubeconfig
from attractor.client.http.transport import HttpTransport
from attractor.objects.errors import Unauthorized
from attractor.objects.gvk import Key
from attractor.operators.edge.api.types import AppInst, Cloudlet, ClusterInst
from attractor.operators.edge.drivers.protocols import Ref
from attractor.testing import eventually
from tests.operators.edge.programs import WITHIN_S, Programs

CLUSTER, APP = Ref("ClusterInst", "berlin", "one"), Ref("AppInst", "berlin", "shop")


@pytest.mark.nightly
async def test_a_cluster_and_an_app_run_as_processes_and_leave_nothing_behind(tmp_path: Path) -> None:
    async with Programs(tmp_path) as programs:
        await programs.coordinator()
        await programs.started()
        await programs.create_cluster(nodes=2)
        await programs.create_app(revision="7")
        status = await programs.wait(AppInst, "shop", "Ready")
        assert await programs.ask(status.current.endpoint) == {"app": "shop", "revision": "7", "cluster": "one"}
        assert programs.running() == {CLUSTER, APP}
        await programs.admin.delete(AppInst, Key("berlin", "shop"))
        await programs.wait_gone(AppInst, "shop")
        await programs.admin.delete(ClusterInst, Key("berlin", "one"))
        await programs.wait_gone(ClusterInst, "one")
        assert programs.running() == set()


@pytest.mark.slow
async def test_a_hundred_apps_racing_the_deletion_of_their_cluster_never_outlive_it(tmp_path: Path) -> None:
    async with Programs(tmp_path) as programs:
        await programs.coordinator("first")
        await programs.coordinator("second")
        await programs.started()
        await programs.create_cluster()
        await programs.wait(ClusterInst, "one", "Ready")
        async with asyncio.TaskGroup() as group:
            for number in range(100):
                group.create_task(programs.create_app(f"app-{number}", auto_delete=True))
                if number == 50:
                    group.create_task(delete_cluster(programs))
        await programs.wait_gone(ClusterInst, "one")
        await eventually(lambda: programs.running() == set(), within_s=WITHIN_S)
        await eventually(lambda: all_wait_for_the_cluster(programs), within_s=WITHIN_S)
        assert programs.running() == set()


async def all_wait_for_the_cluster(programs: Programs) -> bool:
    """Whether every app that is left says so; one that came last may not have been looked at when the cluster is gone."""
    for app in await programs.admin.list(AppInst, "berlin"):
        assert app.status is not None, app.metadata.name
        assert app.status.state == "NotPresent", app.metadata.name
        assert app.status.message == "waits for ClusterInst one, which is not there", app.metadata.name
    return True


async def delete_cluster(programs: Programs) -> None:
    """Delete it, however often that is refused because somebody is faster."""

    async def is_taken() -> bool:
        await programs.admin.delete(ClusterInst, Key("berlin", "one"))
        return True

    await eventually(is_taken, within_s=WITHIN_S)


async def upgraded(programs: Programs, name: str, version: str) -> None:
    """Wait until a cloudlet is served by a version."""

    async def is_so() -> bool:
        status = await programs.status(Cloudlet, name, name)
        assert (status.state, status.version) == ("Ready", version), status
        return True

    await eventually(is_so, within_s=3 * WITHIN_S)


@pytest.mark.slow
async def test_an_agent_starts_the_next_one_which_takes_over_and_ends_it(tmp_path: Path) -> None:
    async with Programs(tmp_path) as programs:
        await programs.coordinator()
        first = await programs.started()
        await programs.create_cluster()
        await programs.create_app()
        before = await programs.wait(AppInst, "shop", "Ready")
        await programs.admin.patch(Cloudlet, Key("berlin", "berlin"), {"spec": {"version": "2"}})
        await upgraded(programs, "berlin", "2")
        await eventually(lambda: first.code == 0, within_s=WITHIN_S)
        after = await programs.wait(AppInst, "shop", "Ready")
        assert after.current == before.current
        await programs.admin.patch(AppInst, Key("berlin", "shop"), {"spec": {"revision": "2"}})
        await eventually(lambda: is_revision(programs, "2"), within_s=WITHIN_S)
        old = load_kubeconfig(programs.state_dir() / "first.kubeconfig")
        async with Client(HttpTransport(old)) as late:
            with pytest.raises(Unauthorized):
                await late.list(ClusterInst, "berlin")


async def is_revision(programs: Programs, revision: str) -> bool:
    """Whether the app says that it is of a revision."""
    status = await programs.wait(AppInst, "shop", "Ready")
    return bool((await programs.ask(status.current.endpoint))["revision"] == revision)


@pytest.mark.parametrize(
    "count", [pytest.param(20, marks=pytest.mark.nightly), pytest.param(2, marks=pytest.mark.slow)]
)
async def test_a_rolling_upgrade_goes_on_although_an_agent_is_killed(tmp_path: Path, count: int) -> None:
    names = [f"edge-{number}" for number in range(count)]
    async with Programs(tmp_path) as programs:
        await programs.coordinator()
        agents = {}
        for name in names:
            agents[name] = await programs.started(name)
        unlucky = names[count // 2]
        await programs.create_cluster(cloudlet=unlucky)
        before = await programs.wait(ClusterInst, "one", "Ready", unlucky)
        for name in names:
            await programs.admin.patch(Cloudlet, Key(name, name), {"spec": {"version": "2"}})
            if name == unlucky:
                await programs.wait(Cloudlet, name, "Updating", name)
                agents[name].kill()
                programs.agent(name)
            await upgraded(programs, name, "2")
        for name in names:
            assert programs.agents(name) == {"2"}
            assert programs.running(name) == ({Ref("ClusterInst", name, "one")} if name == unlucky else set())
        assert (await programs.status(ClusterInst, "one", unlucky)).current == before.current
