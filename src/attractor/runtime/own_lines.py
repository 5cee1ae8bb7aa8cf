"""Errors that a person's own code raises: told in one line, with the line of that code to look at."""

from __future__ import annotations

import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

PACKAGE = Path(__file__).parents[1]
INSTALLED = {"site-packages", f"python{sys.version_info.major}.{sys.version_info.minor}"}
"""What the path of a library, or of Python itself, has in it."""


def what(problem: BaseException) -> str:
    """The error in one line."""
    if isinstance(problem, SystemExit):
        return "it ends the program instead of only defining things"
    if isinstance(problem, SyntaxError):
        return f"{problem.msg} in line {problem.lineno}"
    if type(problem).__module__.startswith("attractor."):
        return str(problem)
    return "".join(traceback.format_exception_only(problem)).strip().replace("\n", "; ")


def own_line(problem: BaseException) -> str:
    """``FILE:LINE: code`` of the person's own code that raised it, or that led there; empty where none did."""
    if isinstance(problem, SyntaxError) and problem.filename:
        return f"{problem.filename}:{problem.lineno}: {(problem.text or '').strip()}"
    return last_own(traceback.extract_tb(problem.__traceback__))


def last_own(frames: Iterable[traceback.FrameSummary]) -> str:
    """``FILE:LINE: code`` of the innermost frame that is a person's own code; empty where there is none."""
    own = [one for one in frames if _is_own(Path(one.filename)) and not one.filename.startswith("<")]
    return f"{own[-1].filename}:{own[-1].lineno}: {own[-1].line}" if own else ""


def _is_own(path: Path) -> bool:
    is_ours = PACKAGE in path.parents or path.parts[:2] == ("src", "attractor")  # compiled code says where it was
    return not is_ours and not any(part in INSTALLED for part in path.parts)
