"""The high-water mark of a SQLite store: how far it had acknowledged, in a file of its own.

SQLite ends its write-ahead log at the first frame that is not whole, and takes what comes before for all there was. A
flipped byte, a deleted log or an emptied file then looks like an earlier, healthy store. The mark tells: what the file
holds must reach at least as far.

It lies beside the database as ``PATH-mark``: two slots of 64 bytes, written in turn, so that a torn write leaves the
one before. It is written after the database has synced and before anybody is told, so it never is ahead of what is
durable; and it is synced itself once a second at most, not for each write. ``kill -9`` therefore leaves it exact, a
power cut may leave it a second behind. Whoever has the store open holds a lock on this file.
"""

from __future__ import annotations

import fcntl
import os
import struct
import zlib
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Self

_MAGIC = b"ATTRMARK"
_SLOT = struct.Struct(">8sQQQ28x")
_SUM = struct.Struct(">I")
_SIZE = _SLOT.size + _SUM.size


class InUse(Exception):
    """Another process has the store open."""


class Reached(NamedTuple):
    """The content of a mark."""

    store: int
    """The number that the database has, too: marks of other files say nothing about this one."""
    revision: int
    sequence: int


def mark_path(path: Path) -> Path:
    """Where the mark of a database lies."""
    return path.with_name(path.name + "-mark")


class Mark:
    """An open mark, locked for this process."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self._descriptor = descriptor
        self.is_torn = False
        """Whether one of the two slots is not as it was written."""
        self.reached = self._read()
        """What it says; None when neither slot can be read."""
        self.is_synced = True

    @classmethod
    def open(cls, database: Path) -> Self | None:
        """The mark of a database, if there is one; raises ``InUse``."""
        path = mark_path(database)
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        return cls(path, _locked(descriptor))

    @classmethod
    def create(cls, database: Path, store: int, revision: int) -> Self:
        """A new mark, on the disk when this returns; raises ``InUse`` when somebody else makes one, too."""
        path = mark_path(database)
        descriptor = _locked(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        os.ftruncate(descriptor, 0)
        mark = cls(path, descriptor)
        mark.begin(store, revision)
        return mark

    def begin(self, store: int, revision: int) -> None:
        """Say this in both slots, on the disk when this returns."""
        os.ftruncate(self._descriptor, 2 * _SIZE)
        self.reached = Reached(store, revision, 0)
        for _ in range(2):
            self.write(revision)
        self.sync()
        directory = os.open(self.path.parent, os.O_RDONLY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)

    def write(self, revision: int) -> None:
        """Say that everything up to a revision is durable."""
        assert self.reached is not None, "a mark that says nothing has to begin anew"
        store, _, sequence = self.reached
        self.reached = Reached(store, revision, sequence + 1)
        text = _SLOT.pack(_MAGIC, *self.reached)
        os.pwrite(self._descriptor, text + _SUM.pack(zlib.crc32(text)), (sequence + 1) % 2 * _SIZE)
        self.is_synced = False

    def sync(self) -> None:
        """Have it on the disk."""
        if not self.is_synced:
            os.fdatasync(self._descriptor)
            self.is_synced = True

    def close(self) -> None:
        """Sync it and let go of the store; closing it once more does nothing."""
        descriptor = self._descriptor
        if descriptor < 0:
            return
        try:
            self.sync()
        finally:
            self._descriptor = -1
            os.close(descriptor)

    def _read(self) -> Reached | None:
        text = os.pread(self._descriptor, 2 * _SIZE + 1, 0)
        slots = [_slot(text[place : place + _SIZE]) for place in (0, _SIZE)]
        self.is_torn = bool(text) and (None in slots or len(text) != 2 * _SIZE)
        return max((slot for slot in slots if slot is not None), key=lambda slot: slot.sequence, default=None)


def _slot(text: bytes) -> Reached | None:
    if len(text) != _SIZE or _SUM.unpack(text[_SLOT.size :])[0] != zlib.crc32(text[: _SLOT.size]):
        return None
    magic, store, revision, sequence = _SLOT.unpack(text[: _SLOT.size])
    return Reached(store, revision, sequence) if magic == _MAGIC else None


def _locked(descriptor: int) -> int:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(descriptor)
        raise InUse from error
    return descriptor
