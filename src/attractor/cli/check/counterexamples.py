"""Counterexamples of worlds on the command line: reading the files, finding the world again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attractor.check.report.counterexample import Counterexample, is_counterexample
from attractor.check.report.story import BadStory
from attractor.cli.check.targets import is_world, load
from attractor.cli.terminal import UsageError
from attractor.testing.replay.capture import is_test, world_in_test

if TYPE_CHECKING:
    from attractor.check import World

__all__ = ["found_in", "is_counterexample", "world_of"]


def found_in(source: str, data: Any) -> Counterexample:
    """The counterexample in the JSON of a file; raises ``UsageError``."""
    try:
        return Counterexample.from_json(data)
    except BadStory as problem:
        raise UsageError(f"{source}: {problem}") from None


def world_of(found: Counterexample) -> World:
    """The world that a counterexample is about, loaded from where it was; raises ``UsageError``."""
    if not found.target:
        raise UsageError(
            "nobody can find the world of this counterexample again: the program that checked it gave it no name",
            "keep the world in a variable of its module, or check it in a test",
        )
    if is_test(found.target):
        return world_in_test(found.target)
    world = load(found.target, found.constants)
    if not is_world(world):
        raise UsageError(f"`{found.target}` is no world any more", "check again, and use the file that is written then")
    return world
