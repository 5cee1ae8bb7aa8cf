"""The text of a regression test: the story for people, the turns for the runtime."""

from __future__ import annotations

import inspect
import json
import keyword
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attractor.check.errors import SpecError
from attractor.check.report.story_builder import story_of
from attractor.check.report.table import lines
from attractor.check.report.trace_files import file_name
from attractor.check.world.api.world import World
from attractor.testing.python_files import import_file
from attractor.testing.replay.capture import is_test
from attractor.testing.replay.turns import Turn, turn_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from attractor.check.report.counterexample import Counterexample

WIDTH = 100


def test_file(found: Counterexample, world: World, *, folder: Path) -> str:
    """A pytest module that takes the counterexample's steps; ``folder`` is where it will be."""
    turns = [_turn(turn) for turn in turns_of(found, world)]
    name = re.sub(r"\W+", "_", file_name(found.trace.spec, found.trace.claim))
    story = [line.replace("\\", "\\\\").replace('"""', "'''").rstrip() for line in lines(found.story, width=WIDTH)]
    imports, made = _world(found, folder)
    table = "\n".join(story[1:]).strip("\n")
    return (
        f'"""{story[0]}: this run broke it.\n\n'
        f"{table}\n\n"
        "Written by `attractor trace-to-test`. The steps run on the production runtime, in virtual time. The test\n"
        'fails while the bug is there and passes once it is repaired.\n"""\n\n'
        f"{imports}\n\n"
        "TURNS = (\n" + "".join(f"    {each},\n" for each in turns) + ")\n\n\n"
        f"def test_{name}() -> None:\n"
        f"    withstand({made}, {_literal(found.trace.claim)}, TURNS, loop={found.trace.loop})\n"
    )


def is_mended(found: Counterexample, world: World) -> bool:
    """Return whether the world cannot take the counterexample's steps any more, or takes them and nothing is broken."""
    try:
        return not story_of(world, found.trace).because and bool(found.story.because)
    except SpecError:
        return True


def turns_of(found: Counterexample, world: World) -> list[Turn]:
    """The steps; of a controller that was mended since, as they were told when it was not."""
    try:
        story = story_of(world, found.trace)
    except SpecError:
        story = found.story
    return [turn_of(step) for step in story.steps]


def _turn(turn: Turn) -> str:
    """A turn as Python writes it, without what the test does not need."""
    is_told = bool(turn.request or turn.collects)
    given = {name: value for name, value in turn.arguments.items() if name != "chosen" or not is_told}
    parts = [_literal(turn.action), _literal(given)]
    if turn.request is not None:
        parts.append(f"request={_literal(dict(turn.request))}")
    if turn.collects:
        parts.append(f"collects={_row(turn.collects)}")
    if turn.endings:
        parts.append(f"endings={_row(turn.endings)}")
    if turn.closes:
        parts.append(f"closes=({', '.join(map(_row, turn.closes))},)")
    text = f"Turn({', '.join(parts)})"
    if len(text) <= WIDTH:
        return text
    return "Turn(\n" + "".join(f"        {part},\n" for part in parts) + "    )"


def _row(texts: Sequence[str]) -> str:
    """A tuple of texts as Python writes it."""
    return f"({', '.join(map(_literal, texts))}{',' if len(texts) == 1 else ''})"


def _literal(value: Any) -> str:
    """A JSON value as Python writes it, in double quotes."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_literal(name)}: {_literal(each)}" for name, each in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_literal, value)) + "]"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)


def _world(found: Counterexample, folder: Path) -> tuple[str, str]:
    """The imports, and the expression that makes the world."""
    if is_test(found.target):
        imports = (
            "from attractor.testing import Turn, withstand\n"
            "from attractor.testing.replay.capture import world_in_test\n\n"
            f"WORLD = world_in_test({_literal(found.target)})"
        )
        return imports, "WORLD"
    module, _, attribute = found.target.partition(":")
    call = ", ".join(found.constants)
    if module.endswith(".py"):
        path = os.path.relpath(Path(module).resolve(), folder.resolve())
        imports = (
            "from pathlib import Path\n\n"
            "from attractor.testing import Turn, withstand\n"
            "from attractor.testing.replay.test_file import load_world\n\n"
            f"WORLD = load_world(Path(__file__).parent / {_literal(path)}, {_literal(attribute)})"
        )
        return imports, "WORLD"
    if not attribute.isidentifier() or keyword.iskeyword(attribute):
        attribute = "world"
    imports = f"from attractor.testing import Turn, withstand\nfrom {module} import {attribute}"
    return imports, f"{attribute}({call})" if found.constants or _is_maker(module, attribute) else attribute


def _is_maker(module: str, attribute: str) -> bool:
    return inspect.isfunction(getattr(__import__(module, fromlist=[attribute]), attribute, None))


def load_world(path: Path, name: str) -> World:
    """A world in a Python file, or what a function in it makes; raises ``ImportError``."""
    if not path.is_file():
        raise ImportError(f"there is no Python file {path}; the world was in it when this test was written")
    module = import_file(path)
    found = getattr(module, name, None)
    made = found() if inspect.isfunction(found) else found
    if not isinstance(made, World):
        raise ImportError(f"{path} has no world {name!r}; the test was written for one")
    return made
