"""Processes that outlive the agent that started them: found again by their number and the time of their start.

A process is marked, in its environment, by a word that was written down before it was started. So one that was started
by an agent that died before it could write more is found, and ended.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MARK = "ATTRACTOR_EDGE_MARK"
PROC = Path("/proc")
GRACE_S = 5.0
POLL_S = 0.02


class Process(NamedTuple):
    """A process, told apart from a later one of the same number."""

    pid: int
    started: int

    @property
    def is_alive(self) -> bool:
        """Whether it runs; one that has ended and was not waited for does not."""
        return started_at(self.pid) == self.started != 0


def started_at(pid: int) -> int:
    """When a process was started, in the kernel's ticks; 0 when it does not run."""
    try:
        fields = (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return 0 if fields[0] in {"Z", "X"} else int(fields[19])


def start(command: Sequence[str], mark: str, log: Path, environment: Mapping[str, str] | None = None) -> Process:
    """Start a process that does not end with this one; raises ``OSError``."""
    with log.open("ab") as sink:
        child = subprocess.Popen(  # noqa: S603 - the driver's own commands
            command,
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env={**os.environ, **(environment or {}), MARK: mark},
        )
    _CHILDREN[child.pid] = child
    return Process(child.pid, started_at(child.pid))


_CHILDREN: dict[int, subprocess.Popen[bytes]] = {}


def exit_code(process: Process) -> int | None:
    """How a child of this process ended; None while it runs, or when it is not a child."""
    child = _CHILDREN.get(process.pid)
    code = None if child is None else child.poll()
    if code is not None:
        del _CHILDREN[process.pid]
    return code


async def end(process: Process, grace_s: float = GRACE_S) -> None:
    """End a process: ask first, then insist. Returns when it is gone."""
    for number, limit_s in ((signal.SIGTERM, grace_s), (signal.SIGKILL, grace_s)):
        if not process.is_alive:
            break
        try:
            os.kill(process.pid, number)
        except ProcessLookupError:
            break
        deadline = asyncio.get_running_loop().time() + limit_s
        while process.is_alive and asyncio.get_running_loop().time() < deadline:
            exit_code(process)
            await asyncio.sleep(POLL_S)
    exit_code(process)


def marked(mark: str) -> list[Process]:
    """The processes that were started with a mark, by whomever."""
    wanted, found = f"{MARK}={mark}".encode(), []
    for entry in PROC.iterdir():
        if not entry.name.isdigit():
            continue
        try:
            words = (entry / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        pid = int(entry.name)
        if wanted in words and (started := started_at(pid)):
            found.append(Process(pid, started))
    return found


def naming(directory: Path) -> list[Process]:
    """The processes whose command line names something in a directory."""
    wanted, found = f"{directory}/".encode(), []
    for entry in PROC.iterdir():
        if not entry.name.isdigit():
            continue
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        pid = int(entry.name)
        if any(word.startswith(wanted) for word in words) and (started := started_at(pid)):
            found.append(Process(pid, started))
    return found


def kill_naming(directory: Path) -> None:
    """Kill all of them, and those that they were about to start; returns when there is none."""
    while running := naming(directory):
        for process in running:
            with suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGKILL)
        time.sleep(POLL_S)
