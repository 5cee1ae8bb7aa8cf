"""``LocalProcesses``: processes of this machine that outlive the controller.

    async with LocalProcesses(directory) as processes: ...

Guarantees: a run begins at most once, also when controllers are killed at any moment; how it ended is seen, unless its
shim is killed too; what a process starts ends with it when it is stopped, whatever it does to get away; nobody else's
process is ever touched. Who opens a directory is told of all that is in it, by ``changes``. One machine, Linux only.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

from attractor.operators.devplane.drivers.local import shim
from attractor.operators.devplane.drivers.local.launch import CannotStart, order_of
from attractor.operators.devplane.drivers.local.output import OutputClock
from attractor.operators.devplane.drivers.local.records import KEPT_RUNS, Records
from attractor.operators.local import processes
from attractor.runtime.toolkit.channel import Channel

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path
    from types import TracebackType
    from typing import Self

    from attractor.objects.gvk import Key
    from attractor.operators.devplane.drivers.processes import Launch, Run
    from attractor.operators.local.processes import Process

POLL_S = 0.01
KILL_S = 5.0
"""How long what was killed may take to go."""
CLOCK_S = 1.0
"""How often it is noted how much processes have written."""
LEFT_BEHIND_S = 1.0
"""How long what earlier runs left behind may take to end, when the process is started again."""


class LocalProcesses:
    """Runs Executables as processes, and keeps what it knows of them in a directory."""

    def __init__(self, directory: Path) -> None:
        self._records = Records(directory)
        self.changes: Channel[Key] = Channel()
        """The Executables of which there is news; a source for their controller."""
        self._group = asyncio.TaskGroup()
        self._tasks: set[asyncio.Task[None]] = set()
        self._followed: set[str] = set()
        """The Executables whose latest run is watched by a task."""
        self._given: set[int] = set()
        """The ports that were given away: whoever got one may not listen yet."""

    async def __aenter__(self) -> Self:
        self._group = await asyncio.TaskGroup().__aenter__()
        self._records.open()
        task = self._group.create_task(self._keep_time())
        self._tasks.add(task)
        for key in self._records.all().values():
            self.changes.send(key)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for task in self._tasks:
            task.cancel()
        await self._group.__aexit__(None, None, None)
        processes.reap()

    async def look(self, uid: str) -> Run | None:
        """The latest run of an Executable that was claimed; when it changes, that will be told."""
        record = self._records.latest(uid)
        if record is None:
            return None
        if record.run.is_live:
            self._follow(uid, record.run.state)
        return record.run

    async def start(self, key: Key, uid: str, number: int, launch: Launch) -> None:
        """Begin a run, unless it was claimed; what earlier runs left behind is ended first."""
        home = self._records.prepare(key, uid, number)
        await self._end(uid, LEFT_BEHIND_S, range(max(0, number - KEPT_RUNS), number))
        self._records.forget_runs(uid, number - KEPT_RUNS)
        try:
            order = order_of(launch, mark_of(uid, number), os.environ)
        except CannotStart as error:
            shim.claim(str(home), {"failed": str(error), "word": launch.word})
        else:
            output = {stream: self._records.output(uid, stream) for stream in ("stdout", "stderr")}
            await asyncio.to_thread(_spawn, {**order, **output, "home": str(home.absolute())})
            self._follow(uid)
        self.changes.send(key)

    async def stop(self, key: Key, uid: str, grace_s: float) -> None:
        """End the latest run and all it started, or see to it that it never begins."""
        numbers = [int(home.name) for home in self._records.homes(uid)]
        for home in self._records.homes(uid)[:1]:
            (home / "stop").touch()
            shim.claim(str(home), {"cancelled": True})
        await self._end(uid, grace_s, numbers)
        self.changes.send(key)

    async def remove(self, uid: str) -> None:
        """Delete what is written down, and what was written by the runs."""
        await asyncio.to_thread(self._records.remove, uid)

    async def strays(self, key: Key, uid: str) -> tuple[str, ...]:
        """The other Executables of this name about which something is written down."""
        return tuple(sorted(one for one, name in self._records.all().items() if name == key and one != uid))

    async def free_port(self, address: str) -> int:
        """A port that nobody listens on now, and that this object has not given away."""
        while True:
            family = socket.AF_INET6 if ":" in address else socket.AF_INET
            with socket.socket(family) as probe:
                probe.bind((address, 0))
                port = int(probe.getsockname()[1])
            if port not in self._given:
                self._given.add(port)
                return port

    def _family(self, uid: str, numbers: Collection[int]) -> list[Process]:
        """All processes of some runs: those that carry their marks, and those whom their shims have to reap."""
        shims = {record.shim for record in self._records.all_of(uid) if record.run.number in numbers}
        found = {process for number in numbers for process in processes.marked(mark_of(uid, number))}
        found |= {process for one in shims for process in processes.descendants(one)}
        return sorted(found - shims)

    async def _end(self, uid: str, grace_s: float, numbers: Collection[int]) -> None:
        """Return when none of the runs is live and nobody of their families is left; raises ``OSError``."""
        while numbers:
            if not await processes.end_all(lambda: self._family(uid, numbers), grace_s, KILL_S):
                left = ", ".join(str(process.pid) for process in self._family(uid, numbers))
                raise OSError(f"process {left} does not end, although it was killed; only the kernel knows why")
            records = self._records.all_of(uid)
            if not any(record.run.is_live for record in records if record.run.number in numbers):
                return
            await asyncio.sleep(POLL_S)

    def _follow(self, uid: str, state: str = "") -> None:
        """See to it that changes of the latest run, from a state that is known, are told."""
        if uid not in self._followed:
            self._followed.add(uid)
            task = self._group.create_task(self._tell_changes(uid, state))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _keep_time(self) -> None:
        """Note how much is written, for as long as anybody may write."""
        clock = OutputClock()
        while True:
            clock.look(self._records.directories(), time.time())
            await asyncio.sleep(CLOCK_S)

    async def _tell_changes(self, uid: str, known: str) -> None:
        """Tell of each change of a run until it is over, and let the kernel forget its shim."""
        while (record := self._records.latest(uid)) is not None:
            if record.run.state != known and (key := self._records.key(uid)) is not None:
                self.changes.send(key)
            known = record.run.state
            if not record.run.is_live:
                break
            if record.process.is_alive:
                await record.process.ended()
            else:
                await asyncio.sleep(POLL_S)
        self._followed.discard(uid)
        if record is not None:
            await record.shim.ended()
            processes.exit_code(record.shim)


def mark_of(uid: str, number: int) -> str:
    """The mark of a run's processes."""
    return f"executable.{uid}.{number}"


def _spawn(order: dict[str, Any]) -> None:
    """Start a shim, and return when its run has begun, or was somebody else's."""
    processes.reap()
    child = subprocess.Popen(  # noqa: S603 - our own program
        [sys.executable, "-I", "-S", shim.__file__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        cwd="/",
        env={},
    )
    assert child.stdin is not None
    assert child.stdout is not None
    with child.stdin, child.stdout:
        try:
            child.stdin.write(json.dumps(order).encode())
            child.stdin.close()
        except BrokenPipeError:
            pass
        child.stdout.read()
    processes.keep(child)
