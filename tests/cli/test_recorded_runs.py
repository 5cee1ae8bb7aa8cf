"""``attractor run --record`` and ``attractor check --against``: a real process, and the world that is to admit it."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from attractor.client import Client
from attractor.client.http.transport import HttpTransport
from attractor.client.kubeconfig import load_kubeconfig
from attractor.objects.builtin.core_v1 import ConfigMap
from attractor.objects.gvk import Key
from attractor.objects.resource import ObjectMeta
from attractor.testing import eventually
from tests.cli.conftest import Run

OPERATOR = """
from attractor import Context, Key, ObjectMeta, controller
from attractor.check.world import Create, Edit, World, always
from attractor.objects.builtin.core_v1 import ConfigMap

SOURCE, COPY = Key("default", "a"), Key("default", "a-copy")


@controller(for_=ConfigMap)
async def copies(ctx: Context, key: Key) -> None:
    if key != SOURCE:
        return
    source = await ctx.find(ConfigMap, SOURCE)
    copy = await ctx.find(ConfigMap, COPY)
    if source is None:
        return
    if copy is None:
        await ctx.create(ConfigMap(metadata=ObjectMeta(name="a-copy", namespace="default"), data=source.data))
    elif copy.data != source.data:
        copy.data = source.data
        await ctx.update(copy)


def config_map(**data):
    return ConfigMap(metadata=ObjectMeta(name="a", namespace="default"), data=data)


def world(value: str = "2") -> World:
    edit = Edit(ConfigMap, SOURCE, patch=[{"data": {"x": value}}])
    return World([copies], [], [Create(config_map(x="1")), edit])
"""


async def record(folder: Path) -> None:
    """Run the operator as a process, create and edit its source, and stop it."""
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "attractor", "run", "operator_.py", "--record", "run.jsonl", "--namespace", "default"),
        stdout=subprocess.PIPE,
        cwd=folder,
        env={**os.environ, "XDG_STATE_HOME": str(folder)},
    )
    assert child.stdout is not None
    told: dict[str, str] = {}
    async with asyncio.timeout(60):
        while "running" not in told:
            name, _, value = (await child.stdout.readline()).decode().partition(":")
            told[name] = value.strip()
    async with Client(HttpTransport(load_kubeconfig(told["kubeconfig"]))) as client:
        await client.create(ConfigMap(metadata=ObjectMeta(name="a", namespace="default"), data={"x": "1"}))

        async def copied(value: str) -> bool:
            return (await client.get(ConfigMap, Key("default", "a-copy"))).data == {"x": value}

        await eventually(lambda: copied("1"), within_s=30)
        await client.merge_patch(ConfigMap, Key("default", "a"), {"data": {"x": "2"}})
        await eventually(lambda: copied("2"), within_s=30)
    child.send_signal(signal.SIGTERM)
    assert await child.wait() == 0


@pytest.mark.slow
def test_a_real_run_is_admitted_by_its_world_and_not_by_another(run: Run, tmp_path: Path) -> None:
    (tmp_path / "operator_.py").write_text(OPERATOR)
    asyncio.run(record(tmp_path))
    admitted = run("check", "operator_.py:world", "--against", "run.jsonl")
    assert admitted.code == 0, admitted.out
    assert "admitted: world of copies can do all that was recorded" in admitted.out
    departs = run("check", "operator_.py:world", "--const", "value=3", "--against", "run.jsonl")
    assert departs.code == 1
    assert "departs: world of copies" in departs.out
    assert "recorded, line" in departs.out
    assert "the cache was told MODIFIED configmaps a" in departs.out


@pytest.mark.parametrize(
    ("command", "error"),
    [
        (["check", "lift.py:Lift", "--against", "run.jsonl"], "is no world"),
        (["check", "operator_.py:world", "--against", "nowhere.jsonl"], "nowhere.jsonl cannot be read"),
        (["check", "operator_.py:world", "--against", "lift.py"], "lift.py: line 1 is not JSON"),
        (["run", "operator_.py", "--record", "no/such/folder/x"], "cannot be written"),
    ],
)
def test_what_cannot_be_followed_or_recorded_is_said(run: Run, tmp_path: Path, command: list[str], error: str) -> None:
    (tmp_path / "operator_.py").write_text(OPERATOR)
    (tmp_path / "run.jsonl").write_text('{"format": "attractor/recording", "version": 1}\n')
    found = run(*command)
    assert found.code == 2
    assert error in found.err


def test_help_has_examples(run: Run) -> None:
    assert "attractor run operator.py --record run.jsonl" in run("run", "--help").out
    assert "--against run.jsonl" in run("check", "--help").out
