"""A failure of attractor's own: told in two lines, with a report file for those who can mend it.

It has an exit code of its own, since 1 means *violated*, and 2 that the person who called it can mend it.
"""

from __future__ import annotations

import os
import platform
import shlex
import sys
import tempfile
import time
import traceback
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

import attractor
from attractor.cli.terminal import complain
from attractor.runtime.observability.own_lines import own_line, what

if TYPE_CHECKING:
    from collections.abc import Sequence

CRASHED = os.EX_SOFTWARE if hasattr(os, "EX_SOFTWARE") else 70
"""The exit code: 70, an internal software error in the words of ``sysexits.h``."""

_HOW_TO_REPORT = """\
This is a bug of attractor, whatever the program does that it was given: it should have answered, or refused with a
line of that program. Please report it with this file and, if you can, the smallest program that shows it. Look through
the file first: it has the command line and lines of your code, but no environment and no objects.
"""


def crashed(problem: BaseException, words: Sequence[str]) -> int:
    """Say that attractor has failed, and write the report; answers the exit code."""
    line = own_line(problem)
    hint = f"please report it with {_written(report(problem, words))}"
    complain(
        f"attractor itself has failed, and nothing was decided: {what(problem)}",
        f"{hint}\n      on the way there: {line}" if line else hint,
    )
    return CRASHED


def report(problem: BaseException, words: Sequence[str]) -> str:
    """All that is needed to find the bug: versions, the command, the traceback."""
    about = {
        "command": shlex.join(["attractor", *words]),
        "attractor": attractor.__version__,
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "platform": platform.platform(),
        "engine": "native" if _is_there("attractor.check.engine._kernel") else "python",
        **_dependencies(),
    }
    shown = "".join(traceback.format_exception(problem))
    return "\n".join([_HOW_TO_REPORT, *(f"{name}: {value}" for name, value in about.items()), "", shown])


def _dependencies() -> dict[str, str]:
    found = {}
    for each in metadata.requires("attractor") or () if _is_installed() else ():
        name = each.partition(";")[0].split("[")[0].rstrip("<>=!~ .0123456789,")
        if "extra ==" not in each:
            try:
                found[name] = metadata.version(name)
            except metadata.PackageNotFoundError:
                found[name] = "not installed"
    return found


def _is_installed() -> bool:
    try:
        metadata.distribution("attractor")
    except metadata.PackageNotFoundError:
        return False
    return True


def _is_there(module: str) -> bool:
    from importlib.util import find_spec

    return find_spec(module) is not None


def _written(text: str) -> str:
    """Write the report here, or where temporary files are, and return where; print it where neither works."""
    name = f"attractor-crash-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.txt"
    for folder in (Path(), Path(tempfile.gettempdir())):
        path = folder / name
        try:
            path.write_text(text, encoding="utf-8", errors="backslashreplace")
        except OSError:
            continue
        return str(path)
    print(text, file=sys.stderr)
    return "what is printed above"
