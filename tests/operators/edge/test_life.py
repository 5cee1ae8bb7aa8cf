"""Create, update, delete: what coordinator and agent do together, and what they do when the platform fails."""

import pytest

from attractor.objects.gvk import Key
from attractor.operators.edge.api.access import ACCESS
from attractor.operators.edge.api.states import CLUSTER_INST, TrackedState
from attractor.operators.edge.api.types import OVERRIDE, AppInst, ClusterInst
from attractor.operators.edge.drivers.protocols import Ref
from attractor.testing import eventually
from tests.operators.edge.placing import let_in, place, serve, way_to
from tests.operators.edge.world import Edge

CLUSTER, APP = Ref("ClusterInst", "berlin", "one"), Ref("AppInst", "berlin", "shop")


async def test_a_cluster_is_created_updated_and_deleted(edge: Edge) -> None:
    await edge.cloudlet()
    async with edge.coordinator(), edge.agent():
        await edge.wait_ready()
        await edge.create_cluster(nodes=2)
        status = await edge.wait(ClusterInst, "one", "Ready")
        assert dict(edge.platform.there[CLUSTER].settings) == {"nodes": "2"}
        assert status.current.generation == status.target.generation == 1
        await edge.admin.patch(ClusterInst, Key("berlin", "one"), {"spec": {"nodes": 3}})
        await eventually(lambda: dict(edge.platform.there[CLUSTER].settings) == {"nodes": "3"})
        await edge.wait(ClusterInst, "one", "Ready")
        await edge.admin.delete(ClusterInst, Key("berlin", "one"))
        await edge.wait_gone(ClusterInst, "one")
    assert edge.platform.there == {}


async def test_a_failed_create_leaves_nothing_and_says_why_and_a_changed_wish_is_tried(edge: Edge) -> None:
    await edge.cloudlet()
    edge.platform.failures["apply one"] = "no room"
    async with edge.coordinator(), edge.agent():
        await edge.wait_ready()
        await edge.create_cluster()
        status = await edge.wait_message(ClusterInst, "one", "CreateError: no room")
        assert status.state == "NotPresent"
        assert edge.platform.there == {}
        await edge.admin.patch(ClusterInst, Key("berlin", "one"), {"spec": {"nodes": 2}})
        await edge.wait(ClusterInst, "one", "Ready")


async def test_a_failed_update_commits_what_was_before(edge: Edge) -> None:
    await edge.cloudlet()
    async with edge.coordinator(), edge.agent():
        await edge.wait_ready()
        await edge.create_cluster(nodes=2)
        await edge.wait(ClusterInst, "one", "Ready")
        edge.platform.failures["apply one"] = "no room"
        await edge.admin.patch(ClusterInst, Key("berlin", "one"), {"spec": {"nodes": 9}})
        status = await edge.wait_message(ClusterInst, "one", "UpdateError: no room")
        assert status.state == "Ready"
        assert status.target.settings == status.current.settings == {"nodes": "2"}


async def test_a_failed_delete_is_undone_and_tried_again(edge: Edge) -> None:
    await edge.cloudlet()
    async with edge.coordinator(), edge.agent():
        await edge.wait_ready()
        await edge.create_cluster()
        await edge.wait(ClusterInst, "one", "Ready")
        edge.platform.failures["remove one"] = "in use"
        await edge.admin.delete(ClusterInst, Key("berlin", "one"))
        await edge.wait_gone(ClusterInst, "one")
    assert edge.platform.there == {}


async def test_an_app_waits_for_its_cluster_and_the_cluster_for_its_app(edge: Edge) -> None:
    await edge.cloudlet()
    async with edge.coordinator(), edge.agent():
        await edge.wait_ready()
        await edge.create_app()
        await edge.wait_message(AppInst, "shop", "waits for ClusterInst one, which is not there")
        await edge.create_cluster()
        await edge.wait(AppInst, "shop", "Ready")
        assert [ref.kind for _, ref in edge.platform.done] == ["ClusterInst", "AppInst"]
        await edge.admin.delete(AppInst, Key("berlin", "shop"))
        await edge.wait_gone(AppInst, "shop")
        assert (await edge.status(ClusterInst, "one")).apps == {}


async def test_a_deleted_cluster_takes_its_automatic_apps_with_it_and_they_go_first(edge: Edge) -> None:
    await edge.cloudlet()
    async with edge.coordinator(), edge.agent():
        await edge.wait_ready()
        await edge.create_cluster()
        await edge.create_app(auto_delete=True)
        await edge.wait(AppInst, "shop", "Ready")
        await edge.admin.delete(ClusterInst, Key("berlin", "one"))
        await edge.wait_gone(ClusterInst, "one")
        await edge.wait_gone(AppInst, "shop")
    assert edge.platform.done[-2:] == [("remove", APP), ("remove", CLUSTER)]


async def test_a_reserved_cluster_takes_one_tenant_until_the_last_app_has_gone(edge: Edge) -> None:
    await edge.cloudlet()
    async with edge.coordinator(), edge.agent():
        await edge.wait_ready()
        await edge.create_cluster(reservable=True)
        await edge.create_app("first", tenant="acme")
        await edge.wait(AppInst, "first", "Ready")
        await edge.create_app("second", tenant="bigco")
        await edge.wait_message(AppInst, "second", "ClusterInst one is reserved by acme")
        await edge.admin.delete(AppInst, Key("berlin", "first"))
        await edge.wait(AppInst, "second", "Ready")
        assert (await edge.status(ClusterInst, "one")).reserved_by == "bigco"


async def test_what_died_on_the_platform_is_brought_back(edge: Edge) -> None:
    await edge.cloudlet()
    async with edge.coordinator(), edge.agent() as driver:
        await edge.wait_ready()
        await edge.create_cluster()
        await edge.wait(ClusterInst, "one", "Ready")
        edge.platform.there.clear()
        driver.channels["ClusterInst"].send(Key("berlin", "one"))
        await eventually(lambda: CLUSTER in edge.platform.there)
        await edge.wait(ClusterInst, "one", "Ready")


async def test_what_an_agent_finds_that_nobody_has_is_removed(edge: Edge) -> None:
    await edge.cloudlet()
    async with edge.coordinator(), edge.agent() as driver:
        await edge.wait_ready()
        await driver.apply(CLUSTER, 7, (("nodes", "1"),))
        driver.channels["ClusterInst"].send(Key("berlin", "one"))
        await eventually(lambda: edge.platform.there == {})


async def test_what_an_agent_finds_before_it_serves_is_removed_when_it_does_and_what_somebody_has_stays(
    edge: Edge,
) -> None:
    await edge.cloudlet()
    async with edge.coordinator([ACCESS]), edge.agent() as driver:
        await driver.apply(CLUSTER, 7, (("nodes", "1"),))
        driver.channels["ClusterInst"].send(Key("berlin", "one"))
        await eventually(lambda: driver.asked.count(CLUSTER) > 1)
        assert CLUSTER in edge.platform.there, "an agent that does not serve changes nothing"
        async with edge.coordinator():
            await edge.wait_ready()
            await edge.create_cluster("two")
            await edge.wait(ClusterInst, "two", "Ready")
            await eventually(lambda: CLUSTER not in edge.platform.there)
    assert len(edge.platform.there) == 1


async def test_an_administrator_lets_a_deletion_go_past_an_agent_that_is_away(edge: Edge) -> None:
    await edge.cloudlet()
    async with edge.coordinator():
        async with edge.agent():
            await edge.wait_ready()
        await edge.create_cluster()
        await edge.wait(ClusterInst, "one", "CreateRequested")
        override = {"metadata": {"annotations": {OVERRIDE: "IgnoreCRMAndTransientState"}}}
        await edge.admin.patch(ClusterInst, Key("berlin", "one"), override)
        await edge.wait(ClusterInst, "one", "Ready")
        await edge.admin.delete(ClusterInst, Key("berlin", "one"))
        await edge.wait_gone(ClusterInst, "one")


async def test_errors_of_the_agent_are_ignored_on_an_administrators_word(edge: Edge) -> None:
    await edge.cloudlet()
    edge.platform.failures["remove one"] = "in use"
    async with edge.coordinator(), edge.agent():
        await edge.wait_ready()
        await edge.create_cluster()
        await edge.wait(ClusterInst, "one", "Ready")
        override = {"metadata": {"annotations": {OVERRIDE: "IgnoreCRMErrors"}}}
        await edge.admin.patch(ClusterInst, Key("berlin", "one"), override)
        await edge.admin.delete(ClusterInst, Key("berlin", "one"))
        await edge.wait_gone(ClusterInst, "one")


@pytest.mark.parametrize("state", sorted({*CLUSTER_INST.states} - CLUSTER_INST.resting))
async def test_an_administrator_gets_rid_of_a_cluster_in_every_state_although_no_agent_answers(
    edge: Edge, state: TrackedState
) -> None:
    await let_in(edge, ["berlin"])
    await serve(edge, "berlin")
    await edge.create_cluster()
    one = Key("berlin", "one")
    await place(edge, ClusterInst, one, way_to(CLUSTER_INST, state))
    override = {"metadata": {"annotations": {OVERRIDE: "IgnoreCRMAndTransientState"}}}
    await edge.admin.patch(ClusterInst, one, override)
    await edge.admin.delete(ClusterInst, one)
    async with edge.coordinator():
        await edge.wait_gone(ClusterInst, "one")
