"""The directory that an image is built from, as an archive; what its ``.dockerignore`` names is left out."""

from __future__ import annotations

import fnmatch
import io
import tarfile
from typing import TYPE_CHECKING, NamedTuple

from attractor.operators.local.containers.runtime import Refused

if TYPE_CHECKING:
    from pathlib import Path

NAMES = ("Dockerfile", "Containerfile")


class BuildContext(NamedTuple):
    """An archive, and which of its files says what to do."""

    archive: bytes
    dockerfile: str


def build_context(directory: Path, dockerfile: str = "") -> BuildContext:
    """The archive of a directory; raises ``Refused`` when there is nothing to build."""
    if not directory.is_dir():
        raise Refused(f"build context {directory} is no directory")
    name = dockerfile or next((one for one in NAMES if (directory / one).is_file()), NAMES[0])
    if not (directory / name).is_file():
        raise Refused(f"there is no {name} in {directory}; write one, or say build.dockerfile")
    ignored = patterns(directory)
    made = io.BytesIO()
    try:
        with tarfile.open(fileobj=made, mode="w") as tar:
            for path in sorted(directory.rglob("*")):
                inner = path.relative_to(directory).as_posix()
                if inner == name or not is_ignored(inner, ignored):
                    tar.add(path, inner, recursive=False)
    except OSError as error:
        raise Refused(f"build context {directory} cannot be read: {error}") from error
    return BuildContext(made.getvalue(), name)


def patterns(directory: Path) -> list[str]:
    """The lines of ``.dockerignore`` that say something."""
    path = directory / ".dockerignore"
    lines = path.read_text().splitlines() if path.is_file() else []
    return [line.strip() for line in lines if line.strip() and not line.startswith("#")]


def is_ignored(path: str, ignored: list[str]) -> bool:
    """Return whether a path, or a directory that it is in, is named; the last line that names it decides.

    >>> is_ignored("node_modules/a/b.js", ["node_modules"]), is_ignored("keep.log", ["*.log", "!keep.log"])
    (True, False)
    """
    parts = path.split("/")
    above = ["/".join(parts[: end + 1]) for end in range(len(parts))]
    decided = False
    for line in ignored:
        pattern = line.removeprefix("!").strip("/").removeprefix("**/")
        if any(fnmatch.fnmatchcase(one, pattern) for one in above):
            decided = not line.startswith("!")
    return decided
