"""``attractor check MODULE:WORLD --against FILE``: whether a world admits a recorded run, and where it departs."""

from __future__ import annotations

import contextlib
import json
import sys
from typing import TYPE_CHECKING, Any

from attractor.check import World
from attractor.cli.terminal import Paint, UsageError, say

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator
    from pathlib import Path

    from attractor.testing.recording.admission import Followed
    from attractor.testing.recording.recording import Recording


def validate(spec: Any, args: argparse.Namespace) -> int:
    """Follow the recording and print what came of it; 0 admitted, 1 departs, 3 given up."""
    from attractor.testing.recording.admission import TooManyStates, follow

    if not isinstance(spec, World):
        raise UsageError(f"`{args.target}` is no world", "a recorded run can be followed in a world only")
    recording = _read(args.against)
    try:
        found = follow(spec, recording)
    except TooManyStates as problem:
        say([f"{Paint(sys.stdout)('inconclusive:', 'yellow', 'bold')} {problem}"])
        return 3
    if args.json:
        data = {"admitted": found.is_admitted, "lines": found.lines, "departure": found.departure}
        say([json.dumps({**data, "instead": list(found.instead), "ignored": found.ignored})])
    else:
        say(_lines(spec, recording, found, Paint(sys.stdout)))
    return 0 if found.is_admitted else 1


def _read(paths: list[Path]) -> Recording:
    from attractor.testing.recording import BadRecording, Recording

    with contextlib.ExitStack() as files:
        try:
            return Recording.read(*(files.enter_context(path.open("rb")) for path in paths))
        except OSError as problem:
            raise UsageError(
                f"{problem.filename} cannot be read: {problem.strerror}",
                "`attractor run MODULE --record FILE` writes one",
            ) from None
        except BadRecording as problem:
            raise UsageError(f"{', '.join(map(str, paths))}: {problem}") from None


def _lines(world: World, recording: Recording, found: Followed, paint: Paint) -> Iterator[str]:
    count = len(recording.happenings)
    if found.ignored:
        yield f"{found.ignored} objects that the run never touched are left out"
    if recording.is_cut:
        yield f"{paint('warning:', 'yellow', 'bold')} the recording reached its limit before the run ended"
    if found.departure is None:
        yield f"{paint('admitted:', 'green', 'bold')} {world!r} can do all that was recorded ({count} happenings)"
        return
    departs = paint("departs:", "red", "bold")
    yield f"{departs} {world!r} can do the first {found.lines} of {count} happenings, not the next"
    yield ""
    yield f"  recorded, {found.departure}"
    if found.instead:
        yield "  the world, instead:"
        yield from (f"    {each}" for each in found.instead)
    else:
        yield "  the world has no such step there; is a user, a fault or a larger `lag` missing in it?"
