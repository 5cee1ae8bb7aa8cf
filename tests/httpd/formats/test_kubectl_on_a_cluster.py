"""kubectl against a whole cluster over HTTPS: what the formats say is what the server does."""

import asyncio
import json
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from attractor.embedded import EmbeddedCluster
from attractor.httpd.auth.authentication import ADMIN, Authenticator
from attractor.httpd.auth.certificates import ensure_certificates
from attractor.httpd.tls import server_context

from .definitions import WIDGET_SCHEMA


class Kubectl:
    """Runs kubectl as the administrator."""

    def __init__(self, home: Path, *flags: str) -> None:
        self.home = home
        self.flags = flags

    async def start(self, command: str, *more: str) -> asyncio.subprocess.Process:
        """Run a command and hand out the process; an underscore stands for a space within a word."""
        words = [word.replace("_", " ") for word in command.split()]
        return await asyncio.create_subprocess_exec(
            "kubectl", *self.flags, *words, *more,
            env={**os.environ, "HOME": str(self.home), "KUBECONFIG": str(self.home / "none")},
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
        )  # fmt: skip

    async def __call__(self, command: str, *more: str, stdin: str = "", code: int = 0) -> str:
        """Run a command to its end; what it printed."""
        process = await self.start(command, *more)
        out, _ = await asyncio.wait_for(process.communicate(stdin.encode()), 60)
        assert process.returncode == code, out.decode()
        return out.decode()


@pytest.fixture
async def kubectl(tmp_path: Path) -> AsyncIterator[Kubectl]:
    files = ensure_certificates(tmp_path, ["localhost"])
    async with EmbeddedCluster(authenticator=Authenticator({"admin-token": ADMIN})) as cluster:
        address = await cluster.listen(tls=server_context(files.cert, files.key))
        server = f"https://localhost:{address.port}"
        yield Kubectl(tmp_path, "--server", server, "--certificate-authority", str(files.ca), "--token", "admin-token")


def rows(table: str) -> list[list[str]]:
    return [line.split() for line in table.strip().splitlines()]


async def test_imperative_creates_arrive_and_are_shown(kubectl: Kubectl) -> None:
    await kubectl("create configmap c --from-literal=a=1")
    await kubectl("create deployment d --image=nginx --replicas=2")
    await kubectl("create service clusterip s --tcp=80")
    await kubectl("create job j --image=busybox")
    await kubectl("create quota q --hard=pods=1")
    header, row = rows(await kubectl("get configmap c"))
    assert (header, row[:2]) == (["NAME", "DATA", "AGE"], ["c", "1"])
    assert rows(await kubectl("get deploy d --no-headers -o wide"))[0][:4] == ["d", "0/2", "0", "0"]
    assert rows(await kubectl("get svc s --no-headers"))[0][1] == "ClusterIP"
    assert rows(await kubectl("get job j --no-headers"))[0][:3] == ["j", "Running", "0/1"]
    assert (await kubectl("get quota q -o jsonpath={.spec.hard.pods}")) == "1"


async def test_questions_about_access_are_answered(kubectl: Kubectl) -> None:
    assert await kubectl("auth can-i create deployments") == "yes\n"
    assert "attractor:admin" in await kubectl("auth whoami")
    assert "*.*" in await kubectl("auth can-i --list")


async def test_custom_kind_is_discovered_explained_applied_and_shown(kubectl: Kubectl) -> None:
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": WIDGET_SCHEMA},
        "additionalPrinterColumns": [{"name": "Size", "type": "integer", "jsonPath": ".spec.size"}],
    }
    crd = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.org"},
        "spec": {
            "group": "example.org",
            "names": {"plural": "widgets", "kind": "Widget", "shortNames": ["wd"]},
            "scope": "Namespaced",
            "versions": [version],
        },
    }
    await kubectl("apply -f -", stdin=json.dumps(crd))
    await kubectl("wait --for=condition=Established crd/widgets.example.org --timeout=30s")
    widget = {"apiVersion": "example.org/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"size": 3}}
    assert await kubectl("apply -f -", stdin=json.dumps(widget)) == "widget.example.org/w created\n"
    assert rows(await kubectl("get wd")) == [["NAME", "SIZE"], ["w", "3"]]
    assert "What the widget should be." in await kubectl("explain widget.spec")
    widget["spec"] = {"size": 4}
    assert "+  size: 4" in await kubectl("diff -f -", stdin=json.dumps(widget), code=1)
    assert await kubectl("apply --server-side --force-conflicts -f -", stdin=json.dumps(widget)) == (
        "widget.example.org/w serverside-applied\n"
    )
    refused = await kubectl("create -f -", stdin=json.dumps({**widget, "metadata": {"name": "x"}, "colour": 1}), code=1)
    assert 'strict decoding error: unknown field "colour"' in refused


async def test_watch_prints_tables_as_they_change(kubectl: Kubectl) -> None:
    await kubectl("create configmap c --from-literal=a=1")
    watching = await kubectl.start("get configmaps -w --output-watch-events")
    assert watching.stdout is not None
    async with asyncio.timeout(60):
        assert (await watching.stdout.readline()).split() == [b"EVENT", b"NAME", b"DATA", b"AGE"]
        assert (await watching.stdout.readline()).split()[:3] == [b"ADDED", b"c", b"1"]
        await kubectl("patch configmap c --type=merge -p", '{"data":{"b":"2"}}')
        assert (await watching.stdout.readline()).split()[:3] == [b"MODIFIED", b"c", b"2"]
        await kubectl("delete configmap c")
        assert (await watching.stdout.readline()).split()[:3] == [b"DELETED", b"c", b"2"]
        watching.terminate()
        await watching.communicate()
