"""A person's own code in a stack: the line that raised an error, and the line that a coroutine waits at."""

from __future__ import annotations

import sys
import traceback
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

PACKAGE = Path(__file__).parents[2]
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


def without_ours(trace: TracebackType | None) -> TracebackType | None:
    """A traceback without what is ours above a person's own code; whole, where there is none of theirs in it."""
    frames = list(_traced(trace))
    own = [number for number, one in enumerate(frames) if _is_own(Path(one.tb_frame.f_code.co_filename))]
    if not own:
        return trace
    kept = [
        one
        for number, one in enumerate(frames)
        if number >= own[-1] or not _is_ours(Path(one.tb_frame.f_code.co_filename))
    ]
    made: TracebackType | None = None
    for one in reversed(kept):
        made = TracebackType(made, one.tb_frame, one.tb_lasti, one.tb_lineno)
    return made


def _traced(trace: TracebackType | None) -> Iterator[TracebackType]:
    while trace is not None:
        yield trace
        trace = trace.tb_next


def waiting_line(coroutine: Any) -> str:
    """``FILE:LINE: code`` of the person's own code that a suspended coroutine waits at; empty where there is none."""
    stack = traceback.StackSummary.extract((frame, frame.f_lineno) for frame in _frames(coroutine))
    return last_own(stack)


def _frames(waiting: Any) -> Iterator[Any]:
    """The frames of what waits, and of what it waits for, and so on; the innermost last."""
    while waiting is not None:
        for frame, inner in (("cr_frame", "cr_await"), ("gi_frame", "gi_yieldfrom"), ("ag_frame", "ag_await")):
            if (found := getattr(waiting, frame, None)) is not None:
                yield found
                waiting = getattr(waiting, inner)
                break
        else:
            return


def _is_own(path: Path) -> bool:
    return not _is_ours(path) and not any(part in INSTALLED for part in path.parts)


def _is_ours(path: Path) -> bool:
    return PACKAGE in path.parents or path.parts[:2] == ("src", "attractor")  # compiled code says where it was
