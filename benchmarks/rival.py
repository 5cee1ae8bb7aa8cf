"""A real kube-apiserver with its etcd, for the same measurements in the same run.

Used where ``KUBEBUILDER_ASSETS`` names a directory with both binaries (`setup-envtest use -p path` makes one). It has
the same one core as ours; it serves TLS only, so its figures are to be compared with ours under ``over_tls``.
"""

from __future__ import annotations

import os
import socket
import ssl
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from loadclient import Target

READY_S = 120


def assets() -> Path | None:
    """The directory with both binaries, if there is one."""
    directory = Path(os.environ.get("KUBEBUILDER_ASSETS", "/nowhere"))
    return directory if all((directory / name).is_file() for name in ("etcd", "kube-apiserver")) else None


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def unchecked() -> ssl.SSLContext:
    """TLS with whoever is there: the certificates are made when the servers start."""
    trust = ssl.create_default_context()
    trust.check_hostname, trust.verify_mode = False, ssl.CERT_NONE
    return trust


@contextmanager
def kube_apiserver(
    binaries: Path, etcd_address: str, directory: Path
) -> Iterator[tuple[Target, subprocess.Popen[bytes], float]]:
    """A kube-apiserver on its own core, where to reach it, and how long it took to be ready."""
    tokens, key, port = directory / "tokens.csv", directory / "sa.key", free_port()
    tokens.write_text('bench,admin,admin,"system:masters"\n')
    pem = rsa.generate_private_key(public_exponent=65537, key_size=2048).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    )
    key.write_bytes(pem)
    command = ["taskset", "-c", "0", str(binaries / "kube-apiserver"), "--authorization-mode=RBAC"]
    command += [f"--etcd-servers=http://{etcd_address.removeprefix('etcd:')}", f"--cert-dir={directory / 'certs'}"]
    command += ["--bind-address=127.0.0.1", "--advertise-address=127.0.0.1", f"--secure-port={port}"]
    command += [f"--service-account-key-file={key}", f"--service-account-signing-key-file={key}"]
    command += ["--service-account-issuer=https://kubernetes.default.svc", "--service-cluster-ip-range=10.0.0.0/24"]
    command += [f"--token-auth-file={tokens}", "--disable-admission-plugins=ServiceAccount"]
    trust = unchecked()
    started = time.perf_counter()
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_ready(f"https://127.0.0.1:{port}/readyz", trust, server)
        yield Target("127.0.0.1", port, "bench", trust), server, time.perf_counter() - started
    finally:
        server.terminate()
        server.wait(30)


def wait_ready(url: str, trust: ssl.SSLContext, server: subprocess.Popen[bytes]) -> None:
    """Ask until it says that it is ready; raises when it ends or takes too long."""
    request = urllib.request.Request(url, headers={"Authorization": "Bearer bench"})
    deadline = time.perf_counter() + READY_S
    while time.perf_counter() < deadline:
        if server.poll() is not None:
            raise RuntimeError(f"kube-apiserver ended with {server.returncode} before it was ready")
        try:
            with urllib.request.urlopen(request, context=trust, timeout=5) as answer:
                if answer.status == 200:
                    return
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            time.sleep(0.02)
    raise RuntimeError(f"kube-apiserver was not ready within {READY_S} s")
