"""Entry point of the ``attractor`` command."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

import attractor
from attractor.cli import check, demo, manifests, plan, replay, run, serve, tla

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOMS = (demo, run, serve, manifests, plan, check, replay, tla)
"""Each has a ``register(subparsers)`` that adds its subcommands; a subcommand sets ``run`` to its function."""


def build_parser() -> argparse.ArgumentParser:
    """The whole command line; each room adds its own subcommands."""
    parser = argparse.ArgumentParser(
        prog="attractor", description="Write, run and prove Kubernetes-style controllers in Python."
    )
    parser.add_argument("--version", action="version", version=f"attractor {attractor.__version__}")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND")
    for room in ROOMS:
        room.register(subparsers)
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
