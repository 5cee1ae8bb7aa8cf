"""Replica sets keep as many Executables as are wanted, with real processes."""

import pytest

from attractor.objects.errors import Invalid
from attractor.objects.gvk import Key
from attractor.objects.resource import ObjectMeta
from attractor.operators.devplane.api.executables import (
    Executable,
    ExecutableReplicaSet,
    ExecutableReplicaSetSpec,
    ExecutableSpec,
    ExecutableTemplate,
    TemplateMeta,
)
from attractor.testing import eventually
from tests.operators.devplane.planes import FOREVER, Plane, family

KEY = Key("default", "web")


def replica_set(replicas: int, script: str = FOREVER, name: str = KEY.name) -> ExecutableReplicaSet:
    """A set of shell scripts."""
    template = ExecutableTemplate(
        metadata=TemplateMeta(labels={"app": "web"}, annotations={"note": "kept"}),
        spec=ExecutableSpec(command=["sh", "-c", script], stop_grace_seconds=1),
    )
    spec = ExecutableReplicaSetSpec(replicas=replicas, template=template)
    return ExecutableReplicaSet(metadata=ObjectMeta(name=name, namespace=KEY.namespace), spec=spec)


async def running(plane: Plane, count: int) -> list[Executable]:
    """The replicas, as soon as so many run, and no others are there, and the set says so."""

    async def found() -> bool:
        owner = await plane.cluster.client.get(ExecutableReplicaSet, KEY)
        replicas = await plane.cluster.client.list(Executable, KEY.namespace)
        assert [one.status.phase for one in replicas] == ["Running"] * count
        assert (owner.status.replicas, owner.status.running_replicas) == (count, count)
        assert (owner.status.health, owner.status.message) == ("Healthy", "")
        return True

    await eventually(found, within_s=30)
    return await plane.cluster.client.list(Executable, KEY.namespace)


async def test_a_set_is_scaled_up_and_down(plane: Plane) -> None:
    client = plane.cluster.client
    await client.create(replica_set(1))
    first = await running(plane, 1)
    await client.patch(ExecutableReplicaSet, KEY, {"spec": {"replicas": 3}})
    three = await running(plane, 3)
    assert [one.metadata.name for one in three] == ["web-0", "web-1", "web-2"]
    assert len({one.status.pid for one in three}) == 3
    await client.patch(ExecutableReplicaSet, KEY, {"spec": {"replicas": 1}})
    assert [one.metadata.uid for one in await running(plane, 1)] == [first[0].metadata.uid]
    assert [pid for one in three[1:] for pid in family(one.metadata.uid)] == []


async def test_a_replica_has_labels_annotations_and_owner(plane: Plane) -> None:
    made = await plane.cluster.client.create(replica_set(1))
    (one,) = await running(plane, 1)
    assert one.metadata.labels == {"app": "web", "dev.attractor.dev/replica-set": "web"}
    assert one.metadata.annotations == {"note": "kept"}
    assert one.metadata.controller is not None
    assert one.metadata.controller.uid == made.metadata.uid


async def test_it_is_scaled_by_its_subresource(plane: Plane) -> None:
    client = plane.cluster.client
    await client.create(replica_set(1))
    await running(plane, 1)
    await client.scale(ExecutableReplicaSet, KEY, 2)
    await running(plane, 2)
    assert (await client.get(ExecutableReplicaSet, KEY)).status.selector == "dev.attractor.dev/replica-set=web"


async def test_a_deleted_replica_is_replaced(plane: Plane) -> None:
    await plane.cluster.client.create(replica_set(2))
    before = await running(plane, 2)
    await plane.cluster.client.delete(Executable, Key("default", "web-0"))

    async def is_replaced() -> bool:
        return (await plane.get("web-0")).metadata.uid != before[0].metadata.uid

    await eventually(is_replaced, within_s=30)
    after = await running(plane, 2)
    assert after[1].metadata.uid == before[1].metadata.uid
    assert family(before[0].metadata.uid) == []


async def test_a_change_of_the_template_is_for_new_replicas_only(plane: Plane) -> None:
    client = plane.cluster.client
    await client.create(replica_set(1))
    await running(plane, 1)
    other = ["sh", "-c", f": other; {FOREVER}"]
    change = {"spec": {"replicas": 2, "template": {"spec": {"command": other}}}}
    await client.patch(ExecutableReplicaSet, KEY, change)
    assert [one.spec.command == other for one in await running(plane, 2)] == [False, True]


async def test_deleting_a_set_removes_its_executables_and_their_processes(plane: Plane) -> None:
    client = plane.cluster.client
    await client.create(replica_set(2))
    replicas = await running(plane, 2)
    await client.delete(ExecutableReplicaSet, KEY)

    async def are_gone() -> bool:
        return not await client.list(Executable, KEY.namespace)

    await eventually(are_gone, within_s=30)
    assert [pid for one in replicas for pid in family(one.metadata.uid)] == []
    assert plane.records == []


async def test_replicas_that_ended_are_counted_and_not_replaced(plane: Plane) -> None:
    await plane.cluster.client.create(replica_set(2, "exit 0"))

    async def have_finished() -> bool:
        status = (await plane.cluster.client.get(ExecutableReplicaSet, KEY)).status
        return (status.replicas, status.finished_replicas, status.health) == (2, 2, "Caution")

    await eventually(have_finished, within_s=30)


async def test_an_executable_that_is_in_the_way_is_named_and_left_alone(plane: Plane) -> None:
    theirs = await plane.create("web-0")
    await plane.cluster.client.create(replica_set(1))

    async def is_said() -> bool:
        status = (await plane.cluster.client.get(ExecutableReplicaSet, KEY)).status
        return "web-0 is in the way" in status.message and status.replicas == 0

    await eventually(is_said, within_s=30)
    assert (await plane.get("web-0")).metadata.uid == theirs.metadata.uid


async def test_a_name_that_is_too_long_for_a_label_is_refused(plane: Plane) -> None:
    with pytest.raises(Invalid, match="at most 57 letters"):
        await plane.cluster.client.create(replica_set(1, name="w" * 58))
