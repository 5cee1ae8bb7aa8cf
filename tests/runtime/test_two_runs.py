"""Two `attractor run` at once, in one home: neither takes away what the other uses."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from attractor.client import Client
from attractor.client.configuration.kubeconfig import load_kubeconfig
from attractor.client.http.transport import HttpTransport
from attractor.k8s.core_v1 import Namespace

OPERATOR = "attractor.operators.configpair.controllers:configpair"


@contextmanager
def running(home: Path, *options: str) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """A run that is ready, and where its kubeconfig is."""
    command = [sys.executable, "-P", "-m", "attractor", "run", OPERATOR, "--log-level", "error", *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={"XDG_STATE_HOME": str(home)})
    try:
        assert process.stdout is not None
        said: dict[str, str] = {}
        for line in process.stdout:
            name, _, value = line.partition(":")
            said[name] = value.strip()
            if name == "running":
                break
        yield process, Path(said["kubeconfig"])
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
    finally:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


async def namespaces(kubeconfig: Path) -> int:
    async with Client(HttpTransport(load_kubeconfig(kubeconfig))) as client:
        return len(await client.list(Namespace))


async def test_each_run_has_a_kubeconfig_of_its_own_and_leaves_the_others_alone(tmp_path: Path) -> None:
    usual = tmp_path / "attractor" / "kubeconfig"
    with running(tmp_path) as (_, first):
        assert first == usual
        with running(tmp_path) as (_, second):
            assert second.parent == first.parent
            assert second != first
            assert await namespaces(second) > 0
            assert await namespaces(first) > 0
        assert not second.exists()
        assert await namespaces(first) > 0
    assert not first.exists()


async def test_what_a_killed_run_has_left_is_replaced(tmp_path: Path) -> None:
    usual = tmp_path / "attractor" / "kubeconfig"
    with pytest.raises(AssertionError), running(tmp_path) as (process, _):  # noqa: PT012
        process.kill()
        process.wait()
    assert usual.exists()
    with running(tmp_path) as (_, again):
        assert again == usual
        assert await namespaces(again) > 0
    assert not usual.exists()


def test_two_runs_do_not_record_into_one_file(tmp_path: Path) -> None:
    record = tmp_path / "run.jsonl"
    with running(tmp_path, "--record", str(record)):
        command = [sys.executable, "-P", "-m", "attractor", "run", OPERATOR, "--record", str(record)]
        second = subprocess.run(
            command, capture_output=True, text=True, timeout=60, env={"XDG_STATE_HOME": str(tmp_path)}, check=False
        )
        assert second.returncode == 2
        assert f"error: {record} cannot be written: another process records there" in second.stderr
