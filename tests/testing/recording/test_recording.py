"""Recorded runs: what is written, what is not, and whether a world admits them."""

import asyncio
import io
from collections.abc import Awaitable, Callable
from dataclasses import replace

import orjson
import pytest

from attractor import Context, Key, ObjectMeta, controller
from attractor.check.world import Delete, Edit, Faults, World
from attractor.objects.builtin.core_v1 import ConfigMap, Secret
from attractor.runtime import Controller
from attractor.testing import ClusterUnderTest, VirtualTime, eventually
from attractor.testing.recording import BadRecording, Recorder, Recording
from attractor.testing.recording.following import follow
from attractor.testing.recording.recorder import LIMIT_BYTES
from attractor.testing.recording.redaction import redacted
from tests.check.world.pairs import KEY, Pair, naive, pair, pairs

EDIT = Edit(Pair, KEY, spec=[{"text": "x"}, {"text": "y"}])
CHILDREN = [Key("default", "a-1"), Key("default", "a-2")]

Script = Callable[[ClusterUnderTest], Awaitable[None]]


async def recorded(
    cluster: ClusterUnderTest, controller: Controller, script: Script, limit_bytes: int = LIMIT_BYTES
) -> bytes:
    """What is recorded while a controller runs and a script is carried out."""
    file = io.BytesIO()
    recorder = Recorder(file, limit_bytes=limit_bytes)
    await cluster.install(Pair)
    await cluster.client.create(pair())
    await cluster.client.create(ConfigMap(metadata=ObjectMeta(name="stranger", namespace="default")))
    client = cluster.controller_client()
    client.transport = recorder.listening(client.transport)
    async with cluster.manager(recorder.watching(controller), client=client).running():
        await script(cluster)
    return file.getvalue()


async def texts(cluster: ClusterUnderTest) -> list[str]:
    return [(await cluster.client.get(ConfigMap, key)).data["text"] for key in CHILDREN]


async def convergence(cluster: ClusterUnderTest) -> None:
    async def both() -> bool:
        return await texts(cluster) == ["x", "x"]

    await eventually(both)


async def an_edit(cluster: ClusterUnderTest) -> None:
    await convergence(cluster)
    await cluster.client.merge_patch(Pair, KEY, {"spec": {"text": "y"}})

    async def both() -> bool:
        return await texts(cluster) == ["y", "y"]

    await eventually(both)


def read(data: bytes) -> Recording:
    return Recording.read(data.splitlines(keepends=True))


async def test_a_world_admits_what_its_controller_did(cluster: ClusterUnderTest, virtual_time: VirtualTime) -> None:
    recording = read(await recorded(cluster, pairs, an_edit))
    found = follow(World([pairs], [pair()], [EDIT]), recording)
    assert found.is_admitted, found
    assert found.lines == len(recording.happenings)
    assert found.ignored == 1, "a ConfigMap that nobody touched"


async def test_a_world_without_the_user_departs_where_the_edit_is_seen(
    cluster: ClusterUnderTest, virtual_time: VirtualTime
) -> None:
    recording = read(await recorded(cluster, pairs, an_edit))
    found = follow(World([pairs], [pair()]), recording)
    assert found.departure is not None
    assert found.departure.endswith("the cache was told MODIFIED pairs a")


async def test_a_world_of_another_controller_departs_where_it_asks_something_else(
    cluster: ClusterUnderTest, virtual_time: VirtualTime
) -> None:
    recording = read(await recorded(cluster, pairs, convergence))
    found = follow(World([replace(naive, name="pairs")], [pair()]), recording)
    assert found.departure is not None
    assert "answer of pairs default/a to `get configmap default/a-2`" in found.departure
    assert found.instead == ("create configmap default/a-2 -> ok; ends",)


async def test_a_world_with_another_beginning_departs_at_the_first_list(
    cluster: ClusterUnderTest, virtual_time: VirtualTime
) -> None:
    recording = read(await recorded(cluster, pairs, convergence))
    found = follow(World([pairs], [pair(text="z")]), recording)
    assert found.departure is not None
    assert "pairs were listed: 1 objects" in found.departure


async def test_a_lost_answer_is_admitted_where_the_world_may_lose_one(
    cluster: ClusterUnderTest, virtual_time: VirtualTime
) -> None:
    cluster.faults.lost_answer("create", "configmaps", name="")
    recording = read(await recorded(cluster, pairs, convergence))
    assert follow(World([pairs], [pair()], faults=Faults(lost_answer=1)), recording).is_admitted
    assert not follow(World([pairs], [pair()]), recording).is_admitted


async def test_a_deletion_with_its_garbage_is_admitted(cluster: ClusterUnderTest, virtual_time: VirtualTime) -> None:
    async def deletion(cluster: ClusterUnderTest) -> None:
        await convergence(cluster)
        await cluster.client.delete(Pair, KEY)
        await eventually(lambda: _none_left(cluster))

    async def _none_left(cluster: ClusterUnderTest) -> bool:
        return not [one for one in await cluster.client.list(ConfigMap, "default") if one.key in CHILDREN]

    recording = read(await recorded(cluster, pairs, deletion))
    assert follow(World([pairs], [pair()], [Delete(Pair, KEY)]), recording).is_admitted


@controller(for_=Pair)
async def keeper(ctx: Context, key: Key) -> None:
    """Keeps a Secret."""
    if await ctx.find(Secret, key) is None:
        made = Secret(metadata=ObjectMeta(name=key.name, namespace=key.namespace), string_data={"password": "hunter2"})
        await ctx.create(made)
    await ctx.patch(Secret, key, {"stringData": {"password": "hunter3"}})
    await ctx.list(Secret)


async def test_contents_of_secrets_are_never_written(cluster: ClusterUnderTest, virtual_time: VirtualTime) -> None:
    async def until_kept(cluster: ClusterUnderTest) -> None:
        await eventually(lambda: cluster.client.get(Secret, KEY))
        await asyncio.sleep(0)

    data = await recorded(cluster, keeper, until_kept)
    assert b"hunter" not in data
    assert b"aHVudGVy" not in data, "nor in base64"
    assert b"REDACTED" in data


def test_patches_tokens_and_copies_of_secrets_are_redacted_too() -> None:
    assert redacted([{"op": "add", "path": "/data/x", "value": "s"}], is_secret=True) == [
        {"op": "add", "path": "/data/x", "value": "REDACTED"}
    ]
    assert redacted({"kind": "TokenRequest", "status": {"token": "t", "x": 1}})["status"]["token"] == "REDACTED"
    applied = {"kubectl.kubernetes.io/last-applied-configuration": "hunter2"}
    assert b"hunter2" not in orjson.dumps(redacted({"kind": "Secret", "metadata": {"annotations": applied}}))
    assert redacted({"kind": "ConfigMap", "data": {"x": "1"}}) == {"kind": "ConfigMap", "data": {"x": "1"}}


async def test_a_recording_ends_at_its_limit_and_the_run_goes_on(
    cluster: ClusterUnderTest, virtual_time: VirtualTime
) -> None:
    data = await recorded(cluster, pairs, convergence, limit_bytes=3000)
    assert len(data) < 3100
    recording = read(data)
    assert recording.is_cut
    assert follow(World([pairs], [pair()]), recording).is_admitted


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "this is no recording"),
        (b"{}\n", "this is no recording"),
        (b"no\n", "line 1 is not JSON"),
        (b"[]\n", "line 1 is no JSON object"),
        (b'{"format":"attractor/recording","version":9}\n', "version 9, and only version 1"),
        (b'{"format":"attractor/recording","version":1}\n{"what":"answer","question":1}\n', "damaged"),
    ],
)
def test_a_file_that_is_no_recording_says_why(data: bytes, problem: str) -> None:
    with pytest.raises(BadRecording, match=problem):
        read(data)


async def test_a_run_that_was_killed_while_it_wrote_is_read_up_to_there(
    cluster: ClusterUnderTest, virtual_time: VirtualTime
) -> None:
    data = await recorded(cluster, pairs, convergence)
    assert follow(World([pairs], [pair()]), read(data[:-20])).is_admitted
