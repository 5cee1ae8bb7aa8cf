"""Origin of a check, by which its world is found again: a name in a module, or a test.

``tests/test_pairs.py::test_holds[3]#2`` is the second check that a test asks for. ``listeners`` hear of every check
before it begins: whoever runs such a test again takes the world out of the call that it was in.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

listeners: list[Callable[[Any], None]] = []
_asked: Counter[str] = Counter()


def asked(spec: Any) -> str:
    """Note that a check begins; answers where: empty outside tests."""
    for listener in listeners:
        listener(spec)
    test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0]
    if not test:
        return ""
    _asked[test] += 1
    return f"{test}#{_asked[test]}"


def origin_of(spec: Any, test: str) -> str:
    """``FILE.py:NAME`` where a module has it, otherwise the test; empty if neither is known."""
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if file and (name := next((name for name, value in vars(module).items() if value is spec), "")):
            return f"{_beside(Path(file))}:{name}"
    return test


def _beside(file: Path) -> Path:
    """A path as people write it from here."""
    return file.relative_to(Path.cwd()) if file.is_relative_to(Path.cwd()) else file
