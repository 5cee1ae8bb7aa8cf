"""``attractor serve`` as a process, for tests that judge it from outside: started, killed without a goodbye, started again."""

from __future__ import annotations

import base64
import re
import ssl
import subprocess
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

import yaml

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import Self

START_S = 60
STOP_S = 20


class Serving:
    """One server over TLS on a free port; its directory, and so its certificates and store, outlive the process."""

    def __init__(self, directory: Path, *options: str) -> None:
        directory.mkdir(exist_ok=True)
        self._directory = directory
        self._options = options
        self.kubeconfig = directory / "kubeconfig"
        self.port = 0
        self._process: subprocess.Popen[str] | None = None
        self._listener = "127.0.0.1:0"

    def start(self) -> Self:
        """Returns when it is ready; the port stays the same from one start to the next."""
        command = [sys.executable, "-m", "attractor", "serve", "--listen", self._listener]
        command += ["--state-dir", str(self._directory / "state"), "--kubeconfig", str(self.kubeconfig), *self._options]
        log = (self._directory / "server.log").open("a")
        with log:
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
        self._process = process
        watchdog = threading.Timer(START_S, process.kill)
        watchdog.start()
        assert process.stdout is not None
        lines = []
        for line in process.stdout:
            lines.append(line)
            if line == "ready\n":
                break
        watchdog.cancel()
        said = "".join(lines)
        found = re.search(r"address: +https://127\.0\.0\.1:(\d+)\n", said)
        assert found, f"attractor serve did not become ready: {said}{self.log}"
        self.port = int(found.group(1))
        self._listener = f"127.0.0.1:{self.port}"
        return self

    @property
    def log(self) -> str:
        """What it said on stderr so far."""
        return (self._directory / "server.log").read_text()

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    @property
    def token(self) -> str:
        """The administrator's, from the kubeconfig."""
        token: str = yaml.safe_load(self.kubeconfig.read_text())["users"][0]["user"]["token"]
        return token

    @property
    def authority(self) -> str:
        """The certificate authority to trust, PEM."""
        cluster = yaml.safe_load(self.kubeconfig.read_text())["clusters"][0]["cluster"]
        return base64.b64decode(cluster["certificate-authority-data"]).decode()

    @property
    def trust(self) -> ssl.SSLContext:
        return ssl.create_default_context(cadata=self.authority)

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def kill(self) -> None:
        """As a power cut would: no goodbye."""
        if self._process is not None:
            self._process.kill()
            self._ended()

    def stop(self) -> int:
        """With a goodbye; the exit code."""
        assert self._process is not None
        process = self._process
        process.terminate()
        try:
            process.wait(STOP_S)
        finally:
            self.kill()
        return process.returncode

    def _ended(self) -> None:
        assert self._process is not None
        assert self._process.stdout is not None
        self._process.wait()
        self._process.stdout.close()
        self._process = None


@contextmanager
def serving(directory: Path, *options: str) -> Iterator[Serving]:
    """A server that runs inside the ``with`` and has logged no internal error at its end."""
    server = Serving(directory, *options)
    try:
        yield server.start()
        assert "Traceback" not in server.log, server.log
    finally:
        server.kill()
