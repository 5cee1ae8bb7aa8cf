"""A real etcd on loopback ports, for tests and benchmarks: it can be killed and brought back."""

from __future__ import annotations

import socket
import subprocess
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Self


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class EtcdServer:
    """One member; the data directory and the ports outlive the process."""

    def __init__(self, directory: Path, *flags: str, scheme: str = "http") -> None:
        self._directory = directory
        self._flags = flags
        self._scheme = scheme
        self.endpoint = f"127.0.0.1:{free_port()}"
        self._peer = f"http://127.0.0.1:{free_port()}"
        self._process: subprocess.Popen[str] | None = None

    @property
    def url(self) -> str:
        return f"{self._scheme}://{self.endpoint}"

    def start(self) -> Self:
        client = self.url
        command = ["etcd", "--data-dir", str(self._directory), "--logger", "zap", "--log-level", "info"]
        command += ["--listen-client-urls", client, "--advertise-client-urls", client, "--listen-peer-urls", self._peer]
        command += ["--initial-advertise-peer-urls", self._peer, "--initial-cluster", f"default={self._peer}"]
        command += ["--heartbeat-interval", "20", "--election-timeout", "200", *self._flags]
        self._process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        ready = threading.Event()
        seen: list[str] = []
        threading.Thread(target=self._drain, args=(self._process, ready, seen), daemon=True).start()
        if not ready.wait(30) or self._process.poll() is not None:
            self.kill()
            raise RuntimeError("etcd did not start:\n" + "".join(seen[-20:]))
        return self

    def kill(self) -> None:
        """As a power cut would: no goodbye."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    @staticmethod
    def _drain(process: subprocess.Popen[str], ready: threading.Event, seen: list[str]) -> None:
        assert process.stderr is not None
        with process.stderr:
            for line in process.stderr:
                if not ready.is_set():
                    seen.append(line)
                    if "serving" in line and "client" in line and "traffic" in line:
                        ready.set()
        ready.set()
