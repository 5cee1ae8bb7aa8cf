"""A role that is missing: what is denied is said, again now and then, readiness names it, and granting it is enough."""

import asyncio

import pytest

from attractor.apiserver.request.caller import User
from attractor.client import Client
from attractor.k8s.core_v1 import ConfigMap, Namespace
from attractor.objects.gvk import Key
from attractor.objects.resource import ObjectMeta
from attractor.runtime import Context, Election, Manager, controller
from attractor.testing import ClusterUnderTest, VirtualTime, eventually
from tests.runtime.things import passing

ACCOUNT = User(
    "system:serviceaccount:default:reader",
    groups=("system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated"),
)
FIRST = "the first list of a kind fails; controllers wait for it"
RBAC = "rbac.authorization.k8s.io"


@controller(name="reading", for_=ConfigMap)
async def reading(ctx: Context, key: Key) -> None:
    await ctx.find(ConfigMap, key)


async def grant(cluster: ClusterUnderTest, group: str, resource: str, *verbs: str) -> None:
    metadata = {"name": f"may-use-{resource}"}
    rule = {"apiGroups": [group], "resources": [resource], "verbs": list(verbs)}
    subject = {"kind": "ServiceAccount", "name": "reader", "namespace": "default"}
    of = {"apiGroup": RBAC, "kind": "ClusterRole", **metadata}
    await cluster.client.create({
        "apiVersion": f"{RBAC}/v1", "kind": "ClusterRole", "metadata": metadata, "rules": [rule],
    })  # fmt: skip
    await cluster.client.create({
        "apiVersion": f"{RBAC}/v1", "kind": "ClusterRoleBinding", "metadata": metadata, "roleRef": of,
        "subjects": [subject],
    })  # fmt: skip


def account(cluster: ClusterUnderTest) -> Client:
    return Client(cluster.embedded.transport(ACCOUNT))


async def test_a_first_list_that_is_denied_is_told_of_now_and_then_until_it_is_granted(
    cluster: ClusterUnderTest, virtual_time: VirtualTime, caplog: pytest.LogCaptureFixture
) -> None:
    manager = Manager(account(cluster), [reading])
    async with asyncio.TaskGroup() as group:
        group.create_task(manager.run())
        await passing(120)
        told = [vars(record) for record in caplog.records if record.getMessage() == FIRST]
        assert 4 <= len(told) <= 13
        assert told[0]["kind"] == "v1, Kind=ConfigMap"
        assert 'cannot list resource "configmaps"' in told[0]["why"]
        assert "`attractor manifests` prints the rights" in told[0]["why"]
        assert not manager.is_ready
        await grant(cluster, "", "configmaps", "get", "list", "watch")
        await manager.wait_running()
        assert manager.health.answer("GET /readyz HTTP/1.1")[0] == 200
        manager.stop()


async def test_a_process_that_may_not_read_its_lease_is_not_ready_and_says_why(
    cluster: ClusterUnderTest, virtual_time: VirtualTime
) -> None:
    await grant(cluster, "", "configmaps", "get", "list", "watch")
    election = Election("reading", "default", "one")
    manager = Manager(account(cluster), [reading], election=election, health=("127.0.0.1", 0))
    async with asyncio.TaskGroup() as group:
        group.create_task(manager.run())
        await passing(60)
        code, _, body = manager.health.answer("GET /readyz HTTP/1.1")
        assert code == 503
        assert b'[-]leader-election failed: leases.coordination.k8s.io "reading" is forbidden' in body
        await grant(cluster, "coordination.k8s.io", "leases", "get", "create", "update")
        await manager.wait_running()
        assert manager.health.answer("GET /readyz HTTP/1.1") == (200, "text/plain; charset=utf-8", b"ok")
        manager.stop()


async def test_a_lease_in_a_namespace_that_does_not_exist_is_told_of_and_not_asked_for_all_the_time(
    cluster: ClusterUnderTest, virtual_time: VirtualTime
) -> None:
    manager = cluster.manager(reading, election=Election("reading", "nowhere", "one"))
    async with asyncio.TaskGroup() as group:
        group.create_task(manager.run())
        await passing(60)
        assert not manager.is_ready
        assert b'[-]leader-election failed: namespaces "nowhere" not found' in manager.health.answer("GET /readyz")[2]
        assert cluster.requests.count("create", "leases") <= 31
        await cluster.client.create(Namespace(metadata=ObjectMeta(name="nowhere")))
        await manager.wait_running()
        manager.stop()


async def test_a_reconcile_that_does_what_it_did_not_declare_is_told_how_to(
    cluster: ClusterUnderTest, caplog: pytest.LogCaptureFixture
) -> None:
    @controller(name="deleting", for_=ConfigMap)
    async def deleting(ctx: Context, key: Key) -> None:
        if key.namespace == "default":
            await ctx.delete(await ctx.get(ConfigMap, key))

    async with cluster.running(deleting, only_granted=True):
        await cluster.client.create(ConfigMap(metadata=ObjectMeta(name="a", namespace="default")))
        await eventually(lambda: any(record.message == "reconcile failed" for record in caplog.records))
    failed = vars(next(record for record in caplog.records if record.message == "reconcile failed"))
    assert 'cannot delete resource "configmaps"' in failed["error"]
    assert "declare what is needed with permissions=[Permission(...)]" in failed["hint"]
