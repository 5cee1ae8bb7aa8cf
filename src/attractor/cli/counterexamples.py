"""Counterexamples of worlds on the command line: reading the files, finding the world again, printing the story."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

from attractor.check.story.artefact import Counterexample, is_counterexample
from attractor.check.story.story import BadStory
from attractor.check.story.table import lines as table
from attractor.cli.specs import is_world, load
from attractor.cli.terminal import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from attractor.check.story.artefact import Written
    from attractor.check.world import World
    from attractor.cli.terminal import Paint

__all__ = ["found_in", "hints", "is_counterexample", "story_lines", "world_of"]


def found_in(source: str, data: Any) -> Counterexample:
    """The counterexample in the JSON of a file; raises ``UsageError``."""
    try:
        return Counterexample.from_json(data)
    except BadStory as problem:
        raise UsageError(f"{source}: {problem}") from None


def world_of(found: Counterexample) -> World:
    """The world that a counterexample is about, loaded from where it was; raises ``UsageError``."""
    world = load(found.target, found.constants)
    if not is_world(world):
        raise UsageError(f"`{found.target}` is no world any more", "check again, and use the file that is written then")
    return world


def story_lines(found: Counterexample, paint: Paint, *, full: bool = False) -> Iterator[str]:
    """The story as a table, as wide as the terminal is."""
    return table(found.story, width=shutil.get_terminal_size((100, 24)).columns, paint=paint, full=full)


def hints(files: Written, paint: Paint) -> Iterator[str]:
    """What can be done with a counterexample."""
    json: Path = files.json
    yield f"{paint('hint:', 'bold')} look at it          attractor replay {json} --open"
    yield f"      run it for real     attractor replay {json} --runtime"
    yield f"      keep it as a test   attractor trace-to-test {json}"
    yield f"      the diagram is in   {files.html}"
