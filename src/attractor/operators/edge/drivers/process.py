"""The ``process`` driver: a ClusterInst is an ``attractor serve`` of its own, an AppInst a process that answers HTTP.

The nodes of a cluster are Node objects in it; an app is registered in its cluster as a ConfigMap with its address. The
truth is what runs: an instance is there when its record is and its process is alive. Processes go on when the agent
ends, and the next agent finds them by their records. A process is marked before it is started, and the mark goes when
the process is recorded, or when neither it nor its entry in a register is there any more.
"""

from __future__ import annotations

import asyncio
import shutil
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from attractor.client import Client, load_kubeconfig
from attractor.client.http.transport import HttpTransport
from attractor.k8s.core_v1 import ConfigMap, Node
from attractor.objects.errors import ApiError
from attractor.objects.gvk import Key
from attractor.objects.resource import ObjectMeta
from attractor.operators.edge.drivers.gate import Gate, changes
from attractor.operators.edge.drivers.protocols import APP, CLUSTER, DriverError, Ref, Step
from attractor.operators.edge.drivers.records import Record, Records
from attractor.operators.local import processes

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from attractor.operators.edge.drivers import DriverSettings
    from attractor.operators.edge.drivers.protocols import Found
    from attractor.operators.local.processes import Process

READY_S = 60.0
POLL_S = 0.03
Settings = tuple[tuple[str, str], ...]


class ProcessDriver:
    """Runs the instances of one cloudlet as processes on this machine."""

    def __init__(self, settings: DriverSettings) -> None:
        self._records = Records(settings.state_dir / "instances")
        self._capacity = settings.capacity
        self._tell = settings.tell
        self._gate = Gate()

    async def find(self, ref: Ref) -> Found | None:
        """Return the record of an instance's process."""
        record = self._records.load(ref)
        return None if record is None else record.found

    async def inventory(self) -> dict[Ref, Found | None]:
        """All that was ever brought up and not removed, with what runs of it."""
        return {record.ref: record.found for record in self._records.all()}

    def changes(self, kind: str) -> AsyncIterator[Ref]:
        """Every instance that is there, then every one that changes."""
        return changes(kind, self.inventory)

    async def drain(self) -> bool:
        """Begin nothing more."""
        return self._gate.close()

    async def resume(self) -> None:
        """Begin again."""
        self._gate.open()

    async def apply(self, ref: Ref, generation: int, settings: Settings) -> Found:
        """Bring an instance up, or change it."""
        with self._gate.working():
            await self._clear_up(ref)
            record = self._records.load(ref)
            if record is not None and record.found is not None and record.settings == settings:
                made = Record(ref, *record.process, generation, settings, record.endpoint)
            elif ref.kind == CLUSTER:
                made = await self._cluster(ref, record, generation, settings)
            else:
                made = await self._app(ref, record, generation, settings)
            found = made.found
            if found is None:
                await self._clear_up(ref)
                raise DriverError(f"{ref} ended as soon as it was up; see {self._records.home(ref) / 'log'}")
            self._records.save(made)
            await self._clear_up(ref)
            return found

    async def remove(self, ref: Ref) -> None:
        """Take an instance down, and all that is left of it."""
        with self._gate.working():
            await self._clear_up(ref)
            record = self._records.load(ref)
            if record is not None and ref.kind == APP:
                self._tell(ref, Step(1, 2, "takes it out of its cluster's register"))
                await self._deregister(ref, dict(record.settings)["cluster"])
            if record is not None:
                self._tell(ref, Step(2, 2, "ends it") if ref.kind == APP else Step(1, 1, "ends its API server"))
                await processes.end(record.process)
            shutil.rmtree(self._records.home(ref), ignore_errors=True)

    async def _clear_up(self, ref: Ref) -> None:
        """End what was started and never recorded, and what was replaced and not yet ended."""
        record = self._records.load(ref)
        for mark, cluster in self._records.marks(ref).items():
            marked = processes.marked(mark)
            is_recorded = record is not None and record.process in marked
            for process in marked:
                if record is None or process != record.process:
                    await processes.end(process)
            if cluster and not is_recorded:
                await self._set_entry(ref, cluster, record)
            self._records.settle(ref, mark)
        if record is not None and record.replaces is not None:
            await processes.end(processes.Process(*record.replaces))
            self._records.save(Record(ref, *record.process, record.generation, record.settings, record.endpoint))

    # Clusters

    async def _cluster(self, ref: Ref, record: Record | None, generation: int, settings: Settings) -> Record:
        nodes = int(dict(settings)["nodes"])
        used = sum(int(dict(one.settings)["nodes"]) for one in self._records.all() if _is_other_cluster(one, ref))
        if used + nodes > self._capacity:
            raise DriverError(f"no room: {nodes} nodes wanted, {self._capacity - used} of {self._capacity} are free")
        if record is not None and record.found is not None:
            process, endpoint = record.process, record.endpoint
        else:
            self._tell(ref, Step(1, 2, "starts its API server"))
            process, endpoint = await self._serve(ref)
        try:
            await self._set_nodes(ref, nodes)
        except ApiError as error:
            if record is None or process != record.process:
                await processes.end(process)
            else:
                await self._put_back(ref, record)
            raise DriverError(f"{ref} does not take its nodes: {error.message}") from error
        return Record(ref, *process, generation, settings, endpoint)

    async def _put_back(self, ref: Ref, record: Record) -> None:
        """Undo an update that came half way; a cluster that does not take that either is not to be asked at all."""
        with suppress(ApiError):
            await self._set_nodes(ref, int(dict(record.settings)["nodes"]))

    async def _serve(self, ref: Ref) -> tuple[Process, str]:
        home = self._records.home(ref)
        home.mkdir(exist_ok=True)
        kubeconfig = self._kubeconfig(ref)
        kubeconfig.unlink(missing_ok=True)
        command = [
            sys.executable,
            "-P",
            "-m",
            "attractor",
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--kubeconfig",
            str(kubeconfig),
        ]
        command += [
            "--state-dir",
            str(home / "state"),
            "--store",
            f"sqlite:{home / 'cluster.db'}",
            "--log-level",
            "error",
        ]
        process = await self._start(ref, command, kubeconfig)
        return process, load_kubeconfig(kubeconfig).server

    def _kubeconfig(self, cluster: Ref) -> Path:
        return self._records.home(cluster) / "kubeconfig"

    async def _set_nodes(self, ref: Ref, nodes: int) -> None:
        async with self._client(ref) as client:
            wanted = {f"node-{number}" for number in range(1, nodes + 1)}
            there = {node.metadata.name for node in await client.list(Node)}
            for number, name in enumerate(sorted(wanted - there), start=1):
                self._tell(ref, Step(2, 2, f"adds node {number} of {len(wanted - there)}"))
                await client.create(Node(metadata=ObjectMeta(name=name)))
            for name in sorted(there - wanted):
                await client.delete(Node, Key("", name))

    def _client(self, cluster: Ref) -> Client:
        return Client(HttpTransport(load_kubeconfig(self._kubeconfig(cluster))))

    # Apps

    async def _app(self, ref: Ref, record: Record | None, generation: int, settings: Settings) -> Record:
        said = dict(settings)
        cluster = Ref(CLUSTER, ref.namespace, said["cluster"])
        if await self.find(cluster) is None:
            raise DriverError(f"{cluster} is not there")
        ready = self._records.home(ref) / "address"
        ready.unlink(missing_ok=True)
        command = [sys.executable, "-P", "-m", "attractor.operators.edge.drivers.app", "--address-file", str(ready)]
        command += ["--name", ref.name, "--revision", said["revision"], "--cluster", cluster.name]
        self._tell(ref, Step(1, 2, f"starts revision {said['revision']}"))
        process = await self._start(ref, command, ready, cluster.name)
        endpoint = ready.read_text()
        self._tell(ref, Step(2, 2, "registers it in its cluster"))
        try:
            await self._register(ref, cluster, said["revision"], endpoint)
        except ApiError as error:
            with suppress(DriverError):  # the mark stays, and whatever is done next clears up first
                await self._clear_up(ref)
            raise DriverError(f"{cluster} does not take {ref}: {error.message}") from error
        replaces = tuple(record.process) if record is not None else None
        return Record(ref, *process, generation, settings, endpoint, replaces)  # type: ignore[arg-type]  # of two

    async def _register(self, ref: Ref, cluster: Ref, revision: str, endpoint: str) -> None:
        entry = ConfigMap(
            metadata=ObjectMeta(name=f"app-{ref.name}", namespace="default"),
            data={"endpoint": endpoint, "revision": revision},
        )
        async with self._client(cluster) as client:
            await client.apply(entry, field_manager="edge-agent", force=True)

    async def _set_entry(self, ref: Ref, cluster: str, record: Record | None) -> None:
        """Make a cluster's register say what is recorded, whatever a process that is gone has left there."""
        if record is None or record.found is None:
            await self._deregister(ref, cluster)
            return
        at = Ref(CLUSTER, ref.namespace, cluster)
        try:
            await self._register(ref, at, dict(record.settings)["revision"], record.endpoint)
        except ApiError as error:
            raise DriverError(f"{at} does not take back {ref} as it was: {error.message}") from error

    async def _deregister(self, ref: Ref, cluster: str) -> None:
        at = Ref(CLUSTER, ref.namespace, cluster)
        if await self.find(at) is None:
            return
        async with self._client(at) as client:
            try:
                await client.delete(ConfigMap, Key("default", f"app-{ref.name}"))
            except ApiError as error:
                if error.code != 404:
                    raise DriverError(f"{at} does not let go of {ref}: {error.message}") from error

    async def _start(self, ref: Ref, command: list[str], ready: Path, cluster: str = "") -> Process:
        """Start a process, which ``cluster`` will register, and wait until its file says that it is ready."""
        home = self._records.home(ref)
        home.mkdir(exist_ok=True)
        mark = self._records.new_mark(ref, cluster)
        process = processes.start(command, mark, home / "log")
        deadline = asyncio.get_running_loop().time() + READY_S
        while not is_there(ready):
            code = processes.exit_code(process)
            if code is not None or asyncio.get_running_loop().time() > deadline:
                await processes.end(process)
                why = f"ended with {code}" if code is not None else f"was not ready within {READY_S:g} s"
                raise DriverError(f"{ref} {why}; see {home / 'log'}")
            await asyncio.sleep(POLL_S)
        return process


def is_there(path: Path) -> bool:
    """Return whether a file exists."""
    return path.exists()


def _is_other_cluster(record: Record, ref: Ref) -> bool:
    return record.ref.kind == CLUSTER and record.ref != ref
