"""Tails of log files: lines of files that grow, read as they do.

Lines are handed on whole; what a process has written without ending the line follows when it has ended.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, BinaryIO

from attractor.operators.devplane.drivers.local.output import begin_of_data

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

LOOK_S = 0.1
CHUNK_BYTES = 1 << 20
LONGEST_BYTES = 1 << 16
"""A line that is longer is handed on in pieces."""


class Tail:
    """One file that grows, from a place on; it need not be there yet."""

    def __init__(self, path: str, begin: int = 0) -> None:
        self._path = path
        self._begin = begin
        self._file: BinaryIO | None = None
        self._rest = b""

    def lines(self) -> list[str]:
        """The lines that have come since the last call; also from a file that was deleted meanwhile."""
        if self._file is None:
            with suppress(FileNotFoundError):
                self._file = open(self._path, "rb")  # noqa: SIM115 - it stays open for as long as it is followed
                self._file.seek(begin_of_data(self._file.fileno(), self._begin))
        if self._file is None or not (data := self._file.read(CHUNK_BYTES)):
            return []
        *whole, self._rest = (self._rest + data).split(b"\n")
        if len(self._rest) > LONGEST_BYTES:
            whole.append(self._rest)
            self._rest = b""
        return [line.decode(errors="replace").rstrip("\r") for line in whole]

    def last(self) -> list[str]:
        """All that is left, the beginning of a line included, when nothing more will come."""
        found: list[str] = []
        while more := self.lines():
            found += more
        if self._rest:
            found.append(self._rest.decode(errors="replace"))
            self._rest = b""
        return found

    def close(self) -> None:
        """Let go of the file."""
        if self._file is not None:
            self._file.close()
            self._file = None


class Tails:
    """Many of them, by whom they are about."""

    def __init__(self, tell: Callable[[str, str], None]) -> None:
        self._tell = tell
        self._tails: dict[tuple[str, str], Tail] = {}

    def follow(self, name: str, paths: Iterable[str], begin: int = 0) -> None:
        """Follow these files too, from a place on; one that is followed already goes on."""
        for path in paths:
            if path:
                self._tails.setdefault((name, path), Tail(path, begin))

    def forget(self, names: Iterable[str]) -> None:
        """Those are gone: hand on what is left of them."""
        gone = set(names)
        for name, path in [key for key in self._tails if key[0] in gone]:
            tail = self._tails.pop((name, path))
            for line in tail.last():
                self._tell(name, line)
            tail.close()

    @property
    def names(self) -> set[str]:
        """Return the names whose files are followed."""
        return {name for name, _ in self._tails}

    def look(self) -> None:
        """Hand on what has come."""
        for (name, _), tail in tuple(self._tails.items()):
            for line in tail.lines():
                self._tell(name, line)

    async def run(self) -> None:
        """Hand on what comes, until cancelled; then what is left."""
        try:
            while True:
                self.look()
                await asyncio.sleep(LOOK_S)
        finally:
            self.forget(self.names)
