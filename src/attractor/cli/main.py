"""Entry point of the ``attractor`` command."""

from __future__ import annotations

import argparse
import importlib
import io
import signal
import sys
from typing import TYPE_CHECKING, Any

import attractor
from attractor.cli.secret_arguments import hide_store_addresses
from attractor.cli.terminal import USAGE, UsageError, complain, drop_output, say

if TYPE_CHECKING:
    from collections.abc import Sequence

MODULES = {
    "demo": "attractor.operators.configpair.cli",
    "edge": "attractor.operators.edge.cli.command",
    "dev": "attractor.operators.devplane.cli.command",
}
ROOMS = ("demo", "run", "serve", "manifests", "plan", "check", "replay", "trace_to_test", "tla", "edge", "dev", "store")
"""Modules beside this one, each with a ``register(subparsers)`` that adds its subcommands; a subcommand sets ``run`` to
its function. A room whose name is the command is imported alone, so that a server does not wait for the checker."""

SERVICES = (["run"], ["serve"])
"""Commands that run until they are told to stop."""

INTERRUPTED = 128 + signal.SIGINT
"""The exit code that a shell gives to a program that was interrupted."""


UNREAD = 128 + signal.SIGPIPE
"""The same for one whose reader went away."""


class CommandParser(argparse.ArgumentParser):
    """A command that refuses words that it does not know itself, with its own usage."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:  # pyright: ignore[reportIncompatibleMethodOverride]  # it has overloads
        """What the words mean; none is left over."""
        known, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return known, unknown


def build_parser(rooms: Sequence[str] = ROOMS) -> argparse.ArgumentParser:
    """The command line of some rooms; each adds its own subcommands."""
    parser = CommandParser(prog="attractor", description="Write, run and prove Kubernetes-style controllers in Python.")
    parser.add_argument("--version", action="version", version=f"attractor {attractor.__version__}")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND")
    for room in rooms:
        importlib.import_module(MODULES.get(room, f"attractor.cli.commands.{room}")).register(subparsers)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; answer its exit code."""
    words = sys.argv[1:] if argv is None else argv
    if argv is None and words[:1] in SERVICES:
        _leave_interrupts_to_the_system()
        if any("etcd:" in word for word in words):
            hide_store_addresses()
    if argv is None and isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a terminal without a letter must not end the command
    try:
        parser = build_parser(words[:1] if words and words[0] in ROOMS else ROOMS)
        args = parser.parse_args(argv)
        if args.command is None:
            parser.print_help(sys.stderr)
            return 2
        code = int(args.run(args))
        say([])
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        drop_output()
        return UNREAD
    except UsageError as error:
        complain(str(error), error.hint)
        return USAGE
    except SystemExit:
        raise
    except BaseException as problem:  # whatever it is, it must not end the process with 1, which means *violated*
        from attractor.cli.crash_report import crashed

        return crashed(problem, words)
    return code


def _leave_interrupts_to_the_system() -> None:
    """Let SIGINT end the process without a word, as SIGTERM does, until the command listens; unless it is ignored."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)


if __name__ == "__main__":
    sys.exit(main())
