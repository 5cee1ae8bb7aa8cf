"""Audit lines in a file, or on standard output; full files are set aside, and only so many of those are kept.

``write`` never waits: lines are gathered for ``GATHER_S`` and written together by a thread, so that a slow disk slows
nothing but the log. What waits for the disk is bounded by ``PENDING_BYTES``; lines beyond it are lost, counted and
reported. What was taken is in the file once ``aclose`` has returned; after ``kill -9`` what was taken in the last
``GATHER_S`` may be missing.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from pathlib import Path

log = logging.getLogger("attractor.httpd")

GATHER_S = 0.02
PENDING_BYTES = 32 * 1024 * 1024
MEGABYTE = 1024 * 1024
DEFAULT_MAX_BYTES, DEFAULT_BACKUPS = 100 * MEGABYTE, 10
_PRIVATE = 0o600


class LineTarget(Protocol):
    """A target of audit lines, written by one thread."""

    def append(self, lines: list[bytes]) -> None:
        """Write them; may wait, and raises ``OSError``."""
        ...

    def close(self) -> None:
        """Nothing more will come."""
        ...


class RotatingFile:
    """A file that is appended to and set aside before it grows beyond a size. Only one thread uses it.

    ``audit.log`` becomes ``audit-2026-11-16T03-50-50.123456.log``; of these the newest ``backups`` are kept (0: all).
    """

    def __init__(self, path: Path, max_bytes: int = DEFAULT_MAX_BYTES, backups: int = DEFAULT_BACKUPS) -> None:
        self._path = path
        self._max_bytes = max_bytes
        self._backups = backups
        self._descriptor = self._open()
        self._size = os.fstat(self._descriptor).st_size

    def _open(self) -> int:
        return os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, _PRIVATE)

    def append(self, lines: list[bytes]) -> None:
        """Write lines, whole ones, so that no file is larger than it may be (unless one line is)."""
        piece: list[bytes] = []
        size = 0
        for line in lines:
            if self._max_bytes and self._size + size + len(line) > self._max_bytes and self._size + size:
                self._write(b"".join(piece))
                piece, size = [], 0
                self._rotate()
            piece.append(line)
            size += len(line)
        self._write(b"".join(piece))

    def _write(self, data: bytes) -> None:
        _write_all(self._descriptor, data)
        self._size += len(data)

    def _rotate(self) -> None:
        stamp = datetime.now(UTC).strftime("%Y-%m-%dT%H-%M-%S.%f")
        aside = self._path.with_name(f"{self._path.stem}-{stamp}{self._path.suffix}")
        with suppress(FileNotFoundError):  # somebody else has set it aside already
            self._path.rename(aside)
        full, self._descriptor, self._size = self._descriptor, self._open(), 0
        os.close(full)
        if self._backups:
            for old in self.set_aside()[: -self._backups]:
                old.unlink(missing_ok=True)

    def set_aside(self) -> list[Path]:
        """The full files that are kept, oldest first."""
        stem, suffix = self._path.stem, self._path.suffix
        digits = "[0-9]" * 4
        return sorted(self._path.parent.glob(f"{stem}-{digits}-*T*.*{suffix}"))

    def close(self) -> None:
        """Give up the file."""
        os.close(self._descriptor)


class StandardOutput:
    """Lines among what the process prints."""

    def append(self, lines: list[bytes]) -> None:
        """Print them."""
        sys.stdout.flush()
        _write_all(sys.stdout.fileno(), b"".join(lines))

    def close(self) -> None:
        """It stays open."""


def _write_all(descriptor: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


class AuditFile:
    """An ``AuditSink`` that writes in the background."""

    def __init__(self, target: LineTarget, pending_bytes: int = PENDING_BYTES) -> None:
        self._target = target
        self._bound = pending_bytes
        self._lines: list[bytes] = []
        """Taken, and not yet with the thread."""
        self._pending_bytes = 0
        """Of all lines that are not yet written; at most ``_bound``."""
        self._thread = ThreadPoolExecutor(1, "audit")
        self._timer: asyncio.TimerHandle | None = None
        self._writing: asyncio.Future[None] | None = None
        """Set while the thread writes."""
        self._is_failing = False
        self._lost = 0

    @classmethod
    def at(cls, path: Path, *, max_bytes: int = DEFAULT_MAX_BYTES, backups: int = DEFAULT_BACKUPS) -> AuditFile:
        """A log in a file, ``-`` for standard output; raises ``OSError`` when it cannot be opened."""
        return cls(StandardOutput() if str(path) == "-" else RotatingFile(path, max_bytes, backups))

    @property
    def lost(self) -> int:
        """How many lines could not be kept."""
        return self._lost

    def write(self, line: bytes) -> None:
        """Take a line, or count it as lost when too much waits for the disk."""
        if self._pending_bytes + len(line) > self._bound:
            self._lose(1, "the disk does not keep up")
            return
        self._lines.append(line)
        self._pending_bytes += len(line)
        if self._timer is None and self._writing is None:
            self._timer = asyncio.get_running_loop().call_later(GATHER_S, self._hand_over)

    def _hand_over(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        lines, self._lines = self._lines, []
        self._writing = asyncio.get_running_loop().run_in_executor(self._thread, self._target.append, lines)
        self._writing.add_done_callback(partial(self._written, lines))

    def _written(self, lines: list[bytes], done: asyncio.Future[None]) -> None:
        """The thread is through with these lines."""
        self._writing = None
        self._pending_bytes -= sum(map(len, lines))
        error = done.exception()
        if error is not None:
            self._lose(len(lines), str(error))
        else:
            self._is_failing = False
        if self._lines:
            self._timer = asyncio.get_running_loop().call_later(GATHER_S, self._hand_over)

    def _lose(self, lines: int, why: str) -> None:
        self._lost += lines
        if not self._is_failing:
            self._is_failing = True
            log.error("audit lines are lost", extra={"why": why})

    async def aclose(self) -> None:
        """Write what was taken and close."""
        while self._lines or self._writing is not None:
            if self._writing is None:
                self._hand_over()
            assert self._writing is not None
            await asyncio.wait([self._writing])
        self._thread.shutdown()
        self._target.close()
