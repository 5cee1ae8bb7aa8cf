"""The argument parser of the command line: commands that are imported when they are called, and readable help."""

from __future__ import annotations

import argparse
import textwrap
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from collections.abc import Iterable

    from attractor.cli.flag_sources import FlagSources
    from attractor.cli.registry import Command

_COMMAND_INDENT = 2
"""How far the commands of examples are indented; what they do stands under them, further in."""


class HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Help whose text is wrapped to the terminal, line by line; commands to copy stay on one line."""

    def add_argument(self, action: argparse.Action) -> None:
        """Measure an action; names of subcommands are indented once more than ``argparse`` counts."""
        super().add_argument(action)
        names = [len(each.dest) for each in getattr(action, "_choices_actions", ())]
        longest = max(names, default=0) + 2 * self._indent_increment
        self._action_max_length = max(self._action_max_length, longest)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return "\n".join(_wrapped(indent + line, width) for line in text.splitlines())


def _wrapped(line: str, width: int) -> str:
    start = line[: len(line) - len(line.lstrip())]
    if len(start) == _COMMAND_INDENT:
        return line
    return textwrap.fill(line.strip(), width, initial_indent=start, subsequent_indent=start)


class CommandParser(argparse.ArgumentParser):
    """The parser of a command, which learns what the command takes when it is asked for the first time.

    It refuses words that it does not know itself, so that the usage that is shown is its own.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"formatter_class": HelpFormatter, **options})
        self._pending: Command | None = None
        self._sources: FlagSources | None = None

    def add_commands(self, commands: Iterable[Command], *, title: str, metavar: str) -> None:
        """Add subcommands; none is imported before it is called, or its help is shown."""
        added = self.add_subparsers(metavar=metavar, title=title)
        for command in commands:
            added.add_parser(command.name, help=command.help).configure_later(command)

    def configure_later(self, command: Command) -> None:
        """Let a command say what it takes once it is called."""
        self._pending = command

    def configure(self) -> None:
        """Import the command, and let it say what it takes; once."""
        command, self._pending = self._pending, None
        if command is not None:
            command.configure(self)
            if command.is_service:
                from attractor.cli.flag_sources import FlagSources

                self._sources = FlagSources(self, command.name)

    def configure_all(self) -> None:
        """Configure this command and all that are under it, for who reads the whole command line."""
        self.configure()
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001 - it has no public name
                for each in action.choices.values():
                    each.configure_all()

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:  # pyright: ignore[reportIncompatibleMethodOverride]  # it has overloads
        """Parse the words; none is left over."""
        self.configure()
        if self._sources is not None:
            args = [*self._sources.words(args), *args]
        known, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return known, unknown

    def error(self, message: str) -> NoReturn:
        """Refuse the words; what was given elsewhere is told with where it stands."""
        origins = {} if self._sources is None else self._sources.origins
        about = next((origin for flag, origin in origins.items() if message.startswith(f"argument {flag}:")), "")
        super().error(f"{message} (from {about})" if about else message)

    def format_help(self) -> str:
        """Format the help of the command."""
        self.configure()
        return super().format_help()


def add_part(parts: Any, name: str, text: str, example: str) -> CommandParser:
    """Add a subcommand with its help line and an example of its use."""
    part: CommandParser = parts.add_parser(name, help=text, description=f"{text}.", epilog=f"example:\n  {example}")
    return part
