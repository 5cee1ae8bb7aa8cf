"""``Files``: what the controller of file watches needs of the machine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class FileSet:
    """Some files of a directory, by patterns such as ``src/**/*.py``."""

    directory: str
    """Where the controller runs when empty."""
    paths: tuple[str, ...]
    ignore: tuple[str, ...] = ()


class Files(Protocol):
    """A file system that is looked at."""

    async def digest(self, files: FileSet) -> str:
        """A word that is another one when a file was changed, added or removed."""
        raise NotImplementedError
