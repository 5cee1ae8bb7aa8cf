"""A container runtime of its own for tests: Podman with its own storage, on a socket in a temporary directory."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

IMAGE = "localhost/attractor-busybox:1"
APPLETS = ("sh", "sleep", "cat", "echo", "httpd", "nc", "wget", "ls", "true", "false", "env", "stat", "mkdir", "kill")
WITHIN_S = 30.0
SETTINGS = """\
[containers]
default_ulimits = ["nofile=20000:20000", "nproc=32768:32768"]
log_driver = "k8s-file"
[network]
default_subnet = "10.{one}.{other}.0/24"
default_subnet_pools = [{{"base" = "10.{pool}.{other}.0/20", "size" = 28}}]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
"""
"""Each has subnets of its own: several share one machine's bridges."""


class Podman:
    """A service that answers on a socket, and may be killed and brought back."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.socket = str(directory / "s")
        for name in ("root", "run", "tmp", "networks"):
            (directory / name).mkdir()
        one, other, pool = 100 + os.getpid() % 50, 16 * (os.getpid() // 50 % 16), 150 + os.getpid() % 50
        (directory / "containers.conf").write_text(SETTINGS.format(one=one, other=other, pool=pool))
        self._environment = {**os.environ, "CONTAINERS_CONF": str(directory / "containers.conf")}
        self._process: subprocess.Popen[bytes] | None = None

    def command(self, *words: str) -> list[str]:
        """The program with its own storage."""
        places = {"root": "root", "runroot": "run", "tmpdir": "tmp", "network-config-dir": "networks"}
        return ["podman", *(f"--{option}={self._directory / name}" for option, name in places.items()), *words]

    def run(self, *words: str) -> str:
        """Answer what a command prints."""
        done = subprocess.run(self.command(*words), env=self._environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def build_image(self) -> None:
        """An image with the applets of a busybox that needs no libraries."""
        home = self._directory / "image"
        (home / "bin").mkdir(parents=True)
        (home / "tmp").mkdir()
        shutil.copy("/bin/busybox", home / "bin")
        for applet in APPLETS:
            (home / "bin" / applet).symlink_to("busybox")
        subprocess.run(["tar", "-C", str(home), "-cf", str(self._directory / "image.tar"), "."], check=True)
        self.run("import", str(self._directory / "image.tar"), IMAGE)

    def start(self) -> None:
        """Serve, and wait until somebody answers."""
        Path(self.socket).unlink(missing_ok=True)
        with (self._directory / "log").open("ab") as log:
            self._process = subprocess.Popen(
                self.command("system", "service", "--time", "0", f"unix://{self.socket}"),
                env=self._environment,
                stdout=log,
                stderr=log,
            )
        deadline = time.monotonic() + WITHIN_S
        while not self._answers():
            assert time.monotonic() < deadline, (self._directory / "log").read_text()
            assert self._process.poll() is None, (self._directory / "log").read_text()

    def _answers(self) -> bool:
        with socket.socket(socket.AF_UNIX) as one:
            try:
                one.connect(self.socket)
                one.sendall(b"GET /_ping HTTP/1.0\r\n\r\n")
                return one.recv(64).startswith(b"HTTP/1")
            except OSError:
                return False

    def stop(self) -> None:
        """Kill the service; containers go on."""
        assert self._process is not None
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()

    def clear(self) -> None:
        """Remove all containers, networks and volumes."""
        self.run("rm", "--all", "--force", "--time", "0")
        self.run("network", "prune", "--force")
        self.run("volume", "prune", "--force")

    @property
    def names(self) -> list[str]:
        """The names of all containers that are there."""
        return sorted(self.run("ps", "--all", "--format", "{{.Names}}").split())


@contextmanager
def podman() -> Iterator[Podman]:
    """A service with an image; everything is ended and removed with it. Its directory's name must be short."""
    directory = Path(tempfile.mkdtemp(prefix="podman-"))
    made = Podman(directory)
    made.build_image()
    made.start()
    try:
        yield made
    finally:
        made.clear()
        made.stop()
        made.run("system", "reset", "--force")
        shutil.rmtree(directory, ignore_errors=True)
