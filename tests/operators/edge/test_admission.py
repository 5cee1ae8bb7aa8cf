"""What the API server refuses, and what it says: wrong actor, wrong state, busy, upgrading, somebody else's cloudlet."""

from typing import Any

import pytest

from attractor.client import Client
from attractor.objects.errors import Forbidden, Invalid
from attractor.objects.gvk import Key
from attractor.objects.resource import ObjectMeta
from attractor.operators.edge.api.types import OVERRIDE, AppInst, Cloudlet, CloudletSpec, ClusterInst
from attractor.testing import eventually
from tests.operators.edge.world import PLAIN, Edge

ONE = Key("berlin", "one")


async def refused(client: Client, kind: Any, key: Key, patch: dict[str, Any], subresource: str = "") -> str:
    with pytest.raises(Forbidden) as caught:
        await client.patch(kind, key, patch, subresource=subresource)
    return caught.value.message


async def ready(edge: Edge) -> None:
    """A cloudlet that agent 1 serves, and a cluster on it; afterwards nobody runs."""
    await edge.cloudlet()
    async with edge.coordinator(), edge.agent():
        await edge.wait_ready()
        await edge.create_cluster()
        await edge.wait(ClusterInst, "one", "Ready")


async def test_a_move_by_the_wrong_actor_is_refused_and_both_are_named(edge: Edge) -> None:
    await ready(edge)
    async with edge.client(edge.agent_user("berlin")) as agent:
        said = await refused(agent, ClusterInst, ONE, {"status": {"state": "DeletePrepare"}}, "status")
    assert (
        "ClusterInst berlin/one is Ready, which only the User may move: the CRM may not move it to DeletePrepare"
        in said
    )


async def test_a_move_from_the_wrong_state_is_refused_even_to_the_owner(edge: Edge) -> None:
    await ready(edge)
    said = await refused(edge.admin, ClusterInst, ONE, {"status": {"state": "Creating"}}, "status")
    assert "ClusterInst berlin/one is Ready, from where" in said
    assert "it leads to DeletePrepare, UpdateRequested" in said


async def test_a_state_that_there_is_not_is_refused(edge: Edge) -> None:
    await ready(edge)
    with pytest.raises(Invalid, match="Unsupported value"):
        await edge.admin.patch(ClusterInst, ONE, {"status": {"state": "Asleep"}}, subresource="status")


async def test_an_agent_writes_the_status_of_its_own_cloudlet_and_nothing_else(edge: Edge) -> None:
    await ready(edge)
    await edge.cloudlet("paris")
    async with edge.coordinator():

        async def has_account() -> bool:
            async with edge.client(edge.agent_user("paris")) as neighbour:
                await neighbour.list(ClusterInst, "paris")
            return True

        await eventually(has_account)
    async with edge.client(edge.agent_user("paris")) as neighbour:
        assert "cannot patch" in await refused(neighbour, ClusterInst, ONE, {"status": {"message": "mine"}}, "status")
    async with edge.client(edge.agent_user("berlin")) as agent:
        assert "cannot patch" in await refused(agent, ClusterInst, ONE, {"spec": {"nodes": 5}})
        said = await refused(agent, ClusterInst, ONE, {"status": {"target": {"generation": 9}}}, "status")
        assert "status.target of ClusterInst berlin/one belongs to the Controller and the User: the CRM may not" in said


async def test_an_agent_of_another_version_is_refused(edge: Edge) -> None:
    await ready(edge)
    here = Key("berlin", "berlin")
    async with edge.coordinator():
        await edge.admin.patch(Cloudlet, here, {"spec": {"version": "2"}})
        await edge.wait(Cloudlet, "berlin", "UpdateRequested")

        async def may_speak() -> bool:
            async with edge.client(edge.agent_user("berlin", "2")) as new:
                await new.list(ClusterInst, "berlin")
            return True

        await eventually(may_speak)
    async with edge.client(edge.agent_user("berlin", "2")) as new:
        said = await refused(new, ClusterInst, ONE, {"status": {"message": "mine"}}, "status")
        assert "agent 2 does not serve Cloudlet berlin, agent 1 does" in said
        said = await refused(new, Cloudlet, here, {"status": {"agents": {"1": {"state": "Error"}}}}, "status")
        assert "what agent 1 of Cloudlet berlin is, says only agent 1 itself" in said


async def test_a_busy_instance_takes_no_new_wish(edge: Edge) -> None:
    await edge.cloudlet()
    edge.platform.hold.clear()
    async with edge.coordinator(), edge.agent():
        await edge.wait_ready()
        await edge.create_cluster()
        await edge.wait(ClusterInst, "one", "Creating")
        said = await refused(edge.admin, ClusterInst, ONE, {"spec": {"nodes": 2}})
        assert "ClusterInst one is busy, cannot be updated: it is Creating" in said
        with pytest.raises(Forbidden, match="ClusterInst one is busy, cannot be deleted: it is Creating"):
            await edge.admin.delete(ClusterInst, ONE)
        edge.platform.hold.set()
        await edge.wait(ClusterInst, "one", "Ready")


async def test_a_cluster_with_apps_that_stay_is_not_deleted(edge: Edge) -> None:
    await edge.cloudlet()
    async with edge.coordinator(), edge.agent():
        await edge.wait_ready()
        await edge.create_cluster()
        await edge.create_app()
        await edge.wait(AppInst, "shop", "Ready")
        with pytest.raises(Forbidden, match="AppInst shop in it would be lost; delete them first"):
            await edge.admin.delete(ClusterInst, ONE)


async def test_a_cloudlet_has_the_name_of_its_namespace_and_keeps_what_it_has(edge: Edge) -> None:
    await ready(edge)
    with pytest.raises(Forbidden, match="a Cloudlet has the name of its namespace: berlin"):
        await edge.admin.create(Cloudlet(metadata=ObjectMeta(name="other", namespace="berlin"), spec=CloudletSpec()))
    with pytest.raises(Forbidden, match="it still has ClusterInsts; delete them first"):
        await edge.admin.delete(Cloudlet, Key("berlin", "berlin"))


async def test_only_administrators_override(edge: Edge) -> None:
    await ready(edge)
    from attractor.k8s.rbac_v1 import ClusterRoleBinding

    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "ulla"},
        "subjects": [{"kind": "User", "name": PLAIN.name}],
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
    }
    await edge.admin.create(ClusterRoleBinding.from_dict(binding))
    async with edge.client(PLAIN) as user:
        said = await refused(user, ClusterInst, ONE, {"metadata": {"annotations": {OVERRIDE: "IgnoreCRM"}}})
        assert "only administrators may set the annotation edge.attractor.dev/override" in said
        said = await refused(user, ClusterInst, ONE, {"status": {"state": "NotPresent"}}, "status")
        assert "ClusterInst berlin/one is Ready, from where the User may not move it to NotPresent" in said


async def test_what_others_rely_on_is_decided_when_an_instance_is_created(edge: Edge) -> None:
    await ready(edge)
    await edge.create_app(tenant="acme")
    for kind, name, field, value in (
        (AppInst, "shop", "cluster", "two"),
        (AppInst, "shop", "tenant", "bigco"),
        (ClusterInst, "one", "reservable", True),
    ):
        with pytest.raises(Invalid, match=f"{field} cannot be changed"):
            await edge.admin.patch(kind, Key("berlin", name), {"spec": {field: value}})


@pytest.mark.parametrize(
    ("state", "why"),
    [
        ("UpdateRequested", "Cloudlet berlin is upgrading"),
        ("UpdateError", "Cloudlet berlin is in failed upgrade state, please upgrade it manually"),
    ],
)
async def test_nothing_is_created_changed_or_deleted_in_an_upgrade(edge: Edge, state: str, why: str) -> None:
    await ready(edge)
    here = Key("berlin", "berlin")
    await edge.admin.patch(Cloudlet, here, {"status": {"state": "UpdateRequested"}}, subresource="status")
    if state == "UpdateError":
        await edge.admin.patch(Cloudlet, here, {"status": {"state": state}}, subresource="status")
    assert why in await refused(edge.admin, ClusterInst, ONE, {"spec": {"nodes": 2}})
    for wish in (edge.create_cluster("two"), edge.create_app(), edge.admin.delete(ClusterInst, ONE)):
        with pytest.raises(Forbidden, match=why):
            await wish


async def test_an_administrator_speaks_for_an_agent_only_along_its_table(edge: Edge) -> None:
    await ready(edge)
    here = Key("berlin", "berlin")
    said = await refused(edge.admin, Cloudlet, here, {"status": {"agents": {"1": {"state": "UpgradeInit"}}}}, "status")
    assert "agent 1 of Cloudlet berlin is Ready, which only the CRMv1 may move: the Administrator may not" in said
    async with edge.client(edge.agent_user("berlin")) as agent:
        failed = {"status": {"agents": {"1": {"state": "Error"}}}}
        await agent.patch(Cloudlet, here, failed, subresource="status")
        said = await refused(agent, Cloudlet, here, {"status": {"agents": {"1": {"state": "Ready"}}}}, "status")
        assert "agent 1 of Cloudlet berlin is Error, which is final" in said
    repaired = {"status": {"agents": {"1": {"state": "Ready"}}}}
    await edge.admin.patch(Cloudlet, here, repaired, subresource="status")
