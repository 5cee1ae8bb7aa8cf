"""Errors of the checker: every message names the place and the way out.

    SpecError                 the specification cannot be checked as written
    ├── MutationError         a value was changed in place; values are immutable
    ├── ValueNotHashable      a value that cannot be part of a state
    └── ImpureStep            the same reads gave two different results

``Disabled``, ``SharingLost``, ``Blocking`` and ``Grown`` are signals between a running action and the engine, not
errors; they derive from ``BaseException`` so that an action's own ``except`` cannot swallow them.
"""

from __future__ import annotations

import inspect
import os
import sys
import sysconfig
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Hashable
    from types import FrameType

_PACKAGE = __file__.rsplit(os.sep, 2)[0]
_SHIPPED = tuple(os.sep.join((_PACKAGE, *rooms)) for rooms in (("check", "specs"), ("operators",)))
_STANDARD = sysconfig.get_path("stdlib")
_LIBRARY = tuple(sysconfig.get_path(each) for each in ("stdlib", "platstdlib", "purelib", "platlib"))


class SpecError(Exception):
    """The specification cannot be checked as written."""


class MutationError(SpecError):
    """A value was changed in place."""


class ValueNotHashable(SpecError):
    """A value that has no hash cannot be part of a state."""


class ImpureStep(SpecError):
    """A step gave two results for the same reads."""


class Disabled(BaseException):
    """Raised by ``require``: the action cannot be taken in this state."""


class SharingLost(BaseException):
    """Raised when a step looks at who it is; its instances then stop sharing what they remember."""


class Blocking(BaseException):
    """A call was stopped that waits or reaches outside; the text has the line and the way out."""


def name_of(filename: str) -> str:
    """The last part of a path; to load ``pathlib`` for it would be a hundredth of a check of a million states."""
    return filename.rpartition(os.sep)[2]


def author_line() -> str:
    """Return ``file.py:line`` of the innermost frame outside this package and the library: the author's own line."""
    frame = authors_frame(sys._getframe(1))  # noqa: SLF001 - the only way to the caller's line
    return f"{name_of(frame.f_code.co_filename)}:{frame.f_lineno}" if frame else "unknown line"


def line_of(function: object) -> str:
    """``file.py:line`` where an author's function begins; nothing for one that is not an author's."""
    plain = inspect.unwrap(function) if callable(function) else None
    code = getattr(plain, "__code__", None) or getattr(getattr(type(plain), "__call__", None), "__code__", None)  # noqa: B004
    if code is None or not is_authors(code.co_filename):
        return ""
    return f"{name_of(code.co_filename)}:{code.co_firstlineno}"


def raising_line(error: BaseException) -> str:
    """File and line of the author's code from which an error came: the innermost outside the standard library."""
    line, trace = "", error.__traceback__
    while trace is not None:
        filename = trace.tb_frame.f_code.co_filename
        if not is_standard(filename) and not is_of_package(filename):
            line = f"{filename}:{trace.tb_lineno}"
        trace = trace.tb_next
    return line


def is_standard(filename: str) -> bool:
    """Whether a file is of the standard library."""
    return filename.startswith(_STANDARD) and "site-packages" not in filename


def authors_frame(frame: FrameType | None) -> FrameType | None:
    """The innermost frame of an author's code, from ``frame`` outwards, but for where the program began."""
    while frame is not None and frame.f_back is not None:
        if is_authors(frame.f_code.co_filename):
            return frame
        frame = frame.f_back
    return None


def is_authors(filename: str) -> bool:
    """Whether a file is neither installed nor of the library nor of this package, but for what ships as an example."""
    return filename.startswith(_SHIPPED) or not filename.startswith((_PACKAGE, *_LIBRARY, "<"))


def is_of_package(filename: str) -> bool:
    """Whether a file is of this package, and no example that ships with it."""
    return filename.startswith(_PACKAGE) and not filename.startswith(_SHIPPED)


def require_plain(function: object, use: str) -> None:
    """Raise ``SpecError`` for a function that answers a coroutine or a generator, which would always count as true."""
    if inspect.iscoroutinefunction(function) or inspect.isgeneratorfunction(function):
        name = getattr(function, "__name__", repr(function))
        raise SpecError(f"{author_line()}: `{name}` cannot be {use}: it is `async` or yields; write a plain `def`")


class Grown(BaseException):
    """Raised while a model is explored that turns out to lack a part; ``growth.fitted`` begins again with it."""

    def __init__(self, what: str, part: Hashable) -> None:
        super().__init__(what, part)
        self.what = what
        self.part = part
