"""``attractor demo edge``: three cloudlets with real agents; one is killed at work, one is upgraded."""

from __future__ import annotations

import asyncio
import signal
import sys
import tempfile
import time
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attractor.operators.edge.cli.demo_table import StateTable

if TYPE_CHECKING:
    import argparse

    from attractor.client import Client

TOKEN = "demo-token"  # noqa: S105  # it opens a server that lives for seconds, on loopback
CLOUDLETS = ("berlin", "paris", "rome")
KILLED, UPGRADED = "rome", "paris"
WITHIN_S = 60.0
INTERRUPTED = 130


def configure(parser: argparse.ArgumentParser) -> None:
    """Say what ``attractor demo edge`` takes."""
    parser.description = (
        "Start the embedded server, a coordinator and the agents of three cloudlets as processes; run a "
        "cluster and an app on each; kill an agent at work; upgrade another; and take everything down."
    )
    parser.epilog = "example:\n  attractor demo edge"
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:  # noqa: ARG001
    """Run the demonstration."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    try:
        with tempfile.TemporaryDirectory(prefix="attractor-edge-") as directory:
            demo = EdgeDemo(Path(directory))
            try:
                asyncio.run(demo.show())
            finally:
                demo.end_all()
    except KeyboardInterrupt:
        print("\nstopped; all that was started is ended")
        return INTERRUPTED
    return 0


class EdgeDemo:
    """One run: a server and a coordinator in this process, agents and instances as processes of their own."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._agents: dict[str, asyncio.subprocess.Process] = {}
        self._client: Client | None = None
        self._table: StateTable | None = None

    def _say(self, step: str, text: str) -> None:
        assert self._table is not None, "the demonstration has not begun"
        self._table.say(step, text)

    @property
    def client(self) -> Client:
        """The administrator's."""
        assert self._client is not None, "the demonstration has not begun"
        return self._client

    async def show(self) -> None:
        """The whole demonstration."""
        from attractor.embedded import EmbeddedCluster
        from attractor.embedded.kubeconfig import kubeconfig
        from attractor.httpd.auth.authentication import ADMIN, Authenticator
        from attractor.operators.edge.admission import PLUGINS
        from attractor.operators.edge.cli.programs import install_kinds
        from attractor.operators.edge.controllers.declarations import CONTROLLERS
        from attractor.operators.edge.drivers.process_launcher import write_secret
        from attractor.runtime import Manager

        started = time.perf_counter()
        async with AsyncExitStack() as stack:
            server = EmbeddedCluster(authenticator=Authenticator({TOKEN: ADMIN}), admission=PLUGINS)
            cluster = await stack.enter_async_context(server)
            address = await cluster.listen()
            write_secret(self._directory / "admin", kubeconfig(address.url, TOKEN, None))
            self._client = await stack.enter_async_context(cluster.client())
            await install_kinds(self.client)
            coordinating = await stack.enter_async_context(cluster.client())
            await stack.enter_async_context(Manager(coordinating, CONTROLLERS, grace_s=1).running())
            self._table = await stack.enter_async_context(StateTable(self.client, CLOUDLETS, started))
            self._say("serve", f"an API server on {address.url}, and a coordinator")
            await self._create()
            await self._crash()
            await self._upgrade()
            await self._take_down()
            for agent in self._agents.values():
                if agent.returncode is None:
                    agent.terminate()
                await agent.wait()
            self._say("done", f"in {time.perf_counter() - started:.0f} s")

    async def _create(self) -> None:
        from attractor.k8s.core_v1 import Namespace
        from attractor.objects.resource import ObjectMeta
        from attractor.operators.edge.api.types import AppInst, AppInstSpec, Cloudlet, ClusterInst
        from attractor.operators.edge.cli.credentials import agent_kubeconfig
        from attractor.operators.edge.drivers.process_launcher import write_secret

        self._say("agents", "one process for each cloudlet, with rights in its namespace only")
        for name in CLOUDLETS:
            await self.client.create(Namespace(metadata=ObjectMeta(name=name)))
            await self.client.create(Cloudlet(metadata=ObjectMeta(name=name, namespace=name)))
            config = await agent_kubeconfig(self.client, self._directory / "admin", name)
            write_secret(self._directory / name / "kubeconfig", config)
            await self._start_agent(name)
        for name in CLOUDLETS:
            await self._wait(Cloudlet, name, name, "Ready")
        self._say("create", "a cluster and an app on each; an app waits for its cluster")
        for name in CLOUDLETS:
            await self.client.create(ClusterInst(metadata=ObjectMeta(name="one", namespace=name)))
            spec = AppInstSpec(cluster="one", auto_delete=True)
            await self.client.create(AppInst(metadata=ObjectMeta(name="shop", namespace=name), spec=spec))

    async def _crash(self) -> None:
        from attractor.operators.edge.api.types import AppInst, ClusterInst

        await self._wait(ClusterInst, KILLED, "one", "Creating")
        process = self._agents.pop(KILLED)
        process.kill()
        await process.wait()
        self._say("crash", f"the agent of {KILLED} was killed while it created a cluster")
        await self._start_agent(KILLED)
        self._say("restart", "it finds what it had begun, and goes on")
        for name in CLOUDLETS:
            await self._wait(AppInst, name, "shop", "Ready")

    async def _upgrade(self) -> None:
        from attractor.objects.errors import ApiError
        from attractor.objects.gvk import Key
        from attractor.operators.edge.api.types import Cloudlet, ClusterInst

        self._say("upgrade", f"{UPGRADED}: agent 1 starts agent 2, which takes over and ends it")
        await self.client.patch(Cloudlet, Key(UPGRADED, UPGRADED), {"spec": {"version": "2"}})
        await self._wait(Cloudlet, UPGRADED, UPGRADED, "Updating")
        try:
            await self.client.patch(ClusterInst, Key(UPGRADED, "one"), {"spec": {"nodes": 2}})
        except ApiError as refusal:
            self._say("refuse", "a change meanwhile: " + refusal.message.rpartition("forbidden: ")[2])
        await self._wait(Cloudlet, UPGRADED, UPGRADED, "Ready")
        self._say("resume", "agent 2 serves, and the cluster and the app went on meanwhile")

    async def _take_down(self) -> None:
        from attractor.objects.gvk import Key
        from attractor.operators.edge.api.types import ClusterInst

        self._say("delete", "the clusters; their apps go first")
        for name in CLOUDLETS:
            await self.client.delete(ClusterInst, Key(name, "one"))
        async with asyncio.timeout(WITHIN_S):
            while True:
                if not await self.client.list(ClusterInst):
                    break
                await asyncio.sleep(0.1)
        left = sum(record.process.is_alive for name in CLOUDLETS for record in self._records(name).all())
        self._say("", f"{left} instances still run")

    async def _wait(self, kind: Any, namespace: str, name: str, state: str) -> None:
        from attractor.objects.gvk import Key

        async with asyncio.timeout(WITHIN_S):
            while True:
                found = await self.client.get(kind, Key(namespace, name))
                if found.status is not None and found.status.state == state:
                    return
                await asyncio.sleep(0.02)

    async def _start_agent(self, name: str) -> None:
        home = self._directory / name
        arguments = ["--namespace", name, "--kubeconfig", str(home / "kubeconfig"), "--state-dir", str(home / "state")]
        command = [sys.executable, "-P", "-m", "attractor", "edge", "agent", *arguments, "--log-level", "error"]
        with (home / "log").open("ab") as log:
            self._agents[name] = await asyncio.create_subprocess_exec(
                *command, stdout=log, stderr=log, start_new_session=True
            )

    def _records(self, name: str) -> Any:
        from attractor.operators.edge.drivers.records import Records

        return Records(self._directory / name / "state" / "instances")

    def end_all(self) -> None:
        """End every agent and instance that is still there, or was just being started, whatever happened."""
        from attractor.operators.local.processes import kill_naming

        kill_naming(self._directory)
