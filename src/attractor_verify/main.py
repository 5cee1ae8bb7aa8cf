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
    about = "Check a certificate that `attractor check --certificate FILE` wrote, without the checker."
    as_written = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser("attractor-verify", None, about, _EXAMPLES, formatter_class=as_written)
    parser.add_argument("file", type=Path, metavar="FILE", help="the certificate")
    parser.add_argument("target", nargs="?", metavar="MODULE:NAME", help="what it must be about")
    return parser


def main(argv: list[str] | None = None) -> int:
    """Run the command; answer its exit code."""
    args = build_parser().parse_args(argv)
    try:
        print(verify(args.file, args.target))
    except OSError as problem:
        print(f"error: {args.file} cannot be read: {problem.strerror}", file=sys.stderr)
        return 2
    except Rejected as problem:
        print(f"error: rejected: {problem}", file=sys.stderr)
        return 1
    return 0
