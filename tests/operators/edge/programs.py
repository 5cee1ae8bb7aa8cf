"""The edge as real processes: the API server, coordinators and agents, each of which can be killed without a goodbye."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import urllib.request
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from attractor.client import Client, load_kubeconfig
from attractor.client.http.transport import HttpTransport
from attractor.embedded import EmbeddedCluster
from attractor.embedded.kubeconfig import kubeconfig
from attractor.httpd.auth.authentication import ADMIN, Authenticator
from attractor.k8s.core_v1 import Namespace
from attractor.objects.errors import NotFound
from attractor.objects.gvk import Key
from attractor.objects.resource import ObjectMeta
from attractor.operators.edge.admission import PLUGINS
from attractor.operators.edge.api.types import (
    AppInst,
    AppInstSpec,
    Cloudlet,
    CloudletSpec,
    ClusterInst,
    ClusterInstSpec,
)
from attractor.operators.edge.cli.credentials import agent_kubeconfig
from attractor.operators.edge.drivers.process_launcher import AgentLock
from attractor.operators.edge.drivers.protocols import Ref
from attractor.operators.local.processes import PROC, kill_naming
from attractor.testing import eventually

if TYPE_CHECKING:
    from typing import Self

    from attractor.operators.local.processes import Process
    from tests.operators.edge.holds import Holds

WITHIN_S = 60.0
TOKEN = "programs"
ROOT = Path(__file__).parents[3]
GATED = ("--driver", "tests.operators.edge.gated:make")


class Program:
    """One process of the command line; its output goes to a file."""

    def __init__(self, directory: Path, name: str, *arguments: str) -> None:
        self.name = name
        self._arguments = arguments
        self.log = directory / f"{name}.log"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> Self:
        with self.log.open("ab") as log:
            command = [sys.executable, "-m", "attractor", *self._arguments]
            self._process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True, cwd=ROOT)
        return self

    def kill(self) -> None:
        """As a power cut would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    @property
    def code(self) -> int | None:
        """How it ended; None while it runs."""
        assert self._process is not None
        return self._process.poll()

    def signal(self, number: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(number)


class Programs:
    """A server, and whatever is started beside it, all in one directory; nothing of it runs on afterwards.

    The server is a process of its own, or in this one where a test gives it ``holds`` to stop things by.
    """

    def __init__(self, directory: Path, holds: Holds | None = None) -> None:
        self.directory = directory
        self.admin_config = directory / "admin"
        self.holds = holds
        self._stack = ExitStack()
        self._embedded: EmbeddedCluster | None = None
        self._client: Client | None = None

    @property
    def admin(self) -> Client:
        assert self._client is not None
        return self._client

    async def __aenter__(self) -> Self:
        if self.holds is None:
            await self._start_server()
        else:
            tokens = Authenticator({TOKEN: ADMIN})
            self._embedded = EmbeddedCluster(authenticator=tokens, admission=(*PLUGINS, self.holds))
            await self._embedded.__aenter__()
            self.admin_config.write_bytes(kubeconfig((await self._embedded.listen()).url, TOKEN, None))
        self._client = Client(HttpTransport(load_kubeconfig(self.admin_config)))
        return self

    async def _start_server(self) -> None:
        options = ["--listen", "127.0.0.1:0", "--kubeconfig", str(self.admin_config), "--log-level", "error"]
        options += ["--state-dir", str(self.directory / "server")]
        server = self.program("server", "edge", "serve", *options)
        try:
            await eventually(lambda: self.admin_config.exists() or server.code is not None, within_s=WITHIN_S)
            assert server.code is None, server.log.read_text()
        except BaseException:
            self._stack.close()
            raise

    async def __aexit__(self, *_: object) -> None:
        self._stack.close()
        self._end_leftovers()
        await self.admin.transport.aclose()
        if self._embedded is not None:
            await self._embedded.__aexit__(None, None, None)

    def program(self, name: str, *arguments: str) -> Program:
        """A process that runs until it is killed, or the test is over."""
        made = Program(self.directory, name, *arguments).start()
        self._stack.callback(made.kill)
        return made

    def _end_leftovers(self) -> None:
        """End what outlives its starter by design: instances, and agents that were started by agents."""
        kill_naming(self.directory)

    def _holders(self, cloudlet: str) -> dict[str, Process]:
        state_dir = self.state_dir(cloudlet)
        locks = {path.stem.removeprefix("agent-") for path in state_dir.glob("agent-*.lock")}
        return {version: holder for version in locks if (holder := AgentLock(state_dir, version).holder()) is not None}

    def agents(self, cloudlet: str = "berlin") -> set[str]:
        """The versions of the agents that run on a cloudlet."""
        return set(self._holders(cloudlet))

    def end_cloudlet(self, cloudlet: str) -> None:
        """Kill every agent of a cloudlet, whoever started it."""
        for holder in self._holders(cloudlet).values():
            os.kill(holder.pid, signal.SIGKILL)

    async def coordinator(self, name: str = "coordinator", config: Path | None = None) -> Program:
        path = str(config or self.admin_config)
        made = self.program(name, "edge", "coordinator", "--kubeconfig", path, "--log-level", "warning")

        async def serves() -> bool:
            await self.admin.list(AppInst, limit=1)
            return True

        await eventually(serves, within_s=WITHIN_S)
        return made

    async def cloudlet(self, name: str = "berlin", version: str = "1") -> None:
        await self.admin.create(Namespace(metadata=ObjectMeta(name=name)))
        meta = ObjectMeta(name=name, namespace=name)
        await self.admin.create(Cloudlet(metadata=meta, spec=CloudletSpec(version=version)))

    def state_dir(self, cloudlet: str = "berlin") -> Path:
        return self.directory / f"cloudlet-{cloudlet}"

    async def credentials(self, cloudlet: str = "berlin", server: str = "", **options: Any) -> Path:
        """The agent's kubeconfig; ``server`` names another way to the API server, such as a proxy."""
        path = self.state_dir(cloudlet) / "first.kubeconfig"
        path.parent.mkdir(exist_ok=True)
        text = await agent_kubeconfig(self.admin, self.admin_config, cloudlet, **options)
        if server:
            document = yaml.safe_load(text)
            document["clusters"][0]["cluster"]["server"] = server
            text = yaml.safe_dump(document).encode()
        path.write_bytes(text)
        return path

    def agent(self, cloudlet: str = "berlin", *options: str, version: str = "") -> Program:
        state_dir = self.state_dir(cloudlet)
        chosen = version or (state_dir / "version").read_text() if (state_dir / "version").exists() else version or "1"
        config = state_dir / ("first.kubeconfig" if chosen == "1" else f"agent-{chosen}.kubeconfig")
        arguments = [
            "edge",
            "agent",
            "--namespace",
            cloudlet,
            "--kubeconfig",
            str(config),
            "--state-dir",
            str(state_dir),
        ]
        arguments += ["--log-level", "warning", *options, *(["--version", version] if version else [])]
        return self.program(f"agent-{cloudlet}", *arguments)

    async def started(self, cloudlet: str = "berlin", *options: str) -> Program:
        """A cloudlet with its agent, Ready."""
        await self.cloudlet(cloudlet)
        await self.credentials(cloudlet)
        agent = self.agent(cloudlet, *options)
        await self.wait(Cloudlet, cloudlet, "Ready", cloudlet)
        return agent

    async def create_cluster(self, name: str = "one", cloudlet: str = "berlin", **spec: Any) -> None:
        meta = ObjectMeta(name=name, namespace=cloudlet)
        await self.admin.create(ClusterInst(metadata=meta, spec=ClusterInstSpec(**spec)))

    async def create_app(self, name: str = "shop", cluster: str = "one", cloudlet: str = "berlin", **spec: Any) -> None:
        meta = ObjectMeta(name=name, namespace=cloudlet)
        await self.admin.create(AppInst(metadata=meta, spec=AppInstSpec(cluster=cluster, **spec)))

    async def status(self, kind: Any, name: str, cloudlet: str = "berlin") -> Any:
        return (await self.admin.get(kind, Key(cloudlet, name))).status

    async def wait(self, kind: Any, name: str, state: str, cloudlet: str = "berlin") -> Any:
        async def is_so() -> Any:
            status = await self.status(kind, name, cloudlet)
            assert status is not None
            assert status.state == state, status
            return status

        return await eventually(is_so, within_s=WITHIN_S)

    async def wait_gone(self, kind: Any, name: str, cloudlet: str = "berlin") -> None:
        async def is_so() -> bool:
            try:
                await self.admin.get(kind, Key(cloudlet, name))
            except NotFound:
                return True
            return False

        await eventually(is_so, within_s=WITHIN_S)

    def running(self, cloudlet: str = "berlin") -> set[Ref]:
        """What really runs on a cloudlet, by the processes of this machine: not what the driver has written down."""
        home, found = str(self.state_dir(cloudlet) / "instances"), set()
        for entry in PROC.iterdir():
            if not entry.name.isdigit():
                continue
            try:
                words = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
                is_zombie = (entry / "stat").read_text().rpartition(")")[2].split()[0] == "Z"
            except OSError:
                continue
            for word in words:
                if word.startswith(home + "/") and not is_zombie:
                    found.add(Ref(*word.removeprefix(home + "/").split("/")[0].split(".", 2)))
        return found

    def gate(self, place: str, cloudlet: str = "berlin") -> None:
        """Hold work ``before``, ``during`` or ``after`` it is done; with nothing, let it go on."""
        directory = self.state_dir(cloudlet)
        (directory / "gate.reached").unlink(missing_ok=True)
        (directory / "gate").write_text(place)

    async def wait_gate(self, cloudlet: str = "berlin") -> None:
        """Wait until work is held."""
        await eventually((self.state_dir(cloudlet) / "gate.reached").exists, within_s=WITHIN_S)

    def fail_next(self, name: str = "") -> None:
        """Let the next piece of work on berlin fail, or the next on an instance of it."""
        (self.state_dir() / "fail").write_text(name)

    @property
    def url(self) -> str:
        return load_kubeconfig(self.admin_config).server

    @property
    def server_port(self) -> int:
        return int(self.url.rpartition(":")[2])

    async def ask(self, endpoint: str) -> Any:
        """What an app answers."""

        def fetch() -> Any:
            with urllib.request.urlopen(endpoint, timeout=10) as answer:
                return json.load(answer)

        return await asyncio.to_thread(fetch)
