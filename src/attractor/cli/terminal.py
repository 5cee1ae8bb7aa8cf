"""Output of the command line: ``error:`` and ``hint:`` on stderr, colour only where a person looks.

Colour is used on a terminal, unless ``NO_COLOR`` is set or the terminal is ``dumb``. A progress line is refreshed in
place on a terminal and stays silent elsewhere.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from typing import TYPE_CHECKING, Any, Self, TextIO

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import TracebackType

USAGE = 2
_CODES = {"red": "31", "green": "32", "yellow": "33", "bold": "1", "dim": "2"}


class UsageError(Exception):
    """A command that cannot be carried out as given; the message says why, ``hint`` what to do."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


def is_coloured(stream: TextIO) -> bool:
    """Return whether a person is looking at ``stream`` and wants colour."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


class Paint:
    """Colours text for one stream; leaves it alone where colour is off."""

    def __init__(self, stream: TextIO) -> None:
        self._on = is_coloured(stream)

    def __call__(self, text: str, *styles: str) -> str:
        """``text`` in those styles."""
        codes = ";".join(_CODES[style] for style in styles)
        return f"\x1b[{codes}m{text}\x1b[0m" if self._on and codes else text


def complain(message: str, hint: str = "") -> None:
    """Print an error, and what to do about it, to stderr."""
    paint = Paint(sys.stderr)
    print(f"{paint('error:', 'red', 'bold')} {message}", file=sys.stderr)
    if hint:
        print(f"\n{paint('hint:', 'bold')} {hint}", file=sys.stderr)


class ProgressLine:
    """One line on stderr, refreshed in place; nothing where stderr is not a terminal."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._shown = False
        self.live = self._stream.isatty() and os.environ.get("TERM") != "dumb"

    def show(self, text: str) -> None:
        """Replace the line."""
        if self.live:
            width = shutil.get_terminal_size().columns
            self._stream.write(f"\r\x1b[K{text[: width - 1]}")
            self._stream.flush()
            self._shown = True

    def clear(self) -> None:
        """Take the line away, so that what follows starts on a clean one."""
        if self._shown:
            self._stream.write("\r\x1b[K")
            self._stream.flush()
            self._shown = False


def say(lines: Iterable[str]) -> None:
    """Print data to stdout; whoever reads it may stop reading at any time (``| head``).

    Raises ``UsageError`` where it cannot be written for another reason, such as a disk that is full.
    """
    try:
        for line in lines:
            print(line)
        sys.stdout.flush()
    except BrokenPipeError:
        drop_output()
    except OSError as problem:
        drop_output()
        raise UsageError(f"the output cannot be written: {problem.strerror}") from None


def drop_output() -> None:
    """Write nothing more to stdout, also not what waits there for the process to end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def json_line(data: Any) -> str:
    """Data as one line of JSON that stdout can take: with letters of all scripts, unless its encoding lacks them."""
    is_unicode = (sys.stdout.encoding or "").lower().startswith("utf")
    return json.dumps(data, ensure_ascii=not is_unicode)


class Guarded:
    """Turns what goes wrong inside into an exit code of 2, with the line of the author's code that it came from.

    An exit code of 1 means *violated*, so an exception of the specification's own code must not end the process with
    Python's usual 1. What was raised outside that code is a bug of ours, and goes on to ``main``.
    """

    def __init__(self, *expected: type[Exception]) -> None:
        self._expected: tuple[type[Exception], ...] = (UsageError, *expected)
        self.code = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, _: TracebackType | None
    ) -> bool:
        if problem is None or not isinstance(problem, Exception):
            return False
        from attractor.runtime.observability.own_lines import own_line, what  # a server does not wait for the runtime

        line = own_line(problem)
        if not (line or isinstance(problem, self._expected)):
            return False  # a bug of ours: ``main`` tells it
        self.code = USAGE
        if isinstance(problem, self._expected):
            complain(str(problem), getattr(problem, "hint", ""))
        else:
            complain(
                f"the specification's code raised an error, so nothing was decided: {what(problem)}",
                f"look at {line}{_way_out(problem)}",
            )
        return True


def _way_out(problem: Exception) -> str:
    """A further line on what may be meant; nothing for a slip of the pen."""
    if isinstance(problem, AssertionError):
        return "\n      return what must be true from an `always` instead of asserting it"
    if isinstance(problem, AttributeError | NameError | TypeError):
        return ""
    return "\n      guard a step with `require` where it must not happen"
