"""Entry point of the ``attractor`` command."""

from __future__ import annotations

import difflib
import io
import signal
import sys
from typing import TYPE_CHECKING

import attractor
from attractor.cli.parser import CommandParser
from attractor.cli.registry import Command, installed_commands, own_commands
from attractor.cli.secret_arguments import hide_store_addresses
from attractor.cli.terminal import USAGE, UsageError, complain, drop_output, say

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

SERVICES = (["run"], ["serve"])
"""Commands that run until they are told to stop."""

INTERRUPTED = 128 + signal.SIGINT
"""The exit code that a shell gives to a program that was interrupted."""


UNREAD = 128 + signal.SIGPIPE
"""The same for one whose reader went away."""

_EXAMPLES = """\
examples:
  attractor demo
      see it work: run an operator, break its naive version, prove the right one
  attractor run my_operator.py
      run controllers on a cluster in this process
  attractor check my_operator.py:world
      let the checker look for a run that goes wrong

`attractor COMMAND --help` tells more of a command.
"""


def build_parser() -> CommandParser:
    """Build the parser of the whole command line, with everything imported: for who reads it, such as the docs."""
    parser = lazy_parser(own_commands())
    parser.configure_all()
    return parser


def lazy_parser(commands: Iterable[Command]) -> CommandParser:
    """Build a parser that imports a command when it is called, so that a server does not wait for the checker."""
    parser = CommandParser(
        prog="attractor",
        description="Write, run and prove Kubernetes-style controllers in Python.",
        epilog=_EXAMPLES,
    )
    parser.add_argument("--version", action="version", version=f"attractor {attractor.__version__}")
    parser.add_commands(commands, title="commands", metavar="COMMAND")
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
        parser = lazy_parser(_commands(words))
        args = parser.parse_args(argv)
        if "run" not in args:
            parser.print_help(sys.stderr)
            return USAGE
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


def _commands(words: Sequence[str]) -> tuple[Command, ...]:
    """List the commands that the words may mean; other packages are looked for only when none of ours is meant."""
    named = next((word for word in words if not word.startswith("-")), "")
    found = own_commands()
    if named in {each.name for each in found}:
        return found
    found += installed_commands()
    names = [each.name for each in found]
    if named and named not in names:
        near = difflib.get_close_matches(named, names, n=1)
        hint = f"did you mean `attractor {near[0]}`?" if near else "`attractor --help` lists the commands"
        raise UsageError(f"there is no command `{named}`", hint)
    return found


def _leave_interrupts_to_the_system() -> None:
    """Let SIGINT end the process without a word, as SIGTERM does, until the command listens; unless it is ignored."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)


if __name__ == "__main__":
    sys.exit(main())
