"""``LocalNode``: processes and directories on this machine.

    async with LocalNode(directory) as node: ...

Guarantees: at most one process for a pod; a pod of the same name and another uid gets a new process; when the node
ends, or dies, its processes die with it. Claims stay in the directory.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import secrets
import shutil
import signal
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from attractor.operators.dbcluster.drivers.local.protocol import ProcessState

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType
    from typing import Self

    from attractor.objects.gvk import Key
    from attractor.operators.dbcluster.drivers.local.protocol import Launch, Mount

STOP_S = 10.0
"""How long a process may take to end before it is killed."""
PROBE_S = 5.0


@dataclass
class _Running:
    uid: str
    process: asyncio.subprocess.Process
    starts: int


class LocalNode:
    """A machine that runs processes; see the module."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._network = f"127.{secrets.randbelow(200) + 20}"
        """The first half of every pod's address; another one for each node, so that nodes do not meet."""
        self._running: dict[Key, _Running] = {}
        self._guard = ["setpriv", "--pdeathsig", "KILL"] if shutil.which("setpriv") else []

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for pod in list(self._running):
            await self.stop(pod)

    async def address(self, pod: Key) -> str:
        """The pod's address: always the same for the same pod."""
        digest = hashlib.sha256(str(pod).encode()).digest()
        return f"{self._network}.{digest[0]}.{digest[1] % 254 + 1}"

    async def run(self, pod: Key, uid: str, launch: Launch) -> ProcessState:
        """Start the pod's process unless it is running, and tell what became of it."""
        known = self._running.get(pod)
        if known is not None and known.uid != uid:
            await self.stop(pod)
            known = None
        if known is None or known.process.returncode is not None:
            starts = 1 if known is None else known.starts + 1
            known = _Running(uid, await self._start(pod, launch), starts)
            self._running[pod] = known
        is_ready = await self._is_ready(pod, launch)
        is_running = known.process.returncode is None
        return ProcessState(is_running, is_running and is_ready, known.starts)

    async def stop(self, pod: Key) -> None:
        """End the pod's process, if there is one; answers when it has ended."""
        known = self._running.get(pod)
        if known is None:
            return
        for number in (signal.SIGTERM, signal.SIGKILL):
            if known.process.returncode is None:
                with suppress(ProcessLookupError):
                    known.process.send_signal(number)
            with suppress(TimeoutError):
                await asyncio.wait_for(known.process.wait(), STOP_S)
                break
        self._running.pop(pod, None)

    async def remove(self, claim: Key) -> None:
        """Delete a claim's directory with all that is in it, if there is one."""
        shutil.rmtree(self._claim(claim.namespace, claim.name), ignore_errors=True)

    async def _start(self, pod: Key, launch: Launch) -> asyncio.subprocess.Process:
        home = self._pod(pod)
        shutil.rmtree(home / "volumes", ignore_errors=True)
        home.mkdir(parents=True, exist_ok=True)
        for mount in launch.mounts:
            self._place(pod, mount).mkdir(parents=True, exist_ok=True)
        for volume, name, content in launch.files:
            path = home / "volumes" / volume / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch(mode=0o600)
            path.write_bytes(content)
        with (home / "log").open("ab") as log:
            return await asyncio.create_subprocess_exec(
                *self._guard,
                *launch.command,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=home,
                env=self._environment(pod, launch),
                start_new_session=True,
            )

    async def _is_ready(self, pod: Key, launch: Launch) -> bool:
        if not launch.probe:
            return True
        probe = await asyncio.create_subprocess_exec(
            *self._guard,
            *launch.probe,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
            cwd=self._pod(pod),
            env=self._environment(pod, launch),
        )
        try:
            return await asyncio.wait_for(probe.wait(), PROBE_S) == 0
        except TimeoutError:
            return False
        finally:
            if probe.returncode is None:
                probe.kill()

    def _environment(self, pod: Key, launch: Launch) -> dict[str, str]:
        """The container's environment, with its paths replaced by this machine's."""
        made = {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(self._pod(pod))}
        for name, value in launch.environment:
            mount = next((one for one in launch.mounts if value == one.path or value.startswith(f"{one.path}/")), None)
            made[name] = value if mount is None else f"{self._place(pod, mount)}{value.removeprefix(mount.path)}"
        return made

    def _place(self, pod: Key, mount: Mount) -> Path:
        if mount.source == "claim":
            return self._claim(pod.namespace, mount.name)
        return self._pod(pod) / "volumes" / mount.name

    def _pod(self, pod: Key) -> Path:
        return self._directory / "pods" / pod.namespace / pod.name

    def _claim(self, namespace: str, name: str) -> Path:
        return self._directory / "claims" / namespace / name
