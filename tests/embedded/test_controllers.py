"""The loop that drives the planners: ownership, namespaces and custom kinds come to rest by themselves."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import orjson
import pytest

from attractor.apiserver.core import Request
from attractor.apiserver.request.caller import User
from attractor.embedded import EmbeddedCluster
from attractor.embedded.controllers import CONTROLLERS, UnknownController, chosen, kinds_in

ADMIN = User("admin", groups=("system:masters",))
CONFIGMAPS = "/api/v1/namespaces/default/configmaps"


async def call(cluster: EmbeddedCluster, method: str, path: str, body: Any = None) -> tuple[int, Any]:
    data = b"" if body is None else orjson.dumps(body)
    response = await cluster.server.handle(
        Request(method, path, body=data, content_type="application/json", user=ADMIN)
    )
    return response.code, response.json()


async def until_gone(cluster: EmbeddedCluster, path: str) -> None:
    """Wait for the events of the store until a path leads nowhere."""
    async with asyncio.timeout(10), cluster.store.watch("", after=cluster.store.revision) as watch:
        while (await call(cluster, "GET", path))[0] != 404:
            await anext(watch)


def owned(name: str, owner: dict[str, Any]) -> dict[str, Any]:
    metadata = owner["metadata"]
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": metadata["name"], "uid": metadata["uid"]}
    return {"metadata": {"name": name, "ownerReferences": [reference]}}


@pytest.fixture
async def cluster() -> AsyncIterator[EmbeddedCluster]:
    async with EmbeddedCluster() as running:
        yield running


async def test_what_an_object_owned_goes_after_it(cluster: EmbeddedCluster) -> None:
    _, owner = await call(cluster, "POST", CONFIGMAPS, {"metadata": {"name": "owner"}})
    _, child = await call(cluster, "POST", CONFIGMAPS, owned("child", owner))
    await call(cluster, "POST", CONFIGMAPS, owned("grandchild", child))
    await call(cluster, "DELETE", f"{CONFIGMAPS}/owner")
    await until_gone(cluster, f"{CONFIGMAPS}/grandchild")
    assert (await call(cluster, "GET", f"{CONFIGMAPS}/child"))[0] == 404


async def test_a_namespace_is_emptied_and_then_goes(cluster: EmbeddedCluster) -> None:
    await call(cluster, "POST", "/api/v1/namespaces", {"metadata": {"name": "shop"}})
    await call(cluster, "POST", "/api/v1/namespaces/shop/configmaps", {"metadata": {"name": "a"}})
    await call(cluster, "DELETE", "/api/v1/namespaces/shop")
    await until_gone(cluster, "/api/v1/namespaces/shop")
    assert not cluster.store.snapshot_nowait().count("core/configmaps/shop/")


async def test_a_controller_that_is_switched_off_does_nothing() -> None:
    async with EmbeddedCluster(controllers=("garbage-collector",)) as cluster:
        await call(cluster, "POST", "/api/v1/namespaces", {"metadata": {"name": "shop"}})
        await call(cluster, "DELETE", "/api/v1/namespaces/shop")
        _, owner = await call(cluster, "POST", CONFIGMAPS, {"metadata": {"name": "owner"}})
        await call(cluster, "POST", CONFIGMAPS, owned("child", owner))
        await call(cluster, "DELETE", f"{CONFIGMAPS}/owner")
        await until_gone(cluster, f"{CONFIGMAPS}/child")
        code, namespace = await call(cluster, "GET", "/api/v1/namespaces/shop")
        assert (code, namespace["status"]["phase"]) == (200, "Terminating")


DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
GADGETS = "/apis/example.org/v1/namespaces/default/gadgets"


def gadgets() -> dict[str, Any]:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": "gadgets", "singular": "gadget", "kind": "Gadget"}
    spec = {"group": "example.org", "scope": "Namespaced", "names": names, "versions": [version]}
    return {"metadata": {"name": "gadgets.example.org"}, "spec": spec}


def gadget(name: str, *finalizers: str) -> dict[str, Any]:
    metadata = {"name": name, "finalizers": list(finalizers)}
    return {"apiVersion": "example.org/v1", "kind": "Gadget", "metadata": metadata}


async def test_a_definition_ends_with_its_objects_though_no_controller_was_chosen() -> None:
    async with EmbeddedCluster(controllers=()) as cluster:
        await call(cluster, "POST", DEFINITIONS, gadgets())
        await call(cluster, "POST", GADGETS, gadget("a"))
        await call(cluster, "DELETE", f"{DEFINITIONS}/gadgets.example.org")
        await until_gone(cluster, f"{DEFINITIONS}/gadgets.example.org")
        assert not cluster.store.snapshot_nowait().count("example.org/")


async def test_a_definition_that_waits_for_a_finalizer_says_so_and_takes_nothing_new() -> None:
    async with EmbeddedCluster(controllers=()) as cluster:
        await call(cluster, "POST", DEFINITIONS, gadgets())
        await call(cluster, "POST", GADGETS, gadget("held", "example.org/hold"))
        await call(cluster, "POST", GADGETS, gadget("free"))
        await call(cluster, "DELETE", f"{DEFINITIONS}/gadgets.example.org")
        await until_gone(cluster, f"{GADGETS}/free")
        _, definition = await call(cluster, "GET", f"{DEFINITIONS}/gadgets.example.org")
        assert definition["status"]["conditions"][-1]["reason"] == "InstanceDeletionInProgress"
        code, refusal = await call(cluster, "POST", GADGETS, gadget("late"))
        assert (code, refusal["reason"]) == (403, "Forbidden")


async def test_work_that_was_left_over_is_done_at_the_next_start(tmp_path: Any) -> None:
    store = f"sqlite:{tmp_path / 'cluster.db'}"
    async with EmbeddedCluster(store, controllers=()) as cluster:
        await call(cluster, "POST", "/api/v1/namespaces", {"metadata": {"name": "shop"}})
        await call(cluster, "DELETE", "/api/v1/namespaces/shop")
    async with EmbeddedCluster(store) as cluster:
        await until_gone(cluster, "/api/v1/namespaces/shop")


async def test_a_controller_catches_up_after_the_history_it_needed_was_compacted(cluster: EmbeddedCluster) -> None:
    for number in range(20):
        name = f"shop-{number}"
        await call(cluster, "POST", "/api/v1/namespaces", {"metadata": {"name": name}})
        await call(cluster, "DELETE", f"/api/v1/namespaces/{name}")
        await cluster.store.compact(cluster.store.revision)
    for number in range(20):
        await until_gone(cluster, f"/api/v1/namespaces/shop-{number}")


async def test_only_kinds_that_have_objects_are_looked_at() -> None:
    async with EmbeddedCluster(controllers=()) as cluster:
        await call(cluster, "POST", CONFIGMAPS, {"metadata": {"name": "a"}})
        found = set(kinds_in(cluster.store.snapshot_nowait()))
    group = "rbac.authorization.k8s.io"
    assert found == {("", "configmaps"), ("", "namespaces"), (group, "clusterroles"), (group, "clusterrolebindings")}


def test_controllers_are_chosen_by_name() -> None:
    assert chosen("all") == CONTROLLERS
    assert chosen("none") == ()
    assert chosen("crds, namespaces") == ("crds", "namespaces")
    for wrong in ("", "gc", "crds,gc"):
        with pytest.raises(UnknownController, match="garbage-collector, namespaces, crds, service-accounts"):
            chosen(wrong)


async def until(cluster: EmbeddedCluster, path: str, test: Callable[[Any], bool]) -> Any:
    """Wait for the events of the store until what is at a path is as it should be."""
    async with asyncio.timeout(10), cluster.store.watch("", after=cluster.store.revision) as watch:
        while True:
            code, body = await call(cluster, "GET", path)
            if code == 200 and test(body):
                return body
            await anext(watch)


async def test_every_namespace_gets_an_account_and_the_authority_and_gets_them_back() -> None:
    async with EmbeddedCluster(root_ca="PEM") as cluster:
        await call(cluster, "POST", "/api/v1/namespaces", {"metadata": {"name": "shop"}})
        account = "/api/v1/namespaces/shop/serviceaccounts/default"
        first = await until(cluster, account, lambda body: True)
        await call(cluster, "DELETE", account)
        await until(cluster, account, lambda body: bool(body["metadata"]["uid"] != first["metadata"]["uid"]))
        authority = "/api/v1/namespaces/shop/configmaps/kube-root-ca.crt"
        found = await until(cluster, authority, lambda body: True)
        await call(cluster, "PUT", authority, {**found, "data": {"ca.crt": "forged"}})
        await until(cluster, authority, lambda body: bool(body["data"] == {"ca.crt": "PEM"}))
        await call(cluster, "DELETE", "/api/v1/namespaces/shop")
        await until_gone(cluster, "/api/v1/namespaces/shop")
