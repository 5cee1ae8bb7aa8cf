"""``MODULE`` on the command line: a dotted name or a Python file, imported; errors name the line to look at."""

from __future__ import annotations

import difflib
import importlib
import os
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING

from attractor.cli.terminal import UsageError
from attractor.testing.pythonfiles import import_file, make_importable

if TYPE_CHECKING:
    from types import ModuleType

PACKAGE = Path(__file__).parents[1]
INSTALLED = {"site-packages", f"python{sys.version_info.major}.{sys.version_info.minor}"}
"""What the path of a library, or of Python itself, has in it."""


class ModuleError(UsageError):
    """The module cannot be used; the text says why, ``hint`` what to do."""


def imported(name: str) -> ModuleType:
    """The module that ``name`` means; raises ``ModuleError``."""
    try:
        return _file(Path(name)) if name.endswith(".py") or os.sep in name else _dotted(name)
    except ModuleError:
        raise
    except (Exception, SystemExit) as problem:  # whatever a person's module does when it is imported
        raise ModuleError(f"{name} cannot be imported: {_what(problem)}", _where(problem)) from problem


def _file(path: Path) -> ModuleType:
    if path.is_dir():
        raise ModuleError(f"{path} is a directory", "name a Python file in it, or a module by its dotted name")
    if not path.is_file():
        raise ModuleError(f"there is no file {path}", "name a Python file, or a module by its dotted name")
    if path.suffix != ".py":
        raise ModuleError(f"{path} is not a Python file", "name a file that ends in .py")
    return import_file(path)


def _dotted(name: str) -> ModuleType:
    if not all(part.isidentifier() for part in name.split(".")):
        raise ModuleError(f"`{name}` is not the name of a module", "name a Python file, or a module by its dotted name")
    make_importable(Path.cwd())
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as problem:
        if problem.name is None or not (name == problem.name or name.startswith(problem.name + ".")):
            raise
        raise ModuleError(f"there is no module `{name}`", _hint(name, problem.name)) from None


def _hint(name: str, missing: str) -> str:
    parent, _, last = missing.rpartition(".")
    siblings: list[str] = []
    if parent:
        package = importlib.import_module(parent)
        for folder in getattr(package, "__path__", ()):
            siblings += [path.stem for path in Path(folder).glob("*.py") if path.stem != "__init__"]
    near = difflib.get_close_matches(last, siblings, n=3, cutoff=0.6)
    if near:
        return f"did you mean {' or '.join(f'`{parent}.{each}`' for each in near)}?"
    if Path(f"{name}.py").is_file():
        return f"to name a file, write `{name}.py`"
    return "name a module that Python can import from here, or a file such as `lift.py`"


def _what(problem: BaseException) -> str:
    if isinstance(problem, SystemExit):
        return "it ends the program instead of only defining things"
    if isinstance(problem, SyntaxError):
        return f"{problem.msg} in line {problem.lineno}"
    if type(problem).__module__.startswith("attractor."):
        return str(problem)
    return "".join(traceback.format_exception_only(problem)).strip().replace("\n", "; ")


def _where(problem: BaseException) -> str:
    """The line of a person's own code that raised it, or that led there."""
    if isinstance(problem, SyntaxError) and problem.filename:
        return f"look at {problem.filename}:{problem.lineno}: {(problem.text or '').strip()}"
    frames = [one for one in traceback.extract_tb(problem.__traceback__) if not one.filename.startswith("<")]
    written = [one for one in frames if PACKAGE not in Path(one.filename).parents]
    own = [one for one in written if not any(part in INSTALLED for part in Path(one.filename).parts)] or written
    if not own:
        return "name a Python file that can be read, or a module by its dotted name"
    advice = '; put what a program does under `if __name__ == "__main__":`' if isinstance(problem, SystemExit) else ""
    return f"look at {own[-1].filename}:{own[-1].lineno}: {own[-1].line}{advice}"
