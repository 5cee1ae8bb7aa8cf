"""Processes outlive whoever started them, are started once, and are never taken for others."""

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio

from attractor.objects.gvk import Key
from attractor.operators.devplane.drivers.local import processes as local
from attractor.operators.devplane.drivers.local import shim
from attractor.operators.devplane.drivers.local.launch import order_of
from attractor.operators.devplane.drivers.local.processes import LocalProcesses
from attractor.operators.devplane.drivers.processes import Launch, Run
from attractor.operators.local.processes import PROC, started_at
from attractor.testing import eventually
from tests.operators.devplane.planes import FOREVER, family

KEY = Key("default", "web")


def script(text: str) -> Launch:
    """A shell script."""
    return Launch(("sh", "-c", text))


@pytest_asyncio.fixture(name="machine")
async def _machine(tmp_path: Path) -> AsyncIterator[LocalProcesses]:
    async with LocalProcesses(tmp_path / "state") as machine:
        yield machine
        for record in (tmp_path / "state").iterdir():
            await machine.stop(KEY, record.name, 0)


async def ended(machine: LocalProcesses, uid: str) -> Run:
    """A run, as soon as it is over; each change is told."""
    while (run := await machine.look(uid)) is None or run.is_live:
        await asyncio.wait_for(machine.changes.receive(), 30)
    return run


def order(directory: Path, uid: str, text: str) -> dict[str, object]:
    """What the shim of a first run gets."""
    home = directory / "state" / uid / "runs" / "0"
    output = {stream: str(directory / stream) for stream in ("stdout", "stderr")}
    return {**order_of(script(text), local.mark_of(uid, 0), os.environ), **output, "home": str(home)}


async def test_of_many_shims_for_one_run_exactly_one_starts_the_process(
    machine: LocalProcesses, tmp_path: Path
) -> None:
    machine._records.prepare(KEY, "u", 0)
    asked = order(tmp_path, "u", "echo started")
    await asyncio.gather(*(asyncio.to_thread(local._spawn, asked) for _ in range(8)))
    assert (await ended(machine, "u")).exit_code == 0
    assert (tmp_path / "stdout").read_text() == "started\n"


async def test_a_run_that_is_begun_again_goes_on_undisturbed(machine: LocalProcesses) -> None:
    await machine.start(KEY, "u", 0, script(FOREVER))
    before = await machine.look("u")
    await machine.start(KEY, "u", 0, script(FOREVER))
    assert before is not None
    assert (before.state, await machine.look("u")) == ("running", before)


async def test_a_shim_that_comes_after_its_run_was_stopped_starts_nothing(
    machine: LocalProcesses, tmp_path: Path
) -> None:
    machine._records.prepare(KEY, "u", 0)
    await machine.stop(KEY, "u", 0)
    await asyncio.to_thread(local._spawn, order(tmp_path, "u", "echo started"))
    run = await machine.look("u")
    assert run is not None
    assert (run.state, run.pid, run.is_stopped) == ("ended", None, True)
    assert not (tmp_path / "stdout").exists()


async def test_a_shim_that_comes_after_its_run_was_removed_starts_nothing(
    machine: LocalProcesses, tmp_path: Path
) -> None:
    machine._records.prepare(KEY, "u", 0)
    await machine.remove("u")
    await asyncio.to_thread(local._spawn, order(tmp_path, "u", "echo started"))
    assert await machine.look("u") is None
    assert list((tmp_path / "state").iterdir()) == []
    assert not (tmp_path / "stdout").exists()


async def test_who_comes_after_is_told_of_what_runs_and_learns_how_it_ends(tmp_path: Path) -> None:
    async with LocalProcesses(tmp_path / "state") as first:
        await first.start(KEY, "u", 0, script(f"while [ ! -e {tmp_path}/over ]; do sleep 0.01; done; exit 5"))
        before = await first.look("u")
    async with LocalProcesses(tmp_path / "state") as second:
        assert await second.changes.receive() == KEY
        assert await second.look("u") == before
        (tmp_path / "over").touch()
        assert (await ended(second, "u")).exit_code == 5


async def test_an_end_that_nobody_waited_for_is_learned_later(tmp_path: Path) -> None:
    async with LocalProcesses(tmp_path / "state") as first:
        await first.start(KEY, "u", 0, script(f"touch {tmp_path}/begun; exit 6"))
    await eventually(lambda: family("executable.u.") == [] and (tmp_path / "begun").exists())
    async with LocalProcesses(tmp_path / "state") as second:
        assert (await ended(second, "u")).exit_code == 6


async def test_a_process_goes_on_without_its_shim_and_is_stopped_all_the_same(machine: LocalProcesses) -> None:
    await machine.start(KEY, "u", 0, script(FOREVER))
    run = await machine.look("u")
    assert run is not None
    assert run.pid is not None
    parent = int((PROC / str(run.pid) / "stat").read_text().rpartition(")")[2].split()[1])
    os.kill(parent, signal.SIGKILL)
    await eventually(lambda: not started_at(parent))
    assert await machine.look("u") == run
    await machine.stop(KEY, "u", 5)
    assert (await ended(machine, "u")).state == "lost"
    assert family("executable.u.") == []


def _write_record(directory: Path, uid: str, boot: str, started: int) -> None:
    home = directory / "state" / uid / "runs" / "0"
    home.mkdir(parents=True)
    (home.parents[1] / "name").write_text("default/web")
    (home / "claim").write_text(json.dumps({"pid": os.getpid(), "started": started, "boot": boot}))
    (home / "state").write_text(json.dumps({"pid": os.getpid(), "started": started, "startedAt": 0.0}))


async def test_a_later_process_of_the_same_number_is_nobodys(machine: LocalProcesses, tmp_path: Path) -> None:
    _write_record(tmp_path, "u", shim.boot(), started_at(os.getpid()) - 1)
    run = await machine.look("u")
    assert run is not None
    assert run.state == "lost"
    await machine.stop(KEY, "u", 0)  # or this test would end here


async def test_processes_of_an_earlier_start_of_the_machine_are_nobodys(
    machine: LocalProcesses, tmp_path: Path
) -> None:
    _write_record(tmp_path, "u", "another", started_at(os.getpid()))
    run = await machine.look("u")
    assert run is not None
    assert run.state == "lost"
    await machine.stop(KEY, "u", 0)


async def test_what_was_being_removed_when_the_controller_died_is_gone_after_the_next_start(tmp_path: Path) -> None:
    (tmp_path / "state" / ".gone-u" / "runs").mkdir(parents=True)
    async with LocalProcesses(tmp_path / "state") as machine:
        assert len(machine.changes) == 0
    assert list((tmp_path / "state").iterdir()) == []


async def test_records_and_output_are_the_owners_alone(machine: LocalProcesses, tmp_path: Path) -> None:
    await machine.start(KEY, "u", 0, script("echo secret"))
    await ended(machine, "u")
    assert (tmp_path / "state").stat().st_mode & 0o077 == 0
    assert (tmp_path / "state" / "u" / "stdout").stat().st_mode & 0o077 == 0


async def test_a_free_port_is_not_given_twice(machine: LocalProcesses) -> None:
    ports = [await machine.free_port("127.0.0.1") for _ in range(50)]
    assert len(set(ports)) == 50
