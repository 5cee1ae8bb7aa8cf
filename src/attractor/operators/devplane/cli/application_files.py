"""The files of an application, found and read: objects in YAML, compose files, a Procfile."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from attractor.cli.terminal import UsageError
from attractor.operators.devplane.api import procfile
from attractor.operators.devplane.api.application import read
from attractor.operators.devplane.api.compose.document import Source, is_compose
from attractor.operators.devplane.api.compose.translation import translate
from attractor.operators.local.env_files import variables

if TYPE_CHECKING:
    from collections.abc import Sequence

    from attractor.operators.devplane.api.application import Part

DEFAULTS = ("app.yaml", "compose.yaml", "compose.yml", "docker-compose.yaml", "docker-compose.yml", "Procfile")
"""What is run when no file is named: the first of these that is there."""
DOTENV = ".env"


def parts_of(names: Sequence[str], profiles: Sequence[str] = ()) -> tuple[list[Part], list[str]]:
    """The objects of these files, or of what is there, and notes about what was left out.

    Raises ``UsageError``, ``ApplicationError``.
    """
    files = dict(_content(name) for name in names or [_default()])
    procfiles = [name for name in files if procfile.is_procfile(name)]
    composed = [name for name in files if name not in procfiles and is_compose(files[name])]
    objects = [(name, text) for name, text in files.items() if name not in procfiles and name not in composed]
    parts = read(objects) if objects else []
    for name in procfiles:
        parts += procfile.parts(name, files[name], env_files=[DOTENV] if Path(DOTENV).is_file() else [])
    if not composed:
        return parts, []
    source = Source(lambda path: files.get(path) or Path(path).read_text(encoding="utf-8"), _variables(composed[0]))
    translated = translate(composed, source, profiles)
    return [*parts, *translated.parts], translated.notes


def _variables(name: str) -> dict[str, str]:
    """The variables of compose files: those of ``.env`` beside the first, and over them the environment."""
    dotenv = Path(name).parent / DOTENV
    return {**(variables(dotenv.read_text()) if dotenv.is_file() else {}), **os.environ}


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
