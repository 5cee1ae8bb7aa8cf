"""Records of Executables on disk, and the state of their runs by them.

UID/name            namespace and name of the Executable, for who finds the rest
UID/stdout, stderr  what its runs wrote
UID/runs/N/claim    who decides about run N: its shim, or that it failed, or that it was cancelled; it never changes
UID/runs/N/state    from the shim: the process, then how it ended; or why there is none
UID/runs/N/stop     it was told to stop
UID/times           see ``output``

Of an Executable the last ten runs are kept, at least.
"""

from __future__ import annotations

import json
import os
import shutil
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from attractor.objects.gvk import Key
from attractor.objects.resource import MicroTime
from attractor.operators.devplane.drivers.local import shim
from attractor.operators.devplane.drivers.local.launch import explained
from attractor.operators.devplane.drivers.processes import Run
from attractor.operators.local.processes import Process

if TYPE_CHECKING:
    from attractor.operators.devplane.drivers.processes import RunState

NOBODY = Process(0, 0)
_GONE = ".gone-"
KEPT_RUNS = 10


class Record(NamedTuple):
    """A run that was claimed, with who runs it."""

    run: Run
    shim: Process = NOBODY
    process: Process = NOBODY


class Records:
    """The records of one machine, in one directory that is its owner's alone."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def open(self) -> None:
        """Make the directory, and clear away what was being removed."""
        self._directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        for left in self._directory.glob(f"{_GONE}*"):
            shutil.rmtree(left, ignore_errors=True)

    def all(self) -> dict[str, Key]:
        """The Executables about which something is written down, with their names."""
        uids = [path.parent.name for path in self._directory.glob("[!.]*/name")]
        return {uid: key for uid in uids if (key := self.key(uid)) is not None}

    def key(self, uid: str) -> Key | None:
        """The name of an Executable; None when nothing is written down about it."""
        try:
            namespace, _, name = (self._directory / uid / "name").read_text().partition("/")
        except FileNotFoundError:
            return None
        return Key(namespace, name)

    def prepare(self, key: Key, uid: str, number: int) -> Path:
        """The home of a run that is about to begin."""
        home = self._directory / uid / "runs" / str(number)
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
        named = self._directory / uid / "name"
        if not named.exists():
            beside = named.with_suffix(".new")
            beside.write_text(f"{key.namespace}/{key.name}")
            beside.replace(named)
        return home

    def forget_runs(self, uid: str, before: int) -> None:
        """Delete the records of runs before a number: they are over, and nobody asks for them any more."""
        for home in self.homes(uid):
            if int(home.name) < before:
                shutil.rmtree(home, ignore_errors=True)

    def directories(self) -> list[Path]:
        """The directories of all Executables."""
        return [path.parent for path in self._directory.glob("[!.]*/name")]

    def output(self, uid: str, stream: str) -> str:
        """Return the path of the log file of an Executable's runs."""
        return str(self._directory.absolute() / uid / stream)

    def homes(self, uid: str) -> list[Path]:
        """The homes of all runs that may have begun, the latest first."""
        try:
            found = [Path(entry.path) for entry in os.scandir(self._directory / uid / "runs")]
        except FileNotFoundError:
            return []
        return sorted(found, key=lambda home: -int(home.name))

    def all_of(self, uid: str) -> list[Record]:
        """Every run that was claimed, the latest first."""
        return [record for home in self.homes(uid) if (record := self._read(uid, home)) is not None]

    def latest(self, uid: str) -> Record | None:
        """The latest run that was claimed."""
        return next((record for home in self.homes(uid) if (record := self._read(uid, home)) is not None), None)

    def remove(self, uid: str) -> None:
        """Delete all, at once for whoever looks."""
        gone = self._directory / f"{_GONE}{uid}"
        with suppress(FileNotFoundError):
            (self._directory / uid).replace(gone)
        shutil.rmtree(gone, ignore_errors=True)

    def _read(self, uid: str, home: Path) -> Record | None:
        claim = _load(home / shim.CLAIM)
        if claim is None:
            return None
        keeper = Process(claim["pid"], claim["started"]) if claim.get("boot") == _boot() else NOBODY
        is_kept = keeper.is_alive  # asked first: who is dead now has written all that will ever be written
        said = _load(home / shim.STATE) or {}
        process = Process(said["pid"], said["started"]) if keeper != NOBODY and "pid" in said else NOBODY
        error = claim.get("failed", "")
        if "errno" in said:
            error = explained(said["errno"], said["program"])
        run = Run(
            number=int(home.name),
            state=_state(claim, said, is_kept=is_kept, is_alive=process.is_alive),
            pid=said.get("pid"),
            started_at=_time(said.get("startedAt")),
            finished_at=_time(said.get("finishedAt")),
            exit_code=said.get("exitCode"),
            is_stopped=(home / "stop").exists(),
            error=error,
            word=claim.get("word", ""),
            stdout_file=self.output(uid, "stdout"),
            stderr_file=self.output(uid, "stderr"),
            stdout_from=said.get("stdoutFrom", 0),
            stderr_from=said.get("stderrFrom", 0),
        )
        return Record(run, keeper, process)


def _state(claim: dict[str, Any], said: dict[str, Any], *, is_kept: bool, is_alive: bool) -> RunState:
    if "failed" in claim or "errno" in said:
        return "failed"
    if "cancelled" in claim or "exitCode" in said:
        return "ended"
    if "pid" not in said:
        return "starting" if is_kept else "lost"
    return "running" if is_alive or is_kept else "lost"


@cache
def _boot() -> str:
    return shim.boot()


def _load(path: Path) -> dict[str, Any] | None:
    try:
        found: dict[str, Any] = json.loads(path.read_text())
    except FileNotFoundError:
        return None
    return found


def _time(stamp: float | None) -> MicroTime | None:
    return None if stamp is None else MicroTime.of(datetime.fromtimestamp(stamp, UTC))
