"""Processes that outlive whoever started them: found again by their number and the time of their start.

A process is marked, in its environment, by a word that was written down before it was started; what it starts inherits
the mark. So one that was started by somebody who died before they could write more is found, and ended.
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
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

MARK = "ATTRACTOR_MARK"
PROC = Path("/proc")
GRACE_S = 5.0
POLL_S = 0.02


class Process(NamedTuple):
    """A process, told apart from a later one of the same number."""

    pid: int
    started: int

    @property
    def is_alive(self) -> bool:
        """Return whether it runs; one that has ended and was not waited for does not."""
        return started_at(self.pid) == self.started != 0

    def signal(self, number: int) -> None:
        """Send it a signal, if it is ours; nobody gets it when it has ended, whoever has its number now."""
        with suppress(ProcessLookupError, PermissionError):
            held = os.pidfd_open(self.pid)
            try:
                if self.is_alive:
                    signal.pidfd_send_signal(held, number)
            finally:
                os.close(held)

    async def ended(self) -> None:
        """Return as soon as it has ended, whoever's child it is."""
        try:
            held = os.pidfd_open(self.pid)
        except ProcessLookupError:
            return
        loop, over = asyncio.get_running_loop(), asyncio.Event()
        try:
            if self.is_alive:
                loop.add_reader(held, over.set)
                await over.wait()
        finally:
            loop.remove_reader(held)
            os.close(held)


def started_at(pid: int) -> int:
    """Return when a process was started, in the kernel's ticks; 0 when it does not run."""
    state = _state(pid)
    return 0 if state is None or state[0] in {"Z", "X"} else int(state[19])


def _state(pid: int) -> list[str] | None:
    """Return the fields of ``/proc/PID/stat`` from the state on; None when there is no such process."""
    try:
        return (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None


def start(command: Sequence[str], mark: str, log: Path, environment: Mapping[str, str] | None = None) -> Process:
    """Start a process that does not end with this one; raises ``OSError``."""
    with log.open("ab") as sink:
        child = subprocess.Popen(  # noqa: S603 - an operator's own commands
            command,
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env={**os.environ, **(environment or {}), MARK: mark},
        )
    return keep(child)


_CHILDREN: set[int] = set()
"""Children that have not been waited for."""


def keep(child: subprocess.Popen[bytes]) -> Process:
    """A child that goes on when this process ends; ``exit_code`` knows how it ended, and lets the kernel forget it."""
    _CHILDREN.add(child.pid)
    child.returncode = 0  # it is waited for here, and is not asked again
    return Process(child.pid, started_at(child.pid))


def exit_code(process: Process) -> int | None:
    """Return the exit code of a child of this process; None while it runs, or when it is not a child."""
    if process.pid not in _CHILDREN:
        return None
    ended, status = os.waitpid(process.pid, os.WNOHANG)
    if not ended:
        return None
    _CHILDREN.discard(process.pid)
    return os.waitstatus_to_exitcode(status)


def reap() -> None:
    """Let the kernel forget all children that have ended."""
    for pid in list(_CHILDREN):
        exit_code(Process(pid, 0))


async def end(process: Process, grace_s: float = GRACE_S) -> None:
    """End a process: ask first, then insist. Returns when it is gone."""
    await end_all(lambda: [process] if process.is_alive else [], grace_s, grace_s)
    exit_code(process)


async def end_all(living: Callable[[], Collection[Process]], grace_s: float, limit_s: float = GRACE_S) -> bool:
    """End all that ``living`` finds, also what comes meanwhile: ask first, insist after the grace.

    Answers whether all are gone: what does not even heed SIGKILL within the limit is in the kernel's hands.
    """
    loop = asyncio.get_running_loop()
    for number, patience_s in ((signal.SIGTERM, grace_s), (signal.SIGKILL, limit_s)):
        deadline = loop.time() + patience_s
        while found := living():
            for process in found:
                process.signal(number)
            while any(process.is_alive for process in found) and loop.time() < deadline:
                for process in found:
                    exit_code(process)
                await asyncio.sleep(POLL_S)
            if loop.time() >= deadline:
                break
    return not living()


def marked(mark: str) -> list[Process]:
    """The processes that were started with a mark, by whomever."""
    wanted = f"{MARK}={mark}".encode()
    return list(_where("environ", lambda words: wanted in words))


def naming(directory: Path) -> list[Process]:
    """The processes whose command line names something in a directory."""
    wanted = f"{directory}/".encode()
    return list(_where("cmdline", lambda words: any(word.startswith(wanted) for word in words)))


def _where(file: str, is_wanted: Callable[[list[bytes]], bool]) -> Iterator[Process]:
    for pid in _pids():
        try:
            words = (PROC / str(pid) / file).read_bytes().split(b"\0")
        except OSError:
            continue
        if is_wanted(words) and (started := started_at(pid)):
            yield Process(pid, started)


def _pids() -> Iterable[int]:
    return [int(entry.name) for entry in PROC.iterdir() if entry.name.isdigit()]


def descendants(process: Process) -> list[Process]:
    """Return the descendants of a process that run."""
    if not process.is_alive:
        return []
    states = [(pid, state) for pid in _pids() if (state := _state(pid)) is not None]
    family = {process.pid}
    before = 0
    while len(family) > before:
        before = len(family)
        family |= {pid for pid, state in states if int(state[1]) in family}
    return [
        Process(pid, int(state[19]))
        for pid, state in states
        if pid in family and pid != process.pid and state[0] not in {"Z", "X"}
    ]


def kill_naming(directory: Path) -> None:
    """Kill all of them, and those that they were about to start; returns when there is none."""
    while running := naming(directory):
        for process in running:
            process.signal(signal.SIGKILL)
        time.sleep(POLL_S)
