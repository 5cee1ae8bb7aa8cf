"""Everything shipped that holds: specifications, the zoo's fixed twins, worlds of operators and of examples."""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attractor.check.specs
import attractor.operators
from attractor.cli.check.targets import specs_of, worlds_of
from attractor.testing.python_files import import_file
from tests.quality import zoo

if TYPE_CHECKING:
    from collections.abc import Iterator

EXAMPLES = Path(__file__).parents[2] / "examples"


def specifications() -> Iterator[tuple[str, Any]]:
    """Names and makers of shipped specifications."""
    for found in pkgutil.iter_modules(attractor.check.specs.__path__, "attractor.check.specs."):
        for name, each in specs_of(importlib.import_module(found.name)).items():
            yield f"{found.name.rpartition('.')[2]}:{name}", each


def twins() -> Iterator[tuple[str, Any]]:
    """Names and makers of the zoo's worlds with their fixed controllers."""
    for found in pkgutil.iter_modules(zoo.__path__, "tests.quality.zoo."):
        module = importlib.import_module(found.name)
        if hasattr(module, "fixed"):
            yield f"zoo:{found.name.rpartition('.')[2]}", lambda module=module: module.world(module.fixed)


def worlds() -> Iterator[tuple[str, Any]]:
    """Names and makers of the worlds of operators and examples."""
    modules = [
        importlib.import_module(found.name)
        for found in pkgutil.walk_packages(attractor.operators.__path__, "attractor.operators.")
        if found.name.rpartition(".")[2].endswith(("proofs", "properties", "worlds"))
    ]
    modules += [import_file(path) for path in sorted(EXAMPLES.glob("*.py"))]
    for module in modules:
        for name, each in worlds_of(module).items():
            yield (
                f"{module.__name__.removeprefix('attractor.operators.')}:{name}",
                each if callable(each) else lambda each=each: each,
            )
