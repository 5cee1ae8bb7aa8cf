"""The programs that envtest starts, started as envtest starts them."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http.client import HTTPConnection
from pathlib import Path

import pytest

from attractor.cli.envtest import apiserver
from attractor.cli.main import main
from attractor.client import Client
from attractor.client.configuration.config import ClientConfig
from attractor.client.http.transport import HttpTransport
from attractor.httpd.auth.certificates import ensure_certificates
from attractor.k8s.core_v1 import ConfigMap, Namespace
from attractor.objects.errors import NotFound
from attractor.objects.gvk import Key
from attractor.objects.resource import ObjectMeta
from attractor.testing import eventually
from tests.factories import config_map


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def assets(directory: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    assert main(["envtest", "path", "--directory", str(directory)]) == 0
    return Path(capsys.readouterr().out.strip())


@asynccontextmanager
async def started(program: Path, *words: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """A program, told to stop in the end: it must end in good order."""
    process = await asyncio.create_subprocess_exec(
        program, *words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env={**os.environ, "PYTHONPATH": ""}
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGTERM)
        _, said = await process.communicate()
    assert process.returncode == 0, said.decode()


def is_healthy(port: int) -> bool:
    asked = HTTPConnection("127.0.0.1", port)
    try:
        asked.request("GET", "/health")
        return asked.getresponse().status == 200
    except OSError:
        return False
    finally:
        asked.close()


async def test_etcd_and_the_api_server_come_up_as_envtest_starts_them_and_behave_like_a_cluster(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    programs = assets(tmp_path / "assets", capsys)
    certificates = ensure_certificates(tmp_path / "made", ["127.0.0.1", "localhost"])
    work = tmp_path / "certs"
    work.mkdir()
    (work / "apiserver.crt").write_bytes(certificates.cert.read_bytes())
    (work / "apiserver.key").write_bytes(certificates.key.read_bytes())
    (tmp_path / "tokens.csv").write_text("secret,admin,1,system:masters\n")
    etcd_port, port = free_port(), free_port()
    etcd = f"--listen-client-urls=http://127.0.0.1:{etcd_port}"
    flags = (
        f"--etcd-servers=http://127.0.0.1:{etcd_port}",
        f"--secure-port={port}",
        "--bind-address=127.0.0.1",
        f"--cert-dir={work}",
        f"--token-auth-file={tmp_path / 'tokens.csv'}",
        "--authorization-mode=RBAC",
        "--allow-privileged=true",
        "--disable-admission-plugins=ServiceAccount",
        "--service-cluster-ip-range=10.0.0.0/24",
        "--service-account-issuer=https://127.0.0.1/",
    )
    config = ClientConfig.of(f"https://127.0.0.1:{port}", token="secret", ca=certificates.ca.read_bytes())
    async with started(programs / "etcd", etcd, "--data-dir=x", "--unsafe-no-fsync=true"):
        await eventually(lambda: asyncio.to_thread(is_healthy, etcd_port))
        async with started(programs / "kube-apiserver", *flags), Client(HttpTransport(config)) as client:
            await eventually(lambda: _is_ready(client), within_s=30)
            await client.create(Namespace(metadata=ObjectMeta(name="short")))
            await client.create(config_map("a", namespace="short"))
            await client.delete(Namespace, Key("", "short"))
            await eventually(lambda: _is_gone(client, Key("short", "a")))
    assert list(work.glob("kubeconfig*")) == [], "what the server writes goes with it"


async def _is_ready(client: Client) -> bool:
    return bool(await client.list(Namespace))


async def _is_gone(client: Client, key: Key) -> bool:
    try:
        await client.get(ConfigMap, key)
    except NotFound:
        return True
    return False


def test_flags_that_are_not_understood_end_the_api_server_with_the_originals_words(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert apiserver.main(["--secure-prt=1"]) == 1
    assert capsys.readouterr().err == "Error: unknown flag: --secure-prt\n"
    assert apiserver.main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("Kubernetes v1.36.")


def test_what_runs_beside_the_server_is_said_in_the_environment(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(apiserver.OPTIONS, "pods")
    assert apiserver.main([]) == 1
    assert "ATTRACTOR_ENVTEST has 'pods'; there are nodes=NUMBER and no-controllers" in capsys.readouterr().err
    started: list[list[str]] = []

    def note(words: list[str]) -> int:
        started.append(words)
        return 0

    monkeypatch.setattr("attractor.cli.main.main", note)
    monkeypatch.setenv(apiserver.OPTIONS, "nodes=2, no-controllers")
    assert apiserver.main([]) == 0
    assert started == [["serve", "--nodes", "2", "--controllers", "none", "--store", "memory"]]


def test_the_directory_is_of_this_installation_and_stays_when_it_is_written_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for _ in range(2):
        assert main(["envtest", "path"]) == 0
    first, second = capsys.readouterr().out.split()
    assert first == second
    assert Path(first).is_relative_to(tmp_path)
    assert sorted(one.name for one in Path(first).iterdir()) == ["etcd", "kube-apiserver", "kubectl"]
    assert sys.executable in (Path(first) / "kube-apiserver").read_text()


def test_kubectl_is_the_machines_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    programs = assets(tmp_path / "assets", capsys)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "kubectl").write_text("#!/bin/sh\necho the real one $1\n")
    (tmp_path / "bin" / "kubectl").chmod(0o755)
    path = f"{programs}:{tmp_path / 'bin'}:/usr/bin:/bin"
    done = subprocess.run([programs / "kubectl", "get"], env={"PATH": path}, capture_output=True, text=True, check=True)
    assert done.stdout == "the real one get\n"


def test_a_directory_that_cannot_be_written_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").touch()
    assert main(["envtest", "path", "--directory", str(tmp_path / "file")]) == 2
    assert "cannot be written" in capsys.readouterr().err
