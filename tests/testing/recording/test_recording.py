"""Recorded runs: what is written, what is not, and whether a world admits them."""

import asyncio
import io
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from attractor import Context, Key, ObjectMeta, controller
from attractor.check import Delete, Edit, Faults, SpecError, World
from attractor.k8s.core_v1 import ConfigMap, Secret
from attractor.runtime import Controller, Election, Manager
from attractor.testing import ClusterUnderTest, VirtualTime, eventually
from attractor.testing.recording import BadRecording, Recorder, Recording
from attractor.testing.recording.admission import follow
from attractor.testing.recording.recorder import LIMIT_BYTES
from attractor.testing.recording.redaction import redacted
from tests.check.world.pairs import KEY, Pair, naive, pair, pairs

EDIT = Edit(Pair, KEY, spec=[{"text": "x"}, {"text": "y"}])
CHILDREN = [Key("default", "a-1"), Key("default", "a-2")]

Script = Callable[[ClusterUnderTest], Awaitable[None]]


async def begin(cluster: ClusterUnderTest) -> None:
    """What the world begins with, and something that concerns nobody."""
    await cluster.install(Pair)
    await cluster.client.create(pair())
    await cluster.client.create(ConfigMap(metadata=ObjectMeta(name="stranger", namespace="default")))


def manager(cluster: ClusterUnderTest, recorder: Recorder, controller: Controller, **options: Any) -> Manager:
    """A process that is recorded."""
    client = cluster.controller_client()
    client.transport = recorder.listening(client.transport)
    return cluster.manager(recorder.watching(controller), client=client, **options)


async def recorded(
    cluster: ClusterUnderTest, controller: Controller, script: Script, limit_bytes: int = LIMIT_BYTES
) -> bytes:
    """What is recorded while a controller runs and a script is carried out."""
    file = io.BytesIO()
    recorder = Recorder(file, limit_bytes=limit_bytes)
    await begin(cluster)
    async with manager(cluster, recorder, controller).running():
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
    await cluster.client.patch(Pair, KEY, {"spec": {"text": "y"}})

    async def both() -> bool:
        return await texts(cluster) == ["y", "y"]

    await eventually(both)


def read(data: bytes) -> Recording:
    return Recording.read(data.splitlines(keepends=True))


async def test_a_world_admits_what_its_controller_did(cluster: ClusterUnderTest, virtual_time: VirtualTime) -> None:
    recording = read(await recorded(cluster, pairs, an_edit))
    found = follow(World(controllers=[pairs], objects=[pair()], users=[EDIT]), recording)
    assert found.is_admitted, found
    assert found.lines == len(recording.happenings)
    assert found.ignored == 1, "a ConfigMap that nobody touched"


async def test_a_world_without_the_user_departs_where_the_edit_is_seen(
    cluster: ClusterUnderTest, virtual_time: VirtualTime
) -> None:
    recording = read(await recorded(cluster, pairs, an_edit))
    found = follow(World(controllers=[pairs], objects=[pair()]), recording)
    assert found.departure is not None
    assert found.departure.endswith("the cache was told MODIFIED pairs a")


async def test_a_world_of_another_controller_departs_where_it_asks_something_else(
    cluster: ClusterUnderTest, virtual_time: VirtualTime
) -> None:
    recording = read(await recorded(cluster, pairs, convergence))
    found = follow(World(controllers=[replace(naive, name="pairs")], objects=[pair()]), recording)
    assert found.departure is not None
    assert "answer of pairs default/a to `get configmap default/a-2`" in found.departure
    assert found.instead == ("create configmap default/a-2 -> ok; ends",)


async def test_a_world_with_another_beginning_departs_at_the_first_list(
    cluster: ClusterUnderTest, virtual_time: VirtualTime
) -> None:
    recording = read(await recorded(cluster, pairs, convergence))
    found = follow(World(controllers=[pairs], objects=[pair(text="z")]), recording)
    assert found.departure is not None
    assert "pairs were listed: 1 objects" in found.departure


async def test_a_lost_answer_is_admitted_where_the_world_may_lose_one(
    cluster: ClusterUnderTest, virtual_time: VirtualTime
) -> None:
    cluster.faults.lost_answer("create", "configmaps", name="")
    recording = read(await recorded(cluster, pairs, convergence))
    assert follow(World(controllers=[pairs], objects=[pair()], faults=Faults(lost_answer=1)), recording).is_admitted
    assert not follow(World(controllers=[pairs], objects=[pair()]), recording).is_admitted


async def test_a_deletion_with_its_garbage_is_admitted(cluster: ClusterUnderTest, virtual_time: VirtualTime) -> None:
    async def deletion(cluster: ClusterUnderTest) -> None:
        await convergence(cluster)
        await cluster.client.delete(Pair, KEY)
        await eventually(lambda: _none_left(cluster))

    async def _none_left(cluster: ClusterUnderTest) -> bool:
        return not [one for one in await cluster.client.list(ConfigMap, "default") if one.key in CHILDREN]

    recording = read(await recorded(cluster, pairs, deletion))
    assert follow(World(controllers=[pairs], objects=[pair()], users=[Delete(Pair, KEY)]), recording).is_admitted


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
    assert follow(World(controllers=[pairs], objects=[pair()]), recording).is_admitted


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "this is no recording"),
        (b"{}\n", "this is no recording"),
        (b"no\n", "line 1 is not JSON"),
        (b"[]\n", "line 1 is no JSON object"),
        (b'{"format":"attractor/recording","version":9}\n', "version 9, and only version 2"),
        (b'{"format":"attractor/recording","version":2}\n{"what":"answer","question":1}\n', "damaged"),
    ],
)
def test_a_file_that_is_no_recording_says_why(data: bytes, problem: str) -> None:
    with pytest.raises(BadRecording, match=problem):
        read(data)


async def test_a_run_that_was_killed_while_it_wrote_is_read_up_to_there(
    cluster: ClusterUnderTest, virtual_time: VirtualTime
) -> None:
    data = await recorded(cluster, pairs, convergence)
    assert follow(World(controllers=[pairs], objects=[pair()]), read(data[:-20])).is_admitted


async def started_twice(cluster: ClusterUnderTest, path: Path) -> None:
    """A process that converges, is gone while its object is edited, and is started again."""
    await begin(cluster)
    with Recorder.resumed(path) as recorder:
        async with manager(cluster, recorder, pairs).running():
            await convergence(cluster)
    await cluster.client.patch(Pair, KEY, {"spec": {"text": "y"}})
    with path.open("ab") as file:
        file.write(b'{"what": "ask", "question": 1')  # the last line of a process that was killed
    with Recorder.resumed(path) as recorder:
        async with manager(cluster, recorder, pairs).running():
            await eventually(lambda: _all(cluster, "y"))


async def _all(cluster: ClusterUnderTest, text: str) -> bool:
    return await texts(cluster) == [text, text]


async def test_a_process_that_is_started_again_goes_on_with_its_recording(
    cluster: ClusterUnderTest, virtual_time: VirtualTime, tmp_path: Path
) -> None:
    path = tmp_path / "run.jsonl"
    await started_twice(cluster, path)
    recording = read(path.read_bytes())
    assert [each.what for each in recording.happenings].count("restart") == 1
    assert all(asked.is_answered for asked in recording.questions.values())
    found = follow(World(controllers=[pairs], objects=[pair()], users=[EDIT], faults=Faults(crash=1)), recording)
    assert found.is_admitted, found


async def test_a_restart_departs_where_the_world_has_no_crash(
    cluster: ClusterUnderTest, virtual_time: VirtualTime, tmp_path: Path
) -> None:
    path = tmp_path / "run.jsonl"
    await started_twice(cluster, path)
    found = follow(World(controllers=[pairs], objects=[pair()], users=[EDIT]), read(path.read_bytes()))
    assert found.departure is not None
    assert found.departure.endswith("the process was started again")


async def two_leaders(cluster: ClusterUnderTest, paths: list[Path]) -> None:
    """The first process leads and stops; the second, which has waited, takes over and sees to an edit."""
    await begin(cluster)
    with ExitStack() as held:
        first, second = (
            manager(
                cluster,
                held.enter_context(Recorder.resumed(path)),
                pairs,
                election=Election("pairs", "default", path.stem),
            )
            for path in paths
        )
        async with first.running():
            await convergence(cluster)
            waiting = asyncio.create_task(second.run())
        await cluster.client.patch(Pair, KEY, {"spec": {"text": "y"}})
        await eventually(lambda: _all(cluster, "y"))
        second.stop()
        await waiting


async def test_two_processes_that_change_the_lead_are_followed_together(
    cluster: ClusterUnderTest, virtual_time: VirtualTime, tmp_path: Path
) -> None:
    paths = [tmp_path / "first.jsonl", tmp_path / "second.jsonl"]
    await two_leaders(cluster, paths)
    files = [path.read_bytes().splitlines(keepends=True) for path in paths]
    recording = Recording.read(*files)
    assert {each.process for each in recording.happenings if each.what == "begin"} == {0, 1}
    world = World(
        controllers=[pairs],
        objects=[pair()],
        users=[EDIT],
        faults=Faults(leader_change=1),
        hosts=("first", "second"),
        election=True,
    )
    found = follow(world, recording)
    assert found.is_admitted, found
    unchanged = follow(world.but(faults=None), recording)
    assert unchanged.departure is not None
    assert "pairs began with default/a" in unchanged.departure, "the second process never leads in such a world"
    with pytest.raises(SpecError, match="2 processes were recorded, and world of pairs has 1"):
        follow(World(controllers=[pairs], objects=[pair()]), recording)


def test_recordings_without_times_cannot_be_put_together() -> None:
    old = b'{"format":"attractor/recording","version":2}\n{"what":"begin","controller":"x","key":"a"}\n'
    with pytest.raises(BadRecording, match="has no times"):
        Recording.read(old.splitlines(keepends=True), old.splitlines(keepends=True))


def test_what_happens_after_one_of_several_recordings_was_cut_is_left_out() -> None:
    def file(*entries: dict[str, Any]) -> list[bytes]:
        start = {"format": "attractor/recording", "version": 2}
        return [orjson.dumps(each) + b"\n" for each in (start, *entries)]

    def begin(at: int) -> dict[str, Any]:
        return {"what": "begin", "controller": "x", "key": f"{at}", "at": at}

    cut = file(begin(2), {"what": "limit reached", "at": 3})
    recording = Recording.read(file(begin(1), begin(4)), cut)
    assert recording.is_cut
    assert [each.data["at"] for each in recording.happenings] == [1, 2]
