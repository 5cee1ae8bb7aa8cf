"""``attractor demo``: demonstrations, each registered by what it shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attractor.cli.parser import CommandParser
from attractor.cli.registry import installed_demos, own_demos

if TYPE_CHECKING:
    import argparse

_EXAMPLES = """\
examples:
  attractor demo
      run an operator, break its naive version, prove the right one
  attractor demo server
      a Kubernetes API in this process, with a kind of its own
"""


def configure(parser: CommandParser) -> None:
    """Say what ``attractor demo`` takes."""
    first = own_demos()[0]
    parser.description = f"Run a demonstration; without a name, `{first.name}`."
    parser.epilog = _EXAMPLES
    parser.set_defaults(run=run)
    parser.add_commands((*own_demos(), *installed_demos()), title="demonstrations", metavar="[NAME]")


def run(_: argparse.Namespace) -> int:
    """Run the first demonstration; answers its exit code."""
    parser = CommandParser()
    own_demos()[0].configure(parser)
    args = parser.parse_args([])
    return int(args.run(args))
