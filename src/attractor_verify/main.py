"""``attractor-verify FILE``: check a certificate, and say what it shows."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from attractor_verify.certificate import Rejected
from attractor_verify.proof import verify

_EXAMPLES = """\
examples:
  attractor check operator_worlds:crashing --certificate crashing.cert
  attractor-verify crashing.cert
      execute every step of the certificate again, and check that they show what it claims
  attractor-verify crashing.cert operator_worlds:crashing
      the same, of what you name; for a certificate that does not name it

Exit code: 0 verified, 1 rejected, 2 usage.
"""


def build_parser() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="attractor-verify",
        description="Check a certificate that `attractor check --certificate FILE` wrote, without the checker.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("file", type=Path, metavar="FILE", help="the certificate")
    parser.add_argument("target", nargs="?", metavar="MODULE:NAME", help="what it must be about")
    return parser


def main(argv: list[str] | None = None) -> int:
    """Run the command; answer its exit code."""
    args = build_parser().parse_args(argv)
    try:
        shown = verify(args.file, args.target)
    except OSError as problem:
        print(f"error: {args.file} cannot be read: {problem.strerror}", file=sys.stderr)
        return 2
    except Rejected as problem:
        print(f"error: rejected: {problem}", file=sys.stderr)
        return 1
    counts = f"{shown.states:,} states, {shown.rows:,} rows executed again"
    print(f"{shown.title}: verified; {counts}, {shown.seconds:.2f} s")
    for name in shown.properties:
        print(f"  holds{' within ' + ', '.join(shown.bounds) if shown.bounds else ''}: {name}")
    for bound in shown.within:
        print(f"  within: {bound}")
    return 0
