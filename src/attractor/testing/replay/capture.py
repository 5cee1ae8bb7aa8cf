"""The world of a check inside a test: the test is run again, up to that check.

A counterexample that a failing test has found names the test and the number of the check in it
(``tests/test_pairs.py::test_holds[3]#2``). A world is made of functions, so it cannot be written to a file: it is taken
out of the call that it is in.
"""

from __future__ import annotations

import contextlib
import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attractor.check.errors import SpecError
from attractor.check.report import origin

if TYPE_CHECKING:
    from attractor.check.world.api.world import World


class _Caught(BaseException):
    """Ends the test where the check would begin."""


def is_test(target: str) -> bool:
    """Return whether a target names a check in a test."""
    return "::" in target


def world_in_test(target: str) -> World:
    """The world that a test hands to its check of that number; raises ``SpecError``."""
    import pytest

    node, _, number = target.rpartition("#")
    caught: list[Any] = []
    asked = 0

    def listen(spec: Any) -> None:
        nonlocal asked
        asked += 1
        if asked == int(number):
            caught.append(spec)
            raise _Caught

    said = io.StringIO()
    origin.listeners.append(listen)
    try:
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said), contextlib.suppress(_Caught):
            pytest.main([_found(node), "-q", "-x", "-p", "no:cacheprovider", "-o", "addopts="])
    finally:
        origin.listeners.remove(listen)
    if not caught:
        last = next((line for line in reversed(said.getvalue().splitlines()) if line.strip()), "")
        raise SpecError(
            f"{node} does not come to its check number {number} any more ({last.strip('= ')}); run the test again, and "
            f"use the file that it writes then"
        )
    world: World = caught[0]
    return world


def _found(node: str) -> str:
    """The test as pytest finds it from here: its file is named from the root of its project."""
    file, _, name = node.partition("::")
    for folder in (Path.cwd(), *Path.cwd().parents):
        if (folder / file).is_file():
            return f"{folder / file}::{name}"
    raise SpecError(f"there is no file {file} here; call it from the project that {node} is in")
