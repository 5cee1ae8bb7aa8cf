"""From a ``Launch`` to the order that a shim gets, or to the reason why there cannot be a process, for people."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attractor.operators.local.env_files import variables
from attractor.operators.local.processes import MARK

if TYPE_CHECKING:
    from collections.abc import Mapping

    from attractor.operators.devplane.drivers.processes import Launch


class CannotStart(Exception):
    """The process cannot be, whoever tries again; the text says why, and what would help."""


def environment_of(launch: Launch, ambient: Mapping[str, str]) -> dict[str, str]:
    """All variables of a process: the ambient ones if it inherits them, those of files, its own; later ones win."""
    made = dict(ambient) if launch.inherits else {}
    for name in launch.env_files:
        path = directory_of(launch) / name
        try:
            made |= variables(path.read_text())
        except (OSError, UnicodeDecodeError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is no text"
            raise CannotStart(f"environment file {path} cannot be read: {why}") from error
    return made | dict(launch.environment)


def directory_of(launch: Launch) -> Path:
    """Return the working directory of a process."""
    return Path(launch.directory).absolute() if launch.directory else Path.cwd()


def program_of(program: str, directory: Path, path: str) -> str:
    """The file of a program: as it is named, seen from the directory, or in PATH; raises ``CannotStart``."""
    if "/" not in program:
        found = shutil.which(program, path=path)
        if found is None:
            raise CannotStart(f"program {program!r} is not in PATH; install it, or name it by its path")
        return found
    named = directory / program
    if not named.is_file():
        raise CannotStart(f"program {named} {'is no file' if named.exists() else 'does not exist'}")
    if not os.access(named, os.X_OK):
        raise CannotStart(f"program {named} may not be executed; allow it with chmod +x")
    return str(named)


def order_of(launch: Launch, mark: str, ambient: Mapping[str, str]) -> dict[str, Any]:
    """Return the order for a shim that starts the process; raises ``CannotStart``."""
    directory = directory_of(launch)
    if not directory.is_dir():
        raise CannotStart(f"working directory {directory} {'is none' if directory.exists() else 'does not exist'}")
    if not os.access(directory, os.X_OK):
        raise CannotStart(f"working directory {directory} may not be entered; see its permissions")
    environment = environment_of(launch, ambient)
    program = program_of(launch.command[0], directory, environment.get("PATH", os.defpath))
    return {
        "directory": str(directory),
        "program": program,
        "command": list(launch.command),
        "environment": environment | {MARK: mark},
        "word": launch.word,
    }


def explained(number: int, program: str) -> str:
    """Return why the kernel did not start a program that is there."""
    reasons = {
        errno.ENOENT: "the interpreter that its first line names does not exist",
        errno.ENOEXEC: "it is no program of this machine, and has no first line #! that names an interpreter",
        errno.EACCES: "it, or its working directory, is not permitted",
        errno.E2BIG: "its arguments and variables are too long",
    }
    return f"program {program} cannot be executed: {reasons.get(number, os.strerror(number))}"
