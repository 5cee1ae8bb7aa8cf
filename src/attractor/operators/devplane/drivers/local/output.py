"""What processes have written: when, how much of it is kept, and reading it again.

Processes write to their files themselves, so that nothing is lost whoever dies. A plane notes once a second how long
the files are: so each line has a time, to the second. Of a file that has become too long the oldest part is given back
to the file system (a hole): what is left keeps its place, and no writer notices.

UID/times    lines ``seconds stdout stderr``: how long the files were at a time
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

STREAMS = ("stdout", "stderr")
TIMES = "times"
LIMIT_BYTES = 64 << 20
"""How much of a stream is kept at least; twice as much is kept at most."""
BLOCK_BYTES = 1 << 16
FAR = 1 << 62
"""Beyond the end of every file."""
_KEEP_SIZE, _PUNCH_HOLE = 1, 2


@dataclass(frozen=True, order=True)
class Written:
    """A line that a process has written, and when, in seconds since 1970; to the second."""

    at: float
    stream: str
    text: str
    end: int = 0
    """Where the next line begins in the file; the place of the line itself while it is not finished."""


Spans = Mapping[str, tuple[int, int]]
"""Parts of the files, by stream: from which byte to which."""
EVERYTHING: Spans = {}


class OutputClock:
    """Notes when the files of Executables grow, and cuts those that are too long."""

    def __init__(self, limit_bytes: int = LIMIT_BYTES) -> None:
        self._limit = limit_bytes
        self._known: dict[Path, tuple[int, ...]] = {}

    def look(self, homes: Sequence[Path], now: float) -> None:
        """Note what has changed; ``homes`` are the directories of all Executables that may write."""
        for home in homes:
            sizes = tuple(size_of(home / stream) for stream in STREAMS)
            if sizes == self._known.get(home, (0, 0)):
                continue
            with suppress(FileNotFoundError), (home / TIMES).open("a") as file:
                file.write(f"{now:.0f} {sizes[0]} {sizes[1]}\n")
                self._known[home] = sizes
                for stream, size in zip(STREAMS, sizes, strict=True):
                    cut(home / stream, size, self._limit)
        for gone in self._known.keys() - set(homes):
            del self._known[gone]


def size_of(path: Path) -> int:
    """Return the length of a file; 0 when it is not there."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def cut(path: Path, size: int, limit: int) -> None:
    """Give the oldest part of a file back, if it is twice as long as it may be; where nothing can be cut, it grows."""
    if size < 2 * limit or path.stat().st_blocks * 512 < 2 * limit:
        return
    end = (size - limit) // BLOCK_BYTES * BLOCK_BYTES
    libc = ctypes.CDLL(None, use_errno=True)
    with path.open("r+b") as file:
        libc.fallocate(file.fileno(), _KEEP_SIZE | _PUNCH_HOLE, ctypes.c_long(0), ctypes.c_long(end))


def begin_of_data(descriptor: int, begin: int) -> int:
    """Return where the first byte is that was not given back, from a place on."""
    try:
        return os.lseek(descriptor, begin, os.SEEK_DATA)
    except OSError:  # there is none
        return os.lseek(descriptor, 0, os.SEEK_END)


def written(
    home: Path, streams: Sequence[str] = STREAMS, since: float = 0.0, spans: Spans = EVERYTHING
) -> list[Written]:
    """The lines of an Executable, those of both streams in order of time, as far as that is known."""
    times = _times(home)
    found = [
        line
        for stream in streams
        for line in _lines(home, stream, times, since, spans.get(stream, (0, FAR)))
        if line.at >= since
    ]
    return sorted(found, key=lambda line: line.at)


def _times(home: Path) -> list[tuple[float, dict[str, int]]]:
    try:
        rows = (home / TIMES).read_text().splitlines()
    except FileNotFoundError:
        return []
    words = [row.split() for row in rows]
    return [(float(at), dict(zip(STREAMS, map(int, sizes), strict=True))) for at, *sizes in words if len(sizes) == 2]


def _lines(
    home: Path, stream: str, times: Sequence[tuple[float, dict[str, int]]], since: float, span: tuple[int, int]
) -> Iterator[Written]:
    """The lines of a stream: each is of the first time at which the file was longer than where the line begins."""
    path = home / stream
    try:
        file = path.open("rb")
    except FileNotFoundError:
        return
    with file:
        latest = path.stat().st_mtime
        begin = max((sizes[stream] for at, sizes in times if at < since), default=0)
        begin = max(begin, span[0])
        place = begin_of_data(file.fileno(), begin)
        file.seek(place)
        if place > begin:
            place += len(file.readline())  # the rest of a line whose beginning was given back
        rows = iter(times)
        at, end = 0.0, 0
        for line in file:
            if place >= span[1]:
                return
            while place >= end:
                at, end = next(((row[0], row[1][stream]) for row in rows), (latest, FAR))
            following = place + len(line) if line.endswith(b"\n") else place
            yield Written(at, stream, line.decode(errors="replace").rstrip("\r\n"), following)
            place += len(line)
