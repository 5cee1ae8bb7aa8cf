"""``attractor trace-to-test FILE``: a counterexample as a pytest regression."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from attractor.cli.check.counterexamples import found_in, world_of
from attractor.cli.commands.replay import read_json
from attractor.cli.terminal import Guarded, UsageError, say

if TYPE_CHECKING:
    import argparse

    from attractor.check.report.counterexample import Counterexample

_EXAMPLES = """\
examples:
  attractor trace-to-test traces/world-of-pairs-eventually-stable.json
      write test_world_of_pairs_eventually_stable.py, which fails until the controller is repaired
  attractor trace-to-test traces/world-of-pairs-eventually-stable.json --output tests/test_crash.py
      write it somewhere else; `-` prints it
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Say what ``attractor trace-to-test`` takes."""
    parser.description = (
        "Write a pytest regression from a counterexample of a world. It takes the same steps on the "
        "production runtime; it fails while the bug is there, and passes once the controller is repaired."
    )
    parser.epilog = _EXAMPLES
    parser.add_argument("trace", metavar="FILE", help="a counterexample of a world; - reads it from stdin")
    parser.add_argument("--output", metavar="FILE", help="where to write it (default: test_NAME.py here)")
    parser.add_argument("--force", action="store_true", help="write over what is there")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Write the test; answer the exit code."""
    from attractor.check import SpecError
    from attractor.testing.replay.test_file import is_mended, test_file

    with Guarded(SpecError) as guard:
        found = found_in(args.trace, read_json(args.trace))
        target = None if args.output == "-" else _target(args, found)
        world = world_of(found)
        text = test_file(found, world, folder=target.parent if target else Path())
        if is_mended(found, world):
            print("note: the controller was mended since: this run no longer breaks it; keep the test", file=sys.stderr)
        if target is None:
            say([text.rstrip("\n")])
            return 0
        try:
            target.write_text(text, encoding="utf-8")
        except OSError as problem:
            raise UsageError(f"{target} cannot be written: {problem.strerror}", "choose another --output") from None
        print(f"written: {target}", file=sys.stderr)
        say([f"pytest {target}"])
        return 0
    return guard.code


def _target(args: argparse.Namespace, found: Counterexample) -> Path:
    from attractor.check.report.trace_files import file_name

    stem = file_name(found.trace.spec, found.trace.claim).replace("-", "_")
    target = Path(args.output or f"test_{stem}.py")
    if target.exists() and not args.force:
        raise UsageError(f"{target} exists already", "choose another --output, or write over it with --force")
    return target
