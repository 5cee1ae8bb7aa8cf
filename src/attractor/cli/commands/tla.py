"""``attractor tla export MODULE[:SPEC]``: write a specification as TLA+, for TLC to check."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from attractor.check import Composition, Spec, SpecError
from attractor.check.tla import export
from attractor.cli.check.targets import load
from attractor.cli.commands.check import add_target
from attractor.cli.terminal import Guarded, Paint, UsageError, say

if TYPE_CHECKING:
    import argparse

_EXAMPLE = """\
example:
  attractor tla export attractor.check.specs.irsa --const workers=2 -o tla
      write tla/Irsa.tla and its configurations, which TLC checks with the same counts
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Say what ``attractor tla`` takes."""
    parser.description = "Write a specification as TLA+, for TLC to check."
    parser.epilog = _EXAMPLE
    commands = parser.add_subparsers(dest="tla_command", metavar="COMMAND", required=True)
    exporting = commands.add_parser(
        "export",
        help="Write a TLA+ module and its configurations",
        description="Translate a specification to a TLA+ module, with a configuration for safety and one for liveness.",
        epilog=_EXAMPLE,
    )
    add_target(exporting)
    exporting.add_argument("-o", "--output", type=Path, default=Path(), metavar="DIR", help="where to (default: here)")
    exporting.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Write the files and print their names; answer the exit code."""
    with Guarded(SpecError) as guard:
        spec = load(args.target, args.constants)
        if not isinstance(spec, Spec | Composition):
            raise UsageError(
                f"`{args.target}` is not written in the vocabulary of specifications, so it has no TLA+ form"
            )
        exported = export(spec)
        paint = Paint(sys.stderr)
        for each in exported.left_out:
            print(f"{paint('warning:', 'yellow', 'bold')} left out: {each}", file=sys.stderr)
        try:
            args.output.mkdir(parents=True, exist_ok=True)
            for name, text in exported.files.items():
                (args.output / name).write_text(text, encoding="utf-8")
        except OSError as problem:
            raise UsageError(f"{args.output} cannot be written: {problem.strerror}") from None
        say(str(args.output / name) for name in exported.files)
        hint = f"java -cp tla2tools.jar tlc2.TLC -config {exported.name}.cfg {exported.name}.tla"
        print(f"\n{paint('hint:', 'bold')} check it with `{hint}`", file=sys.stderr)
        return 0
    return guard.code
