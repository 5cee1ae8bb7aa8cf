"""``patch`` sends what it is given; ``patch_from`` writes what differs. Context and client mean the same by both."""

from __future__ import annotations

from typing import Any

import pytest

from attractor import Conflict, Context, EmbeddedCluster, Key, ObjectMeta, Resource, Struct
from attractor.k8s import ConfigMap
from attractor.runtime import effects

A = Key("default", "a")


class LampSpec(Struct):
    watts: int = 1


class LampStatus(Struct):
    lit: bool = False


class Lamp(Resource, group="example.org", version="v1"):
    spec: LampSpec
    status: LampStatus | None = None


def lamp(version: str = "7", watts: int = 1, lit: bool | None = None) -> Lamp:
    status = None if lit is None else LampStatus(lit=lit)
    metadata = ObjectMeta(name="a", namespace="default", resource_version=version)
    return Lamp(metadata=metadata, spec=LampSpec(watts=watts), status=status)


def config(name: str = "a", **data: str) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name, namespace="default"), data=data)


CTX = Context("lamps", A)


def test_the_context_writes_what_differs_guarded_by_the_version_that_was_read() -> None:
    effect = CTX.patch_from(lamp(), lamp(watts=2, lit=True))
    body = {"spec": {"watts": 2}, "metadata": {"resourceVersion": "7"}}
    assert effect == effects.Patch(Lamp, A, body, "merge", "")


def test_the_subresource_status_is_the_status_and_nothing_else() -> None:
    effect = CTX.patch_from(lamp(), lamp(watts=2, lit=True), subresource="status")
    assert effect.body == {"status": {"lit": True}, "metadata": {"resourceVersion": "7"}}
    assert effect.subresource == "status"


@pytest.mark.parametrize(
    ("given", "problem", "text"),
    [
        ((lamp(),) * 2, ValueError, "change a deep_copy"),
        ((lamp(), lamp(lit=True)), ValueError, r"only the status of Lamp differs.*subresource=\"status\""),
        ((lamp(version=""), lamp(version="", watts=2)), ValueError, "Lamp default/a has no resourceVersion"),
        ((config("a"), config("b")), ValueError, "two copies of one object, not ConfigMap default/a and ConfigMap"),
        ((lamp(), config("a")), ValueError, "two copies of one object"),
        ((Lamp, A), TypeError, r"takes an object as it was read and a changed copy.*patch\(kind, key, body\)"),
    ],
    ids=["same", "status", "unread", "names", "kinds", "raw"],
)
async def test_what_is_no_pair_of_copies_is_refused_alike(given: Any, problem: type[Exception], text: str) -> None:
    with pytest.raises(problem, match=text):
        CTX.patch_from(*given)
    async with EmbeddedCluster() as cluster, cluster.client() as client:
        with pytest.raises(problem, match=text):
            await client.patch_from(*given)


async def test_two_objects_are_no_patch() -> None:
    with pytest.raises(TypeError, match=r"ctx\.patch takes a kind, a key and a body; .* ctx\.patch_from"):
        CTX.patch(lamp(), lamp(watts=2))  # type: ignore[call-overload]
    async with EmbeddedCluster() as cluster, cluster.client() as client:
        with pytest.raises(TypeError, match=r"client\.patch takes a kind, a key and a body; .* client\.patch_from"):
            await client.patch(config(), config(x="1"))  # type: ignore[call-overload]
        with pytest.raises(ValueError, match=r"merge, json or strategic, not 'apply'; client\.apply"):
            await client.patch(ConfigMap, A, {}, type="apply")  # type: ignore[call-overload]


async def test_a_patch_is_sent_as_it_is_in_each_of_its_types() -> None:
    async with EmbeddedCluster() as cluster, cluster.client() as client:
        await client.create(config(x="1"))
        merged = await client.patch(ConfigMap, A, {"data": {"y": "2"}})
        assert merged.data == {"x": "1", "y": "2"}
        added = [{"op": "remove", "path": "/data/x"}]
        assert (await client.patch(ConfigMap, A, added, type="json")).data == {"y": "2"}
        strategic = await client.patch(ConfigMap, A, {"data": {"y": None}}, type="strategic")
        assert not strategic.data


async def test_a_difference_from_what_is_no_longer_stored_is_a_conflict() -> None:
    async with EmbeddedCluster() as cluster, cluster.client() as client:
        read = await client.create(config(x="1"))
        changed = read.deep_copy()
        changed.data = {"x": "2"}
        await client.patch(ConfigMap, A, {"data": {"x": "theirs"}})
        with pytest.raises(Conflict):
            await client.patch_from(read, changed)
        assert (await client.patch_from(read, changed, optimistic_lock=False)).data == {"x": "2"}
        assert await client.patch_from(changed, changed.deep_copy()) == changed
