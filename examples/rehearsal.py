"""A bad day on purpose: a controller and its tests, with lost answers, conflicts, dead watches and a slow hour.

    pytest examples/rehearsal.py

Shows: the ``attractor_cluster`` fixture, virtual time, ``eventually``, faults at the client, the log of every request.
"""

import asyncio

from attractor import Context, Key, ObjectMeta, Resource, Result, Struct, controller
from attractor.k8s import ConfigMap
from attractor.testing import ClusterUnderTest, VirtualTime, eventually
from attractor.toolkit import set_controller

A = Key("default", "a")


class NoteSpec(Struct):
    """What it says."""

    text: str = ""


class Note(Resource, group="examples.attractor.dev", version="v1"):
    """A note, shown in a ConfigMap of its name."""

    spec: NoteSpec


@controller(for_=Note, owns=[ConfigMap])
async def notes(ctx: Context, key: Key) -> Result | None:
    """Show the note, and look again every hour."""
    note = await ctx.find(Note, key)
    if note is None or note.metadata.is_deleting:
        return None
    made = ConfigMap(metadata=ObjectMeta(namespace=key.namespace, name=key.name), data={"text": note.spec.text})
    set_controller(note, made)
    found = await ctx.find(ConfigMap, key)
    if found is None:
        await ctx.create(made)
    elif found.data != made.data:
        found.data = made.data
        await ctx.update(found)
    return Result(requeue_after_s=3600)


async def shows(cluster: ClusterUnderTest, text: str) -> bool:
    """Whether the ConfigMap says it."""
    return (await cluster.client.get(ConfigMap, A)).data == {"text": text}


async def test_a_bad_day(attractor_cluster: ClusterUnderTest, virtual_time: VirtualTime) -> None:
    """Whatever is lost on the way, the note is shown; and it is created once."""
    cluster = attractor_cluster
    cluster.faults.lost_answer("create", "configmaps")
    async with cluster.running(notes) as manager:
        await cluster.client.create(Note(metadata=ObjectMeta(name="a", namespace="default"), spec=NoteSpec(text="hi")))
        await eventually(lambda: shows(cluster, "hi"))
        assert cluster.requests.count("create", "configmaps") == 1
        cluster.faults.conflict("update", "configmaps", times=2)
        cluster.faults.cut_watches("notes")
        await cluster.client.patch(Note, A, {"spec": {"text": "ho"}})
        await eventually(lambda: shows(cluster, "ho"))
        runs = manager.metrics.reconciles.value("notes", "requeue_after")
        began_s = virtual_time.time()
        await asyncio.sleep(7200)  # takes no time
        assert round(virtual_time.time() - began_s) == 7200
        assert manager.metrics.reconciles.value("notes", "requeue_after") >= runs + 2
