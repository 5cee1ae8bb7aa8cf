"""``attractor dev logs`` and ``history``: what processes have written, in order of time, and how their runs went."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attractor.cli.terminal import Paint, UsageError, json_line, say
from attractor.operators.devplane.api.executables import FINAL
from attractor.operators.devplane.cli.log_tail import LOOK_S, Tails
from attractor.operators.devplane.cli.plane_client import containers_named, everything, executables_named
from attractor.operators.devplane.cli.view import NAME_STYLES
from attractor.operators.devplane.drivers.local.output import FAR, STREAMS, written
from attractor.operators.devplane.drivers.local.records import Records
from attractor.operators.local.containers.bodies import pieces_of
from attractor.operators.local.containers.engine import ContainerEngine, default_socket
from attractor.operators.local.containers.runtime import RuntimeProblem

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from attractor.client import Client
    from attractor.operators.devplane.api.containers import Container
    from attractor.operators.devplane.api.executables import Executable
    from attractor.operators.devplane.drivers.local.output import Spans
    from attractor.operators.devplane.drivers.processes import Run

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


@dataclass(frozen=True)
class Question:
    """Which lines are wanted."""

    names: Sequence[str] = ()
    """Executables or replica sets; all when empty."""
    streams: Sequence[str] = STREAMS
    pattern: re.Pattern[str] | None = None
    since: float = 0.0
    tail: int | None = None
    run: int | None = None
    """The number of a run; counted from the latest one when negative."""
    follow: bool = False

    def admits(self, text: str) -> bool:
        """Return whether a line is wanted."""
        return self.pattern is None or self.pattern.search(text) is not None


@dataclass(frozen=True)
class LogLine:
    """A line, who wrote it and when; the time is not known of lines that are followed before it was noted."""

    name: str
    stream: str
    text: str
    at: float
    end: int = 0
    """Where the next one begins in the file."""

    def json(self) -> dict[str, Any]:
        """The line for programs."""
        time = datetime.fromtimestamp(self.at, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        return {"name": self.name, "stream": self.stream, "time": time, "text": self.text}


def since(text: str) -> float:
    """The time, in seconds since 1970, of ``90s``, ``5m``, ``2h``, ``1d`` ago, or of a date; raises ``UsageError``."""
    if (found := re.fullmatch(r"(\d+(?:\.\d+)?)([smhd])", text)) is not None:
        ago = timedelta(seconds=float(found[1]) * _UNITS[found[2]])
        return (datetime.now(UTC) - ago).timestamp()
    try:
        return datetime.fromisoformat(text).astimezone().timestamp()
    except ValueError:
        raise UsageError(f"{text} is no time", "write 90s, 5m, 2h, 1d, or a date such as 2026-01-31T12:00:00") from None


def pattern(text: str | None) -> re.Pattern[str] | None:
    """A regular expression; raises ``UsageError``."""
    try:
        return None if text is None else re.compile(text)
    except re.error as error:
        raise UsageError(
            f"{text} is no regular expression: {error}", r"quote what is meant literally with \ "
        ) from None


def lines_of(executables: Sequence[Executable], asked: Question) -> list[LogLine]:
    """The lines that are there and asked for, of all of them, in order of time."""
    return chosen_of(_read(executables, asked, asked.since), asked)


def _read(executables: Sequence[Executable], asked: Question, since_s: float) -> list[LogLine]:
    found = [
        LogLine(one.metadata.name, line.stream, line.text, line.at, line.end)
        for one in executables
        if (home := home_of(one)) is not None
        for line in written(home, asked.streams, since_s, spans_of(home, asked.run))
    ]
    return sorted(found, key=lambda line: line.at)


def chosen_of(lines: Sequence[LogLine], asked: Question) -> list[LogLine]:
    """Those of some lines that are asked for."""
    found = [line for line in lines if line.at >= asked.since and asked.admits(line.text)]
    return found if asked.tail is None else found[max(0, len(found) - asked.tail) :]


def home_of(executable: Executable) -> Path | None:
    """Return the directory with what an Executable's runs have left; None before the first."""
    return Path(executable.status.stdout_file).parent if executable.status.stdout_file else None


def runs_of(executable: Executable) -> list[Run]:
    """The runs of an Executable that are remembered, the latest first."""
    home = home_of(executable)
    return [] if home is None else [record.run for record in Records(home.parent).all_of(home.name)]


def spans_of(home: Path, number: int | None) -> Spans:
    """Where in the files is what a run has written; raises ``UsageError`` for one that is not remembered."""
    if number is None:
        return {}
    runs = [record.run for record in Records(home.parent).all_of(home.name)]
    wanted = number if number >= 0 else (runs[0].number + number if runs else number)
    for at, run in enumerate(runs):
        if run.number == wanted:
            later = runs[at - 1] if at else None
            return {
                "stdout": (run.stdout_from, FAR if later is None else later.stdout_from),
                "stderr": (run.stderr_from, FAR if later is None else later.stderr_from),
            }
    known = ", ".join(str(run.number) for run in reversed(runs)) or "none"
    raise UsageError(f"run {wanted} is not remembered", f"there are: {known}; see `attractor dev history NAME`")


class Printer:
    """Prints lines: as they are, with the names of who wrote them, or as JSON."""

    def __init__(self, names: Sequence[str], *, is_alone: bool, as_json: bool) -> None:
        self._paint = Paint(sys.stdout)
        self._width = max(map(len, names), default=0)
        self._is_alone = is_alone
        self._as_json = as_json
        self._styles: dict[str, tuple[str, ...]] = {}

    def __call__(self, line: LogLine) -> None:
        """Print a line."""
        if self._as_json:
            say([json_line(line.json())])
        elif self._is_alone:
            say([line.text])
        else:
            style = self._styles.setdefault(line.name, NAME_STYLES[len(self._styles) % len(NAME_STYLES)])
            say([f"{self._paint(f'{line.name:<{self._width}} |', *style)} {line.text}"])


async def container_lines(containers: Sequence[Container], asked: Question) -> list[LogLine]:
    """The lines of containers, as their runtime has kept them; raises ``UsageError`` when it does not answer."""
    engine, found = ContainerEngine(default_socket(os.environ)), []
    for one in containers:
        if one.status.container_id:
            try:
                pieces = [piece async for piece in engine.logs(one.status.container_id, timestamps=True)]
            except RuntimeProblem as problem:
                raise UsageError(f"what Container {one.metadata.name} wrote cannot be read: {problem}") from problem
            found += _stamped(one.metadata.name, b"".join(pieces))
    return chosen_of([line for line in found if line.stream in asked.streams], asked)


def _stamped(name: str, stream: bytes) -> list[LogLine]:
    """The lines of a container, each of which begins with its time."""
    texts = {"stdout": b"", "stderr": b""}
    for number, piece in pieces_of(stream):
        texts["stderr" if number == 2 else "stdout"] += piece
    rows = [
        (kind, row.partition(" ")) for kind, text in texts.items() for row in text.decode(errors="replace").splitlines()
    ]
    found = [LogLine(name, kind, text.rstrip("\r"), _seconds_of(stamp)) for kind, (stamp, _, text) in rows]
    return sorted(found, key=lambda line: line.at)


def _seconds_of(stamp: str) -> float:
    """The time of a line; some runtimes give more digits than a time has here."""
    try:
        return datetime.fromisoformat(re.sub(r"(\.\d{6})\d+", r"\1", stamp)).timestamp()
    except ValueError:
        return 0.0


async def show(client: Client, asked: Question, *, as_json: bool) -> None:
    """Print what is there, and what follows until all processes are over; containers are not followed."""
    found = await everything(client)
    chosen, containers = executables_named(found, asked.names), containers_named(found, asked.names)
    names = [one.metadata.name for one in (*chosen, *containers)]
    printer = Printer(names, is_alone=len(names) == 1 and names == list(asked.names), as_json=as_json)
    if asked.follow and chosen:
        await _follow(client, asked, chosen, printer)
        return
    lines = sorted([*lines_of(chosen, asked), *await container_lines(containers, asked)], key=lambda line: line.at)
    for line in lines:
        printer(line)
    if not lines and not as_json:
        print("note: nothing was written, or nothing of what you ask for", file=sys.stderr)


async def _follow(
    client: Client, asked: Question, chosen: Sequence[Executable], printer: Callable[[LogLine], None]
) -> None:
    """Print what is there, line by line to where each file ends, and go on from there."""
    there = _read(chosen, asked, 0.0)
    ends = {(line.name, line.stream): line.end for line in sorted(there, key=lambda line: line.end)}
    for line in chosen_of(there, asked):
        printer(line)

    def tell(name: str, text: str) -> None:
        label, _, stream = name.rpartition("/")
        if asked.admits(text):
            printer(LogLine(label, stream, text, datetime.now(UTC).timestamp()))

    tails = Tails(tell)
    while True:
        for one in chosen:
            for stream in asked.streams:
                path = one.status.stdout_file if stream == "stdout" else one.status.stderr_file
                tails.follow(f"{one.metadata.name}/{stream}", [path], ends.get((one.metadata.name, stream), 0))
        tails.look()
        if all(one.status.phase in FINAL for one in chosen):
            break
        await asyncio.sleep(LOOK_S)
        chosen = executables_named(await everything(client), asked.names, is_needed=False)
    tails.forget(tails.names)


def history(executable: Executable) -> list[dict[str, Any]]:
    """The last runs of an Executable, for programs."""
    return [
        {
            "run": run.number,
            "state": run.state,
            "pid": run.pid,
            "startedAt": None if run.started_at is None else run.started_at.isoformat(),
            "finishedAt": None if run.finished_at is None else run.finished_at.isoformat(),
            "exitCode": run.exit_code,
            "word": run.word,
            "error": run.error,
        }
        for run in runs_of(executable)
    ]


def history_table(executable: Executable) -> list[str]:
    """The last runs of an Executable, for people."""
    rows = [("RUN", "STARTED", "LASTED", "HOW IT WENT")]
    for run in runs_of(executable):
        began = "" if run.started_at is None else run.started_at.astimezone().strftime("%H:%M:%S")
        lasted = ""
        if run.started_at is not None and run.finished_at is not None:
            lasted = f"{(run.finished_at - run.started_at).total_seconds():.1f} s"
        rows.append((str(run.number), began, lasted, _how(run)))
    return [f"{a:<5}{b:<10}{c:<12}{d}".rstrip() for a, b, c, d in rows]


def _how(run: Run) -> str:
    how = {"starting": "starts", "running": f"runs, pid {run.pid}", "failed": run.error, "lost": "nobody saw its end"}
    said = how.get(run.state, "cancelled" if run.exit_code is None else f"exit code {run.exit_code}")
    return f"{said}, stopped" if run.is_stopped and run.state == "ended" else said
