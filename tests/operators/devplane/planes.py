"""A developer control plane with real processes, for tests."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attractor.objects.errors import NotFound
from attractor.objects.gvk import Key
from attractor.objects.resource import ObjectMeta
from attractor.operators.devplane.api.executables import Executable, ExecutableSpec
from attractor.operators.devplane.api.services import Service
from attractor.operators.devplane.controllers.executables import Known, executables
from attractor.operators.devplane.controllers.file_watches import file_watches
from attractor.operators.devplane.controllers.health import Prober
from attractor.operators.devplane.controllers.replica_sets import replicasets
from attractor.operators.devplane.drivers.files import Files
from attractor.operators.devplane.drivers.local.files import LocalFiles
from attractor.operators.devplane.drivers.local.prober import LocalProber
from attractor.operators.devplane.drivers.local.processes import LocalProcesses
from attractor.operators.devplane.drivers.processes import Processes
from attractor.operators.local.processes import PROC
from attractor.runtime import Controller, Manager
from attractor.testing import ClusterUnderTest, eventually

FOREVER = "while :; do sleep 1000 & wait; done"
"""A script that runs until it is told to stop."""


def family(word: str) -> list[int]:
    """The processes whose environment has a word in it."""
    found = []
    for entry in PROC.iterdir():
        try:
            if entry.name.isdigit() and word.encode() in (entry / "environ").read_bytes():
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def names_in(directory: Path) -> list[str]:
    """The names of all files of a directory."""
    return sorted(path.name for path in directory.iterdir())


def text_of(path: str) -> str:
    """What a file says."""
    return Path(path).read_text()


@dataclass
class Plane:
    """A cluster, a machine, and what runs on both."""

    cluster: ClusterUnderTest
    manager: Manager
    controller: Controller
    directory: Path

    async def create(self, name: str, script: str = FOREVER, **fields: Any) -> Executable:
        """An Executable that runs a shell script, unless it says otherwise."""
        spec = ExecutableSpec(**{"command": ["sh", "-c", script], **fields})
        return await self.cluster.client.create(
            Executable(metadata=ObjectMeta(name=name, namespace="default"), spec=spec)
        )

    async def get(self, name: str) -> Executable:
        """An Executable as it is."""
        return await self.cluster.client.get(Executable, Key("default", name))

    async def until(self, name: str, condition: Callable[[Executable], Any], within_s: float = 30) -> Executable:
        """An Executable, as soon as something is true of it."""

        async def found() -> Executable:
            executable = await self.get(name)
            assert condition(executable), executable.status
            return executable

        return await eventually(found, within_s=within_s)

    async def until_in(self, name: str, phase: str) -> Executable:
        """An Executable, as soon as it is in a phase."""
        return await self.until(name, lambda one: one.status.phase == phase)

    async def change(self, name: str, **spec: Any) -> None:
        """Change an Executable's spec."""
        await self.cluster.client.patch(Executable, Key("default", name), {"spec": spec})

    async def delete(self, name: str) -> None:
        """Delete an Executable, and wait until it is gone."""
        await self.cluster.client.delete(Executable, Key("default", name))
        await eventually(lambda: self._is_gone(name), within_s=30)

    async def _is_gone(self, name: str) -> bool:
        try:
            await self.get(name)
        except NotFound:
            return True
        return False

    def remembers(self, name: str) -> bool:
        """Whether the controller has anything of an Executable in mind."""
        return Key("default", name) in self.manager.memory(self.controller).of(Known)

    @property
    def records(self) -> list[str]:
        """What is written down."""
        return names_in(self.directory)


@asynccontextmanager
async def plane(directory: Path) -> AsyncIterator[Plane]:
    """A plane that keeps its state in a directory; all its processes are ended with it."""
    async with ClusterUnderTest() as cluster, LocalProcesses(directory) as machine:
        await cluster.install(Service)
        declared = (executables(machine.changes), replicasets, file_watches)
        externals = {Processes: machine, Prober: LocalProber(), Files: LocalFiles()}
        try:
            async with cluster.running(*declared, externals=externals) as manager:
                yield Plane(cluster, manager, declared[0], directory)
        finally:
            for uid in names_in(directory):
                await machine.stop(Key("", ""), uid, 0)
