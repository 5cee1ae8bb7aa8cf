"""The files of an application, found and read: objects in YAML, or a Procfile."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from attractor.cli.terminal import UsageError
from attractor.operators.devplane.api import procfile
from attractor.operators.devplane.api.application import read

if TYPE_CHECKING:
    from collections.abc import Sequence

    from attractor.operators.devplane.api.application import Part

DEFAULTS = ("app.yaml", "Procfile")
"""What is run when no file is named: the first of these that is there."""
DOTENV = ".env"


def parts_of(names: Sequence[str]) -> list[Part]:
    """The objects of these files, or of what is there; raises ``UsageError``, ``ApplicationError``."""
    files = [_content(name) for name in names or [_default()]]
    given = [(name, text) for name, text in files if not procfile.is_procfile(name)]
    parts = read(given) if given or not files else []
    for name, text in files:
        if procfile.is_procfile(name):
            parts += procfile.parts(name, text, env_files=[DOTENV] if Path(DOTENV).is_file() else [])
    return parts


def _default() -> str:
    for name in DEFAULTS:
        if Path(name).is_file():
            return name
    raise UsageError(f"there is no {' and no '.join(DEFAULTS)} here", "name the files of the application")


def _content(name: str) -> tuple[str, str]:
    """A file's name and what is in it; raises ``UsageError``."""
    if name == "-":
        return "stdin", sys.stdin.read()
    try:
        return name, Path(name).read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{name} cannot be read: {error.strerror}", "give a YAML file with the application") from error
    except UnicodeDecodeError:
        raise UsageError(f"{name} is no text", "give a YAML file with the application") from None
