"""``attractor demo dbcluster``: a real database that an operator plans, changes and loses nothing of."""

from __future__ import annotations

import asyncio
import shutil
import sys
import tempfile
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attractor.cli.terminal import complain, is_coloured

if TYPE_CHECKING:
    import argparse
    from collections.abc import AsyncIterator, Awaitable, Callable

    from attractor.client import Client

TOKEN = "demo-token"  # noqa: S105  # it opens a server that lives for seconds, on loopback
NEEDED = ("redis-server", "redis-cli")
PATIENCE_S = 60.0
LOOK_S = 0.005


def configure(parser: argparse.ArgumentParser) -> None:
    """Say what ``attractor demo dbcluster`` takes."""
    parser.description = (
        "Start a cluster, a node that runs pods as local processes, and the database operator in a "
        "process of its own; write rows, change the database, kill the operator meanwhile, and count the rows."
    )
    parser.epilog = "example:\n  attractor demo dbcluster"
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:  # noqa: ARG001
    """Run the demonstration; 0 when no row is lost, 1 when one is, 2 when Redis is not installed."""
    missing = [program for program in NEEDED if shutil.which(program) is None]
    if missing:
        complain(f"the demonstration needs {', '.join(missing)}", "install it with: apt-get install redis-server")
        return 2
    with tempfile.TemporaryDirectory(prefix="attractor-demo-") as directory:
        return asyncio.run(_demo(Path(directory)))


def _say(step: str, text: str) -> None:
    print(f"{step:<10}{text}", flush=True)


async def _demo(directory: Path) -> int:
    from attractor.embedded import EmbeddedCluster
    from attractor.httpd.auth.authentication import ADMIN, Authenticator
    from attractor.operators.dbcluster.drivers.local import LocalNode, Node, controllers
    from attractor.runtime import Manager

    async with EmbeddedCluster(authenticator=Authenticator({TOKEN: ADMIN})) as cluster, cluster.client() as client:
        kubeconfig = await _kubeconfig(cluster, directory)
        async with (
            LocalNode(directory / "node") as node,
            Manager(client, controllers, externals={Node: node}).running(),
        ):
            _say("run", "a Kubernetes API, and a node that runs pods as processes on loopback addresses")
            return await _Story(client, kubeconfig).tell()


async def _kubeconfig(cluster: Any, directory: Path) -> Path:
    from attractor.embedded.kubeconfig import KubeconfigFile, kubeconfig

    address = await cluster.listen()
    file = KubeconfigFile(directory / "kubeconfig", kubeconfig(address.url, TOKEN, None))
    file.write()
    return file.path


@asynccontextmanager
async def _operator(kubeconfig: Path) -> AsyncIterator[asyncio.subprocess.Process]:
    """The operator, as anybody would run it, in a process of its own."""
    module = "attractor.operators.dbcluster.controllers.controller:clusters"
    words = ("-P", "-m", "attractor", "run", module, "--kubeconfig", str(kubeconfig), "--install-crds")
    process = await asyncio.create_subprocess_exec(
        sys.executable, *words, "--log-level", "error", stdout=asyncio.subprocess.PIPE
    )
    try:
        assert process.stdout is not None
        await asyncio.wait_for(process.stdout.readuntil(b"running:"), PATIENCE_S)
        yield process
    finally:
        if process.returncode is None:
            process.terminate()
            await process.wait()


async def _until(condition: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while True:
            if await condition():
                return
            await asyncio.sleep(LOOK_S)


class _Story:
    """The demonstration on one cluster, step by step."""

    def __init__(self, client: Client, kubeconfig: Path) -> None:
        from attractor.objects.gvk import Key

        self.client = client
        self.kubeconfig = kubeconfig
        self.key = Key("default", "shop")

    async def tell(self) -> int:
        """All of it; the exit code."""
        from attractor.operators.dbcluster.drivers.row_writer import RowWriter

        async with _operator(self.kubeconfig) as operator:
            _say("operate", f"the operator is process {operator.pid}")
            await self.create(policy="Halt")
            password = await self.password()
            writer = RowWriter(self.client, self.key)
            async with writer.running():
                await _until(lambda: writer.has_rows(20))
                _say("write", f"{len(writer.acknowledged)} rows are acknowledged, and more are being written")
                await self.show_plan()
                before = await self.configs()
                await self.change()
                await _until(lambda: self.has_new_config(before))
                operator.kill()
                await operator.wait()
                _say(
                    "crash", f"kill -9 of process {operator.pid}; the new ConfigMap is there, and {await self.so_far()}"
                )
                async with _operator(self.kubeconfig) as successor:
                    _say("operate", f"its successor is process {successor.pid}")
                    await _until(lambda: self.is_running(2))
                    await _until(lambda: self.has_gone(before))
                    _say("change", "rolled out pod by pod; the old ConfigMap is gone, the password is the same one")
                    assert await self.password() == password, "the password was made anew"
                    await writer.stop()
                    lost = await writer.lost()
                    _say("count", f"{len(writer.acknowledged)} rows were acknowledged, {len(lost)} are lost")
                    return 1 if lost else await self.halt_and_return(writer)

    async def create(self, policy: str) -> None:
        from attractor.objects.resource import ObjectMeta
        from attractor.operators.dbcluster import Cluster, ClusterSpec, Component, ServiceSpec

        spec = ClusterSpec(
            components=[Component(name="cache", replicas=2)],
            services=[ServiceSpec(name="write", component="cache")],
            termination_policy=policy,  # type: ignore[arg-type]  # one of the four
        )
        meta = ObjectMeta(name=self.key.name, namespace=self.key.namespace)
        await self.client.create(Cluster(metadata=meta, spec=spec))
        await _until(lambda: self.is_running(1))
        _say("create", "Cluster shop is Running: two Redis processes, a primary and its copy")

    async def show_plan(self) -> None:
        """Print the plan of the change before it is made."""
        from attractor.operators.dbcluster import Cluster
        from attractor.operators.dbcluster.controllers.dry_run import plan_for
        from attractor.plan import report

        cluster = await self.client.get(Cluster, self.key)
        cluster.spec.components[0].config = {"maxclients": "64"}
        cluster.spec.components[0].version = "7.2"
        plan = await plan_for(self.client, cluster)
        text = report(plan, colour=is_coloured(sys.stdout))
        _say("plan", f"what the next change is going to do, as a dry run shows it:\n\n{_indented(text)}\n")

    async def change(self) -> None:
        from attractor.operators.dbcluster import Cluster

        changed = {"name": "cache", "replicas": 2, "version": "7.2", "config": {"maxclients": "64"}}
        await self.client.patch(Cluster, self.key, {"spec": {"components": [changed]}})

    async def halt_and_return(self, writer: Any) -> int:
        """Delete the cluster with its policy Halt, and create it again."""
        from attractor.k8s.core_v1 import Pod
        from attractor.operators.dbcluster import Cluster

        await self.client.delete(Cluster, self.key)
        await _until(lambda: self.is_absent(Cluster))
        await _until(lambda: self.is_absent(Pod))
        _say("delete", "the cluster is gone; its policy Halt kept the credentials and the data")
        await self.create(policy="Delete")
        lost = await writer.lost()
        _say("count", f"{len(writer.acknowledged)} rows were acknowledged, {len(lost)} are lost")
        await self.client.delete(Cluster, self.key)
        await _until(lambda: self.is_absent(Cluster))
        return 1 if lost else 0

    async def so_far(self) -> str:
        """Return how much of the change was carried out."""
        from attractor.k8s.apps_v1 import StatefulSet
        from attractor.objects.gvk import Key

        workload = await self.client.get(StatefulSet, Key("default", "shop-cache"))
        is_changed = workload.spec.template.spec.containers[0].image == "redis:7.2"
        return "the StatefulSet is changed" if is_changed else "the StatefulSet is not changed yet"

    async def password(self) -> bytes:
        from attractor.k8s.core_v1 import Secret
        from attractor.objects.gvk import Key

        return (await self.client.get(Secret, Key("default", "shop-credentials"))).data["password"]

    async def configs(self) -> set[str]:
        from attractor.k8s.core_v1 import ConfigMap

        listed = await self.client.list(ConfigMap, "default", label_selector="app.kubernetes.io/instance=shop")
        return {one.metadata.name for one in listed}

    async def has_new_config(self, before: set[str]) -> bool:
        return bool(await self.configs() - before)

    async def has_gone(self, before: set[str]) -> bool:
        return not await self.configs() & before

    async def is_running(self, generation: int) -> bool:
        from attractor.operators.dbcluster import Cluster

        status = (await self.client.get(Cluster, self.key)).status
        return status.phase == "Running" and status.observed_generation == generation

    async def is_absent(self, kind: Any) -> bool:
        return not await self.client.list(kind, "default")


def _indented(text: str) -> str:
    return "\n".join(f"    {line}".rstrip() for line in text.splitlines())
