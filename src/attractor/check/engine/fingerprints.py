"""Fingerprint of a specification: a digest of its code and constants, kept with a saved search.

A search that goes on with steps other than those it began with would mix two systems, and its *holds* would be about
neither. So the digest covers the constants and the source of every module that the specification is written in: those
of its classes, and those that these mention, except for libraries.
"""

from __future__ import annotations

import hashlib
import re
import sys
import sysconfig
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import attractor
from attractor.check.spec.spec import Composition

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_LIBRARIES = tuple(
    Path(folder)
    for name, folder in sysconfig.get_paths().items()
    if name in {"stdlib", "platstdlib", "purelib", "platlib"}
)
_SHIPPED = ("attractor.check.specs", "attractor.operators")
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


def fingerprint(spec: Any) -> str:
    """A digest that changes with the constants, with the source, and with the version of attractor."""
    digest = hashlib.sha256(f"{attractor.__version__}\n{_ADDRESS.sub('', repr(spec))}\n".encode())
    for name, path in sorted(own_files(modules_of(spec)).items()):
        digest.update(f"{name}\n".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def modules_of(spec: Any) -> set[str]:
    """The modules of a specification's class and of its bases, or of those of its parts."""
    parts = spec.parts if isinstance(spec, Composition) else (spec,)
    return {kind.__module__ for one in parts for kind in type(one).__mro__}


def own_files(modules: Iterable[str]) -> dict[str, Path]:
    """The files of these modules and of those that they mention, by name; libraries and this package are left out."""
    found: dict[str, Path] = {}
    waiting = list(modules)
    while waiting:
        name = waiting.pop()
        path = _own_file(name)
        if path is not None and name not in found:
            found[name] = path
            waiting += _mentioned(sys.modules[name])
    return found


def _own_file(name: str) -> Path | None:
    """A module's source, unless it belongs to a library or there is none."""
    file = getattr(sys.modules.get(name), "__file__", None)
    if file is None or (name.partition(".")[0] == "attractor" and not name.startswith(_SHIPPED)):
        return None
    path = Path(file)
    is_own = path.suffix == ".py" and path.is_file() and not any(path.is_relative_to(each) for each in _LIBRARIES)
    return path if is_own else None


def _mentioned(module: ModuleType) -> Iterator[str]:
    for value in vars(module).values():
        name = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
        if isinstance(name, str):
            yield name
