"""``attractor run --record`` and ``attractor check --against``: a real process, and the world that is to admit it."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from attractor.client import Client
from attractor.client.configuration.kubeconfig import load_kubeconfig
from attractor.client.http.transport import HttpTransport
from attractor.k8s.core_v1 import ConfigMap
from attractor.objects.gvk import Key
from attractor.objects.resource import ObjectMeta
from attractor.testing import eventually
from tests.cli.conftest import Run

OPERATOR = """
from attractor import Context, Key, ObjectMeta, controller
from attractor.check import Create, Edit, Faults, World
from attractor.k8s.core_v1 import ConfigMap

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


def world(value: str = "2", crash: int = 0) -> World:
    edit = Edit(ConfigMap, SOURCE, patch=[{"data": {"x": value}}])
    return World(
        controllers=[copies], users=[Create(config_map(x="1")), edit], faults=Faults(crash=crash)
    )
"""


class Process:
    """The operator as a process, on a cluster that is kept in a file."""

    def __init__(self, child: asyncio.subprocess.Process, kubeconfig: str) -> None:
        self.child = child
        self.client = Client(HttpTransport(load_kubeconfig(kubeconfig)))

    async def create(self, value: str) -> None:
        """Create the source."""
        await self.client.create(ConfigMap(metadata=ObjectMeta(name="a", namespace="default"), data={"x": value}))

    async def edit(self, value: str) -> None:
        """Change the source."""
        await self.client.patch(ConfigMap, Key("default", "a"), {"data": {"x": value}})

    async def copied(self, value: str) -> None:
        """Wait until the copy has a value."""

        async def is_copied() -> bool:
            return (await self.client.get(ConfigMap, Key("default", "a-copy"))).data == {"x": value}

        await eventually(is_copied, within_s=30)


@asynccontextmanager
async def operator(folder: Path, ending: signal.Signals = signal.SIGTERM) -> AsyncIterator[Process]:
    """Run the operator until the block ends, and end it then."""
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "attractor", "run", "operator_.py", "--record", "run.jsonl", "--namespace", "default"),
        *("--store", "sqlite:cluster.db"),
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
    process = Process(child, told["kubeconfig"])
    async with process.client:
        yield process
    child.send_signal(ending)
    assert await child.wait() == (0 if ending is signal.SIGTERM else -ending)


async def record(folder: Path) -> None:
    """Create and edit the source while the operator runs."""
    async with operator(folder) as process:
        await process.create("1")
        await process.copied("1")
        await process.edit("2")
        await process.copied("2")


async def record_a_kill(folder: Path) -> None:
    """Kill the operator in the middle of its work, and start it again."""
    async with operator(folder, signal.SIGKILL) as process:
        await process.create("1")
        await process.copied("1")
        await process.edit("2")
    async with operator(folder) as process:
        await process.copied("2")


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


@pytest.mark.slow
def test_a_process_that_was_killed_and_started_again_is_admitted_where_the_world_may_crash(
    run: Run, tmp_path: Path
) -> None:
    (tmp_path / "operator_.py").write_text(OPERATOR)
    asyncio.run(record_a_kill(tmp_path))
    admitted = run("check", "operator_.py:world", "--const", "crash=1", "--against", "run.jsonl")
    assert admitted.code == 0, admitted.out
    departs = run("check", "operator_.py:world", "--against", "run.jsonl")
    assert departs.code == 1
    assert "the process was started again" in departs.out
    assert "is a user, a fault or a larger `lag` missing in it?" in departs.out


@pytest.mark.parametrize(
    ("command", "error"),
    [
        (["check", "lift.py:Lift", "--against", "run.jsonl"], "is no world"),
        (["check", "operator_.py:world", "--against", "nowhere.jsonl"], "nowhere.jsonl cannot be read"),
        (["check", "operator_.py:world", "--against", "lift.py"], "lift.py: line 1 is not JSON"),
        (
            ["check", "operator_.py:world", "--against", "run.jsonl", "--against", "run.jsonl"],
            "2 processes were recorded, and world of copies has 1",
        ),
        (["run", "operator_.py", "--record", "no/such/folder/x"], "cannot be written"),
    ],
)
def test_what_cannot_be_followed_or_recorded_is_said(run: Run, tmp_path: Path, command: list[str], error: str) -> None:
    (tmp_path / "operator_.py").write_text(OPERATOR)
    (tmp_path / "run.jsonl").write_text('{"format": "attractor/recording", "version": 2}\n')
    found = run(*command)
    assert found.code == 2
    assert error in found.err


def test_help_has_examples(run: Run) -> None:
    assert "attractor run my_operator.py --record run.jsonl" in run("run", "--help").out
    assert "--against run.jsonl" in run("check", "--help").out
