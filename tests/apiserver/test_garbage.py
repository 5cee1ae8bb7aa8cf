"""Garbage collection, the end of namespaces and of custom kinds, driven to rest."""

from collections.abc import Iterable
from contextlib import suppress
from typing import Any

import pytest

from attractor.apiserver.controllers.garbage import plan_garbage
from attractor.apiserver.controllers.termination import plan_definitions, plan_namespaces
from attractor.apiserver.kinds.custom.registry import find_custom
from attractor.apiserver.kinds.registry import builtin_kind
from attractor.apiserver.kinds.served_kind import Kind
from attractor.apiserver.request.operation import Operation
from attractor.objects.errors import Conflict, NotFound
from attractor.store.contract import Snapshot
from tests.apiserver.conftest import CONFIGMAPS, WIDGETS, Answer, Api


def kinds_in(api: Api) -> list[Kind]:
    """ConfigMaps, namespaces, and widgets once they are defined."""
    found = [builtin_kind("", "v1", "configmaps"), builtin_kind("", "v1", "namespaces")]
    txn = api.server.transaction(api.server.store.snapshot_nowait())
    found.append(find_custom(txn, "example.org", "v1", "widgets"))
    return [kind for kind in found if kind]


def plan(api: Api, snapshot: Snapshot) -> Iterable[Operation]:
    kinds = kinds_in(api)
    yield from plan_garbage(snapshot, {kind.group_kind: kind for kind in kinds})
    yield from plan_namespaces(snapshot, kinds)
    yield from plan_definitions(snapshot, "2026-01-01T00:00:00Z")


async def settle(api: Api) -> int:
    """Carry out plans until there is nothing left to do; how many operations it took."""
    for done in range(100):
        operations = list(plan(api, api.server.store.snapshot_nowait()))
        if not operations:
            return done
        for operation in operations:
            # An earlier operation of this plan may have made it moot; the next plan sees what is left.
            with suppress(Conflict, NotFound):
                await api.server.perform(operation)
    raise AssertionError("garbage collection does not come to rest")


def owned_by(owner: Answer, **extra: Any) -> dict[str, Any]:
    kind, api_version = owner.body["kind"], owner.body["apiVersion"]
    metadata = owner.metadata
    reference = {"kind": kind, "apiVersion": api_version, "name": metadata["name"], "uid": metadata["uid"], **extra}
    return {"ownerReferences": [reference]}


async def names(api: Api) -> list[str]:
    return (await api.get(CONFIGMAPS)).names


async def test_dependents_go_after_their_owner(api: Api) -> None:
    owner = await api.create(CONFIGMAPS, "owner")
    child = await api.create(CONFIGMAPS, "child", metadata=owned_by(owner))
    await api.create(CONFIGMAPS, "grandchild", metadata=owned_by(child))
    await api.create(CONFIGMAPS, "stranger")
    assert await settle(api) == 0
    await api.delete(f"{CONFIGMAPS}/owner")
    await settle(api)
    assert await names(api) == ["stranger"]


async def test_owner_recreated_under_the_same_name_is_not_the_owner(api: Api) -> None:
    owner = await api.create(CONFIGMAPS, "owner")
    await api.create(CONFIGMAPS, "child", metadata=owned_by(owner))
    await api.delete(f"{CONFIGMAPS}/owner")
    await api.create(CONFIGMAPS, "owner")
    await settle(api)
    assert await names(api) == ["owner"]


async def test_object_stays_while_one_of_its_owners_does(api: Api) -> None:
    one, two = await api.create(CONFIGMAPS, "one"), await api.create(CONFIGMAPS, "two")
    owners = [*owned_by(one)["ownerReferences"], *owned_by(two)["ownerReferences"]]
    await api.create(CONFIGMAPS, "child", metadata={"ownerReferences": owners})
    await api.delete(f"{CONFIGMAPS}/one")
    await settle(api)
    child = await api.get(f"{CONFIGMAPS}/child")
    assert [owner["name"] for owner in child.metadata["ownerReferences"]] == ["two"]


async def test_foreground_delete_waits_for_dependents_that_block_it(api: Api) -> None:
    owner = await api.create(CONFIGMAPS, "owner")
    held = owned_by(owner, blockOwnerDeletion=True) | {"finalizers": ["example.org/x"]}
    await api.create(CONFIGMAPS, "child", metadata=held)
    await api.delete(f"{CONFIGMAPS}/owner", propagationPolicy="Foreground")
    await settle(api)
    assert await names(api) == ["child", "owner"]
    await api.merge(f"{CONFIGMAPS}/child", {"metadata": {"finalizers": None}})
    await settle(api)
    assert await names(api) == []


async def test_orphan_delete_leaves_dependents_without_an_owner(api: Api) -> None:
    owner = await api.create(CONFIGMAPS, "owner")
    await api.create(CONFIGMAPS, "child", metadata=owned_by(owner))
    await api.delete(f"{CONFIGMAPS}/owner", propagationPolicy="Orphan")
    await settle(api)
    assert await names(api) == ["child"]
    assert "ownerReferences" not in (await api.get(f"{CONFIGMAPS}/child")).metadata


async def test_owner_in_another_namespace_is_no_owner(api: Api) -> None:
    owner = await api.create("/api/v1/namespaces/kube-system/configmaps", "owner")
    await api.create(CONFIGMAPS, "child", metadata=owned_by(owner))
    await settle(api)
    assert await names(api) == []


@pytest.mark.parametrize("held", [False, True])
async def test_namespace_goes_after_its_contents(api: Api, *, held: bool) -> None:
    await api.create("/api/v1/namespaces", "team")
    finalizers = {"finalizers": ["example.org/x"]} if held else {}
    await api.create("/api/v1/namespaces/team/configmaps", "c", metadata=finalizers)
    await api.delete("/api/v1/namespaces/team")
    await settle(api)
    assert (await api.get("/api/v1/namespaces/team")).code == (200 if held else 404)
    if held:
        await api.merge("/api/v1/namespaces/team/configmaps/c", {"metadata": {"finalizers": None}})
        await settle(api)
        assert (await api.get("/api/v1/namespaces/team")).code == 404


async def test_deleting_a_definition_deletes_its_objects_first(api: Api) -> None:
    await api.define_widgets()
    await api.create(WIDGETS, "w", metadata={"finalizers": ["example.org/x"]})
    definition = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.org"
    await api.delete(definition)
    await settle(api)
    assert (await api.get(definition)).code == 200
    await api.merge(f"{WIDGETS}/w", {"metadata": {"finalizers": None}})
    await settle(api)
    assert (await api.get(definition)).code == 404
    assert (await api.get(WIDGETS)).code == 404


@pytest.mark.parametrize("length", [1, 2, 3, 5])
@pytest.mark.parametrize("deleted", ["one", "all"])
async def test_a_circle_of_owners_that_is_deleted_in_the_foreground_goes(api: Api, length: int, deleted: str) -> None:
    made = [await api.create(CONFIGMAPS, f"c{n}") for n in range(length)]
    for n in range(length):
        owner = owned_by(made[n - 1], blockOwnerDeletion=True)
        patched = await api.merge(f"{CONFIGMAPS}/c{n}", {"metadata": owner})
        assert patched.code == 200
    for n in range(length if deleted == "all" else 1):
        await api.delete(f"{CONFIGMAPS}/c{n}", propagationPolicy="Foreground")
    await settle(api)
    assert await names(api) == []


async def test_an_owner_that_goes_leaves_the_other_references_as_they_are(api: Api) -> None:
    first, second = await api.create(CONFIGMAPS, "first"), await api.create(CONFIGMAPS, "second")
    references = [
        *owned_by(first)["ownerReferences"],
        *owned_by(second, controller=True, blockOwnerDeletion=True)["ownerReferences"],
    ]
    await api.create(CONFIGMAPS, "child", metadata={"ownerReferences": references})
    await api.delete(f"{CONFIGMAPS}/first")
    await settle(api)
    child = await api.get(f"{CONFIGMAPS}/child")
    assert child.metadata["ownerReferences"] == references[1:]
