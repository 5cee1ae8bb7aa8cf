"""``LocalFiles``: the files of this machine, told apart by their paths, times and sizes.

They are looked at, not listened to: this works on every file system (also on those that containers and virtual machines
share, where the kernel tells nothing), misses nothing that happens while nobody runs, and costs about 10 µs a file.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from attractor.operators.devplane.drivers.local.patterns import matcher, root_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from attractor.operators.devplane.drivers.files import FileSet

SKIPPED = frozenset({".git", ".hg", ".attractor", "__pycache__", "node_modules", ".venv", ".mypy_cache", ".ruff_cache"})
"""Directories that are never looked into."""


class LocalFiles:
    """The files of this machine."""

    async def digest(self, files: FileSet) -> str:
        """A hash of the paths, times and sizes of the files."""
        return await asyncio.to_thread(digest_of, files)


def digest_of(files: FileSet) -> str:
    """The same, at once."""
    base = Path(files.directory or ".").absolute()
    wanted, unwanted = matcher(files.paths), matcher(files.ignore)
    made = hashlib.sha256()
    for start in sorted({root_of(pattern) for pattern in files.paths}):
        for path, status in _walk(base, start, unwanted):
            if wanted(path):
                made.update(f"{path}\0{status.st_mtime_ns}\0{status.st_size}\n".encode())
    return made.hexdigest()[:16]


def _walk(base: Path, at: str, is_unwanted: Callable[[str], bool]) -> Iterator[tuple[str, os.stat_result]]:
    """All files under a path, in the order of their names; each with its path from the base."""
    try:
        entries = sorted(os.scandir(base / at), key=lambda entry: entry.name)
    except NotADirectoryError:
        yield at, (base / at).stat()
        return
    except OSError:
        return  # it is not there, or not to be read: as if it were empty
    for entry in entries:
        path = f"{at}/{entry.name}" if at else entry.name
        if is_unwanted(path):
            continue
        if entry.is_dir(follow_symlinks=False):
            if entry.name not in SKIPPED:
                yield from _walk(base, path, is_unwanted)
            continue
        try:
            yield path, entry.stat()
        except OSError:
            continue  # it went while we looked
