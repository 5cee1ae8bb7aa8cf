"""The controllers' process is killed without a goodbye, at any moment: nothing is started twice, no end is missed."""

import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from attractor.client import Client
from attractor.embedded import EmbeddedCluster
from attractor.embedded.kubeconfig import kubeconfig
from attractor.httpd.auth.authentication import ADMIN, Authenticator
from attractor.k8s.apiextensions_v1 import CustomResourceDefinition
from attractor.objects.gvk import Key
from attractor.objects.resource import ObjectMeta, Resource
from attractor.operators.devplane.api.executables import Executable, ExecutableSpec
from attractor.operators.devplane.cli.session import KINDS
from attractor.operators.devplane.controllers.declarations import STATE
from attractor.operators.local.processes import started_at
from attractor.testing import eventually
from tests.operators.devplane.planes import family

COUNT = 8
WITHIN_S = 120.0


class Operator:
    """The controllers in a process of their own, as users run them."""

    def __init__(self, directory: Path, **environment: str) -> None:
        self.directory = directory
        self._environment = {**os.environ, STATE: str(directory / "state"), **environment}
        self._command = [
            sys.executable,
            "-m",
            "attractor",
            "run",
            "attractor.operators.devplane.controllers.declarations",
        ]
        self._command += ["--kubeconfig", str(directory / "kubeconfig"), "--log-level", "warning"]
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with (self.directory / "log").open("ab") as log:
            self._process = subprocess.Popen(self._command, env=self._environment, stdout=log, stderr=log)

    def kill(self) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    @property
    def log(self) -> str:
        return (self.directory / "log").read_text()


@asynccontextmanager
async def operating(directory: Path, **environment: str) -> AsyncIterator[tuple[Client, Operator]]:
    async with EmbeddedCluster(authenticator=Authenticator({"token": ADMIN})) as cluster, cluster.client() as client:
        (directory / "kubeconfig").write_bytes(kubeconfig((await cluster.listen()).url, "token", None))
        for kind in KINDS:
            await client.create(CustomResourceDefinition.from_dict(kind.crd()))
        for kind in KINDS:
            await eventually(lambda kind=kind: is_served(client, kind))  # type: ignore[misc]
        operator = Operator(directory, **environment)
        operator.start()
        try:
            yield client, operator
        finally:
            operator.kill()
            assert "Traceback" not in operator.log, operator.log


async def is_served(client: Client, kind: type[Resource]) -> bool:
    return await client.list(kind, "default", limit=1) == []


def executable(directory: Path, number: int) -> Executable:
    """One that notes each of its starts, and ends with its number when told by a file."""
    script = f"echo {number} >>{directory}/starts; while [ ! -e {directory}/over ]; do sleep 0.05; done; exit {number}"
    metadata = ObjectMeta(name=f"web-{number}", namespace="default")
    return Executable(metadata=metadata, spec=ExecutableSpec(command=["sh", "-c", script], stop_grace_seconds=2))


def starts(directory: Path) -> list[int]:
    """The numbers of all that were started, each as often as it was."""
    noted = directory / "starts"
    return sorted(int(line) for line in noted.read_text().split()) if noted.exists() else []


def processes_of(made: list[Executable]) -> list[int]:
    """All processes of some Executables."""
    return [pid for one in made for pid in family(one.metadata.uid)]


async def test_nothing_is_started_twice_and_no_end_is_missed_although_the_controllers_are_killed(
    tmp_path: Path,
) -> None:
    async with operating(tmp_path) as (client, operator):

        async def in_phase(phase: str) -> list[Executable]:
            found = [one for one in await client.list(Executable, "default") if one.status.phase == phase]
            return found if len(found) == COUNT else []

        made = [await client.create(executable(tmp_path, number)) for number in range(COUNT)]
        for several in (1, COUNT // 2, COUNT):
            await eventually(lambda several=several: len(starts(tmp_path)) >= several, within_s=WITHIN_S, interval_s=0)  # type: ignore[misc]
            operator.kill()
            operator.start()
        running = await eventually(lambda: in_phase("Running"), within_s=WITHIN_S)
        assert starts(tmp_path) == list(range(COUNT))
        assert all(started_at(one.status.pid or 0) for one in running)

        operator.kill()
        (tmp_path / "over").touch()
        await eventually(lambda: not processes_of(made), within_s=WITHIN_S)
        operator.start()
        finished = await eventually(lambda: in_phase("Finished"), within_s=WITHIN_S)
        assert [one.status.exit_code for one in finished] == list(range(COUNT))
        assert starts(tmp_path) == list(range(COUNT))


async def test_nothing_is_left_although_the_controllers_are_killed_while_all_is_deleted(tmp_path: Path) -> None:
    async with operating(tmp_path) as (client, operator):

        async def left() -> int:
            return len(await client.list(Executable, "default"))

        made = [await client.create(executable(tmp_path, number)) for number in range(COUNT)]
        await eventually(lambda: len(starts(tmp_path)) >= COUNT // 2, within_s=WITHIN_S, interval_s=0)
        for number in range(COUNT):
            await client.delete(Executable, Key("default", f"web-{number}"))
        operator.kill()
        operator.start()

        async def at_most(several: int) -> bool:
            return await left() <= several

        await eventually(lambda: at_most(COUNT // 2), within_s=WITHIN_S, interval_s=0)
        operator.kill()
        operator.start()
        await eventually(lambda: at_most(0), within_s=WITHIN_S)
        assert list((tmp_path / "state").iterdir()) == []
        assert len(starts(tmp_path)) == len(set(starts(tmp_path)))
        assert processes_of(made) == []
