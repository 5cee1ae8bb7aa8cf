"""``MODULE`` on the command line: a dotted name or a Python file, imported; errors name the line to look at."""

from __future__ import annotations

import difflib
import importlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from attractor.cli.terminal import UsageError
from attractor.runtime.observability.own_lines import own_line, what
from attractor.testing.python_files import import_file, make_importable

if TYPE_CHECKING:
    from types import ModuleType


class ModuleError(UsageError):
    """The module cannot be used; the text says why, ``hint`` what to do."""


def imported(name: str) -> ModuleType:
    """The module that ``name`` means; raises ``ModuleError``."""
    try:
        return _file(Path(name)) if name.endswith(".py") or os.sep in name else _dotted(name)
    except ModuleError:
        raise
    except (Exception, SystemExit) as problem:  # whatever a person's module does when it is imported
        raise ModuleError(f"{name} cannot be imported: {what(problem)}", _where(problem)) from problem


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
        found = importlib.import_module(name)
    except ModuleNotFoundError as problem:
        if problem.name is None or not (name == problem.name or name.startswith(problem.name + ".")):
            raise
        raise ModuleError(f"there is no module `{name}`", _hint(name, problem.name)) from None
    if getattr(found, "__file__", None) is None and hasattr(found, "__path__"):
        raise ModuleError(f"`{name}` is a directory without an `__init__.py`", "name a Python file or a module in it")
    return found


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


def _where(problem: BaseException) -> str:
    line = own_line(problem)
    if not line:
        return "name a Python file that can be read, or a module by its dotted name"
    advice = '; put what a program does under `if __name__ == "__main__":`' if isinstance(problem, SystemExit) else ""
    return f"look at {line}{advice}"
