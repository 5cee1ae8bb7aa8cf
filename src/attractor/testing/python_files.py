"""A Python file as a module: what the command line and generated tests do with ``operator.py``.

Guarantees: files beside it can be imported, as when Python runs it; a file that is named as a module of Python's own or
as one that is loaded already (``operator.py``, ``queue.py``) does not take its place.
"""

from __future__ import annotations

import importlib.util
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType

_files: set[str] = set()
"""The names of modules that were loaded here; loading a file again replaces its module."""


def import_file(path: Path) -> ModuleType:
    """The module that a file is, under its name if that is free; raises ``ImportError``, and what the file raises."""
    name = _free(path.stem)
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise ImportError(f"there is no Python file {path}")
    module = importlib.util.module_from_spec(spec)
    make_importable(path.parent)
    sys.modules[name] = module  # msgspec resolves annotations through it
    _files.add(name)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def make_importable(folder: Path) -> None:
    """Let the modules in a folder be imported: before installed ones, behind Python's own."""
    name = str(folder.resolve())
    if name in sys.path:
        return
    installed = (place for place, each in enumerate(sys.path) if each.endswith(("site-packages", "dist-packages")))
    sys.path.insert(next(installed, len(sys.path)), name)


def _free(stem: str) -> str:
    taken = stem in sys.stdlib_module_names or (stem in sys.modules and stem not in _files)
    return f"{stem}_file" if taken else stem
