"""A counterexample of a world as a file: the trace, its story, and where the world is found again.

The file is the JSON of a trace (so that everything that reads traces reads it) with three more parts: ``format`` and
``version``, ``target`` (what ``attractor check`` was asked to check, with its constants), and ``story``.
"""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from attractor.check.errors import SpecError
from attractor.check.report.diagram import page
from attractor.check.report.origin import origin_of
from attractor.check.report.story import BadStory, Story
from attractor.check.report.trace_files import file_names, save_traces
from attractor.check.trace import Trace

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from attractor.check.verdict import Verdict
    from attractor.check.world.api.world import World

FORMAT = "attractor/counterexample"
VERSION = 2


@dataclass(frozen=True)
class Counterexample:
    """All that is needed to show a violation, to run it again, and to turn it into a test."""

    target: str
    """``MODULE:WORLD`` or ``FILE.py:WORLD``."""
    constants: tuple[str, ...]
    trace: Trace
    story: Story

    def to_json(self) -> dict[str, Any]:
        """The counterexample as one JSON object."""
        head = {"format": FORMAT, "version": VERSION, "target": self.target, "constants": list(self.constants)}
        return {**head, **self.trace.to_json(), "story": self.story.to_json()}

    @classmethod
    def from_json(cls, data: Any) -> Counterexample:
        """What ``to_json`` wrote; raises ``BadStory``."""
        if not is_counterexample(data):
            raise BadStory("this is not a counterexample of a world; `attractor check MODULE:WORLD` writes one")
        if data.get("version") != VERSION:
            raise BadStory(
                f"this counterexample has version {data.get('version')!r}, and only version {VERSION} can be read "
                "here; check again with this version of attractor, or use the one that wrote it"
            )
        try:
            trace = Trace.from_json(data)
            target, constants = data["target"], tuple(data["constants"])
        except (SpecError, KeyError, TypeError) as problem:
            raise BadStory(f"this counterexample is damaged: {problem}; check again to have a whole one") from None
        if not isinstance(target, str) or len(trace) != len((data.get("story") or {}).get("steps", ())):
            raise BadStory("this counterexample is damaged: trace and story differ; check again to have a whole one")
        return cls(target, constants, trace, Story.from_json(data["story"]))


def is_counterexample(data: Any) -> bool:
    """Whether JSON was meant to be a counterexample of a world."""
    return isinstance(data, dict) and data.get("format") == FORMAT


@dataclass(frozen=True)
class Written:
    """The files of one violated property."""

    found: Counterexample
    json: Path
    html: Path


def _own(folder: Path, stem: str, target: str) -> str:
    """A file's name that is not that of another world's counterexample, where two worlds have one name."""
    names = itertools.chain([stem], (f"{stem}-{number}" for number in itertools.count(2)))
    return next(name for name in names if _target_of(folder / f"{name}.json") in {None, target})


def _target_of(path: Path) -> str | None:
    """Whose counterexample a file is; None if there is none."""
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    return str(found.get("target")) if is_counterexample(found) else None


def save_artefacts(
    verdict: Verdict, folder: Path, *, target: str = "", constants: Sequence[str] = ()
) -> dict[str, Path | Written]:
    """Write what a verdict found, below ``folder``; answers the files by property.

    Of a specification that is the trace of each violated property, of a world its counterexample and the diagram, which
    name the ``target`` by which a world is found again.
    """
    if hasattr(verdict.source, "compose"):
        target = target or origin_of(verdict.source, verdict.origin)
        return {**save(verdict, verdict.source, folder, target=target, constants=constants)}
    return {**save_traces(verdict, folder)}


def save(
    verdict: Verdict, world: World, folder: Path, *, target: str, constants: Sequence[str] = ()
) -> dict[str, Written]:
    """Write the counterexample of each violated property of a world, and its diagram; the files by property."""
    from attractor.check.report.story_builder import story_of  # it needs the world's parts, which take long to load

    written = {}
    stems = file_names(verdict)
    for each in verdict.violations():
        if each.trace is None:
            continue
        folder.mkdir(parents=True, exist_ok=True)
        story = story_of(world, each.trace, name=target)
        made = Counterexample(target, tuple(constants), each.trace, story)
        stem = _own(folder, stems[each.name], target)
        files = Written(made, folder / f"{stem}.json", folder / f"{stem}.html")
        files.json.write_text(json.dumps(made.to_json(), ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
        files.html.write_text(page(story), encoding="utf-8")
        written[each.name] = files
    return written
