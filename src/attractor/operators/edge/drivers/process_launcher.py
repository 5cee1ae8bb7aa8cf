"""``ProcessLauncher``: agents of a cloudlet as processes on one machine, one of each version at most.

An agent holds a lock on a file of its version for as long as it lives, and the file says its number; so the next agent
finds the one before it, and a second one of the same version does not start. The file ``version`` says which version to
start when the machine does: it changes before the old agent is ended.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import sys
from typing import TYPE_CHECKING

import yaml

from attractor.httpd.auth.certificates import write_private
from attractor.k8s.core_v1 import ServiceAccount
from attractor.objects.gvk import Key
from attractor.operators.edge.api.access import account_of
from attractor.operators.edge.drivers.protocols import LaunchError
from attractor.operators.local import processes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from attractor.client import Client
    from attractor.objects.json_types import JsonObject
    from attractor.operators.local.processes import Process

TOKEN_S = 30 * 24 * 3600
"""How long an agent's first token is good; it renews it itself (``token_renewal``)."""
END_S = 10.0
NOT_WANTED = 3
"""How an agent ends when its cloudlet does not want its version."""


class AlreadyRunning(Exception):
    """Another agent of this version runs in the same directory; the text says which."""


class AgentLock:
    """The lock that an agent of a version holds; it ends with the process, however that ends."""

    def __init__(self, state_dir: Path, version: str) -> None:
        self.path = state_dir / f"agent-{version}.lock"
        self._file: int | None = None

    def acquire(self) -> None:
        """Take it; raises ``AlreadyRunning``."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        opened = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(opened)
            pid = self.path.read_text().partition(" ")[0]
            raise AlreadyRunning(
                f"{self.path.stem} already runs in {self.path.parent}, as process {pid}; stop it first, "
                "or give this one another directory"
            ) from None
        os.ftruncate(opened, 0)
        os.write(opened, f"{os.getpid()} {processes.started_at(os.getpid())}".encode())
        self._file = opened

    def last(self) -> Process | None:
        """The process that holds it or held it last; None when nobody ever did."""
        try:
            pid, _, started = self.path.read_text().partition(" ")
        except FileNotFoundError:
            return None
        return processes.Process(int(pid or 0), int(started or 0))

    def holder(self) -> Process | None:
        """The process that holds it; None when nobody does."""
        process = self.last()
        return process if process is not None and process.is_alive else None


class ProcessLauncher:
    """Starts and ends the agents beside this one."""

    def __init__(
        self,
        client: Client,
        state_dir: Path,
        namespace: str,
        version: str,
        command: Callable[[str], Sequence[str]],
        credentials: Callable[[str], bytes],
        stop: Callable[[str], None],
    ) -> None:
        self._client = client
        self._state_dir = state_dir
        self._namespace = namespace
        self._version = version
        self._command = command
        self._credentials = credentials
        """From a token to the kubeconfig of an agent that uses it."""
        self._stop = stop
        self._started: dict[str, Process] = {}

    async def start(self, version: str) -> None:
        """See to it that an agent of a version runs."""
        if AgentLock(self._state_dir, version).holder() is not None:
            return
        known = self._started.get(version)
        if known is not None:
            if known.is_alive:
                return
            del self._started[version]
            code = processes.exit_code(known)
            is_of_before = code == NOT_WANTED and AgentLock(self._state_dir, version).last() == known
            if not is_of_before:  # one that served, and left when the upgrade it was for was given up, did not fail
                raise LaunchError(f"agent {version} ended with {code}: {_last_line(self._log(version))}")
        key = Key(self._namespace, account_of(version))
        answer = await self._client.create_subresource(ServiceAccount, key, "token", token_request(TOKEN_S))
        path = kubeconfig_of(self._state_dir, version)
        write_secret(path, self._credentials(answer["status"]["token"]))
        try:
            self._started[version] = processes.start(self._command(version), f"agent-{version}", self._log(version))
        except OSError as error:
            raise LaunchError(f"agent {version} cannot be started: {error}") from error

    async def end(self, version: str) -> None:
        """See to it that no agent of a version runs, and that it is this one's version that the machine starts."""
        try:
            (self._state_dir / "version").write_text(self._version)
        except OSError as error:
            raise LaunchError(f"agent {self._version} cannot take over in {self._state_dir}: {error}") from error
        holder = AgentLock(self._state_dir, version).holder()
        if holder is None:
            return
        await processes.end(holder, END_S)
        if AgentLock(self._state_dir, version).holder() is not None:
            raise LaunchError(f"agent {version}, process {holder.pid}, does not end")

    async def leave(self, why: str) -> None:
        """End this agent."""
        self._stop(why)
        await asyncio.sleep(0)

    def _log(self, version: str) -> Path:
        return self._state_dir / f"agent-{version}.log"


def token_request(lasts_s: int) -> JsonObject:
    """The body that asks for a token."""
    return {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "spec": {"expirationSeconds": lasts_s},
    }


def kubeconfig_of(state_dir: Path, version: str) -> Path:
    """Return the path of the kubeconfig of an agent of a version."""
    return state_dir / f"agent-{version}.kubeconfig"


def with_token(path: Path, token: str) -> bytes:
    """A kubeconfig, with another token for its user."""
    document = yaml.safe_load(path.read_text())
    document["users"][0]["user"] = {"token": token}
    return yaml.safe_dump(document, sort_keys=False).encode()


def write_secret(path: Path, content: bytes) -> None:
    """Write a file that only its owner may read, whole or not at all, whatever lies in the directory already."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_private(path, content)


def _last_line(path: Path) -> str:
    try:
        lines = path.read_text(errors="replace").strip().splitlines()
    except OSError:
        return "it said nothing"
    return lines[-1] if lines else "it said nothing"


def agent_command(arguments: Sequence[str]) -> list[str]:
    """The command line of an agent with these arguments."""
    return [sys.executable, "-P", "-m", "attractor", "edge", "agent", *arguments]
