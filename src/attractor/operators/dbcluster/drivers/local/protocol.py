"""The machine, as the controllers of the local node see it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

if TYPE_CHECKING:
    from attractor.objects.gvk import Key

NODE_NAME = "local"
FINALIZER = "local.attractor.dev/node"
"""Holds a pod until its process has ended, and a claim until its directory is gone."""


class Mount(NamedTuple):
    """A volume in a container: its mount path, and a claim's directory or files."""

    path: str
    source: Literal["claim", "files"]
    name: str


@dataclass(frozen=True)
class Launch:
    """A process to be: all that a container's specification comes down to. Paths are the container's own."""

    command: tuple[str, ...]
    environment: tuple[tuple[str, str], ...]
    mounts: tuple[Mount, ...]
    files: tuple[tuple[str, str, bytes], ...]
    """Volume, file name and content."""
    probe: tuple[str, ...] = ()
    """A command that succeeds when the process is ready; empty when running is enough."""


class ProcessState(NamedTuple):
    """Observed state of a process."""

    is_running: bool
    is_ready: bool
    starts: int
    """How often it was started."""


class Node(Protocol):
    """A machine that runs processes."""

    async def address(self, pod: Key) -> str:
        """The pod's address: always the same for the same pod."""
        raise NotImplementedError

    async def run(self, pod: Key, uid: str, launch: Launch) -> ProcessState:
        """Start the pod's process unless it is running, and tell what became of it."""
        raise NotImplementedError

    async def stop(self, pod: Key) -> None:
        """End the pod's process, if there is one; answers when it has ended."""
        raise NotImplementedError

    async def remove(self, claim: Key) -> None:
        """Delete a claim's directory with all that is in it, if there is one."""
        raise NotImplementedError
