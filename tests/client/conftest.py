"""The same client over three transports: in process, HTTP, and HTTPS with a token to ``attractor serve``.

With ``--kubeconfig`` it is the client of that cluster instead.
"""

import re
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from attractor.client import NO_RETRY, Client, ClientConfig, load_kubeconfig
from attractor.client.http import HttpTransport
from attractor.embedded import EmbeddedCluster
from attractor.httpd.auth.authentication import ADMIN, Authenticator
from tests.anycluster import KUBECONFIG, Leftovers, given_config, own_namespace, ways

PATIENCE_S = 30
TRANSPORTS = ("in-process", "http", "https")


class Served:
    """A running ``attractor serve``; ``kubeconfig`` is how to reach it."""

    def __init__(self, directory: Path, *options: str) -> None:
        self.directory = directory
        self.kubeconfig = directory / "kubeconfig"
        command = [sys.executable, "-m", "attractor", "serve", "--controllers", "none"]
        command += ["--state-dir", str(directory / "state")]
        command += ["--kubeconfig", str(self.kubeconfig), *(options or ("--listen", "127.0.0.1:0"))]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        watchdog = threading.Timer(PATIENCE_S, self.process.kill)
        watchdog.start()
        lines = []
        assert self.process.stdout is not None
        for line in self.process.stdout:
            lines.append(line.rstrip())
            if line == "ready\n":
                break
        watchdog.cancel()
        found = re.search(r"https?://127\.0\.0\.1:(\d+)", "\n".join(lines))
        assert lines[-1:] == ["ready"], lines
        assert found
        self.port = int(found.group(1))

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    server = Served(tmp_path_factory.mktemp("serve"))
    try:
        yield server
    finally:
        server.kill()


@pytest.fixture
async def cluster() -> AsyncIterator[EmbeddedCluster]:
    async with EmbeddedCluster(controllers=(), authenticator=Authenticator({"admin-token": ADMIN})) as running:
        yield running


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "client" in metafunc.fixturenames:
        metafunc.parametrize("client", ways(metafunc.config, TRANSPORTS), indirect=True)


@pytest.fixture
async def client(request: pytest.FixtureRequest, cluster: EmbeddedCluster) -> AsyncIterator[Client]:
    """A client with every right; tests that use it run once for each transport."""
    given = given_config(request.config)
    if request.param == KUBECONFIG:
        assert given is not None
        made = Client.connect(given, field_manager="tests")
    elif request.param == "in-process":
        made = cluster.client(field_manager="tests")
    elif request.param == "http":
        config = ClientConfig.of((await cluster.listen()).url, token="admin-token")
        made = Client.connect(config, field_manager="tests")
    else:
        config = load_kubeconfig(request.getfixturevalue("served").kubeconfig)
        made = Client.connect(config, field_manager="tests")
    async with made:
        yield made


@pytest.fixture
async def http(cluster: EmbeddedCluster) -> AsyncIterator[Client]:
    """A client over HTTP that never tries again by itself."""
    config = ClientConfig.of((await cluster.listen()).url, token="admin-token")
    async with Client(HttpTransport(config), retry=NO_RETRY) as made:
        yield made


@pytest.fixture
async def namespace(client: Client, leftovers: Leftovers) -> str:
    """A namespace of the test's own."""
    return await own_namespace(client, leftovers)
