"""The reserve of a SQLite store: room on the disk that is kept for those who make room.

On a full disk even a delete needs some bytes, for it is written into the log. So while there still is
room, but no longer plenty, a file ``PATH-reserve`` takes a little of it. It is given up for writes that do not grow the
store; once there is room again, it is taken again.
"""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from attractor.store.mvcc import Commit

RESERVE_BYTES = 32 << 20
"""Twice what the write-ahead log takes before it is copied into the database, which is what needs the most room."""
SHARE = 8
"""Of a small disk only this part of what is free is taken."""
LEAST_BYTES = 64 << 10
PLENTY_BYTES = 16 * RESERVE_BYTES
"""With so much room on the disk nobody needs a reserve; it is looked at when the store is opened and once a second."""
SLACK_BYTES = 1024
"""So much an update may add and still count as one that does not grow the store: a deletion may begin with a mark."""


class Reserve:
    """The reserve of one database."""

    def __init__(self, database: Path) -> None:
        self._path = database.with_name(database.name + "-reserve")
        self.size_bytes = max(min(RESERVE_BYTES, self._room() // SHARE), LEAST_BYTES)
        self.is_held = False

    def take(self) -> bool:
        """Have the reserve, if there is room for it; answers whether there was."""
        if not self.is_held:
            try:
                descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
                try:
                    self.size_bytes = os.fstat(descriptor).st_size or self.size_bytes
                    os.posix_fallocate(descriptor, 0, self.size_bytes)
                    self.is_held = True
                except OSError:
                    os.ftruncate(descriptor, 0)
                finally:
                    os.close(descriptor)
            except OSError:
                return False
        return self.is_held

    def keep(self) -> None:
        """Have the reserve where there is not plenty of room, and not where there is."""
        room = self._room()
        if not self.is_held and room < PLENTY_BYTES:
            self.take()
        elif self.is_held and room > 2 * PLENTY_BYTES:
            self.is_held = False
            self._path.unlink(missing_ok=True)

    def has_room(self) -> bool:
        """Whether there is plenty of room, or the reserve and some room beside it, so that it is not needed at once."""
        return self._room() >= PLENTY_BYTES or (self.take() and self._room() >= self.size_bytes // 4)

    def release(self) -> None:
        """Give it up."""
        self.is_held = False
        with contextlib.suppress(OSError):
            os.truncate(self._path, 0)

    def _room(self) -> int:
        """How many bytes are free on the disk."""
        try:
            disk = os.statvfs(self._path.parent)
        except OSError:
            return 0
        return disk.f_bavail * disk.f_frsize


def does_not_grow(commit: Commit) -> bool:
    """Whether a transaction only deletes, or makes what is there smaller, or hardly larger."""
    return all(
        event.value is None
        or (event.previous is not None and len(event.value) <= len(event.previous.value) + SLACK_BYTES)
        for event in commit.events
    )
