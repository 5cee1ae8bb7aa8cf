"""Entry point of the ``attractor`` command."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

import attractor
from attractor.cli import demo, manifests, run, serve

if TYPE_CHECKING:
    from collections.abc import Sequence


def build_parser() -> argparse.ArgumentParser:
    """The whole command line; each room adds its own subcommands."""
    parser = argparse.ArgumentParser(
        prog="attractor", description="Write, run and prove Kubernetes-style controllers in Python."
    )
    parser.add_argument("--version", action="version", version=f"attractor {attractor.__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    demo.add_parser(commands)
    run.add_parser(commands)
    serve.add_parser(commands)
    manifests.add_parsers(commands)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; answer its exit code."""
    parser = build_parser()
    args = parser.parse_args(argv)
    if args.command is None:
        parser.print_help(sys.stderr)
        return 2
    return int(args.run(args))


if __name__ == "__main__":
    sys.exit(main())
