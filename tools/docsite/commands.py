"""The reference of the command line, written from the parsers themselves."""

from __future__ import annotations

import argparse
import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING
from unittest import mock

if TYPE_CHECKING:
    from collections.abc import Iterator

_EXAMPLE = re.compile(r"^examples?:\n(?P<body>(?:(?: .*)?\n?)*)(?P<rest>.*)", re.DOTALL)


_UNSHOWN = (argparse._SubParsersAction, argparse._HelpAction)  # noqa: SLF001
WIDTH = "94"
"""Columns of a usage: what fits on a page without scrolling."""


@dataclass(frozen=True, slots=True)
class Example:
    """Commands as one types them, and what they do (empty where the command says it all)."""

    commands: tuple[str, ...]
    meaning: str


def subcommands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """A parser's own subcommands."""
    found = [each for each in parser._actions if isinstance(each, argparse._SubParsersAction)]  # noqa: SLF001
    return {name: child for each in found for name, child in each.choices.items()}


def commands(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """A command and everything below it, depth first."""
    yield parser
    for child in subcommands(parser).values():
        yield from commands(child)


def examples(parser: argparse.ArgumentParser) -> tuple[list[Example], str]:
    """The examples of a command's help, and the text that follows them.

    Written as ``examples:``, then each command indented by two, and what it does below it, indented by six.
    """
    found = _EXAMPLE.match(parser.epilog or "")
    if found is None:
        return [], (parser.epilog or "").strip()
    pairs: list[Example] = []
    typed: list[str] = []
    for line in found["body"].splitlines():
        if line.startswith("      "):
            pairs.append(Example(tuple(typed), line.strip()))
            typed = []
        elif line.strip():
            typed.append(line.strip())
    if typed:
        pairs.append(Example(tuple(typed), ""))
    return pairs, found["rest"].strip()


def escaped(text: str) -> str:
    """Text for a cell of a table: ``<``, ``*`` and ``|`` stay what they are; code stays code."""
    parts = re.split(r"(`[^`]*`)", " ".join(text.split()))
    plain = [part if part.startswith("`") else re.sub(r"([*_<\[\]])", r"\\\1", part) for part in parts]
    return "".join(plain).replace("|", "\\|")


def spelled(action: argparse.Action) -> str:
    """An option or argument as one types it."""
    if not action.option_strings:
        shown = action.metavar or action.dest
        return f"`{shown if isinstance(shown, str) else ' '.join(shown)}`"
    if action.nargs == 0:
        return ", ".join(f"`{one}`" for one in action.option_strings)
    value = action.metavar or (
        "{" + ",".join(map(str, action.choices)) + "}" if action.choices else action.dest.upper()
    )
    value = value if isinstance(value, str) else " ".join(value)
    return ", ".join(f"`{one} {value}`" for one in action.option_strings).replace("|", "\\|")


def arguments(parser: argparse.ArgumentParser) -> str:
    """Tables of a command's arguments and options, one for each group of its help."""
    formatter = parser._get_formatter()  # noqa: SLF001 - argparse fills in %(default)s nowhere else
    written = []
    for group in parser._action_groups:  # noqa: SLF001
        rows = [
            f"| {spelled(action)} | {escaped(formatter._expand_help(action))} |"  # noqa: SLF001
            for action in group._group_actions  # noqa: SLF001
            if action.help not in {None, argparse.SUPPRESS} and not isinstance(action, _UNSHOWN)
        ]
        if rows:
            title = (group.title or "options").removeprefix("positional ").capitalize()
            written.append("\n".join([f"| {title} | |", "|---|---|", *rows]))
    return "\n\n".join(written)


def section(parser: argparse.ArgumentParser, level: int) -> str:
    """One command: what it does, usage, arguments, examples, and what follows them in its help."""
    shown, rest = examples(parser)
    with mock.patch.dict(os.environ, COLUMNS=WIDTH):
        usage = parser.format_usage().removeprefix("usage: ").rstrip()
    parts = [
        f"{'#' * level} `{parser.prog}`",
        escaped(parser.description or ""),
        f"```text\n{usage}\n```",
        arguments(parser),
    ]
    for one in shown:
        parts.append(f"{escaped(one.meaning[:1].upper() + one.meaning[1:])}:" if one.meaning else "For example:")
        parts.append("```console\n" + "\n".join(f"$ {typed}" for typed in one.commands) + "\n```")
    parts.append(escaped(rest))
    return "\n\n".join(part for part in parts if part) + "\n"


def page(parser: argparse.ArgumentParser) -> str:
    """A command with its subcommands."""
    first, *others = commands(parser)
    return "\n".join([section(first, 1), *(section(one, 2) for one in others)])


def index(parsers: list[argparse.ArgumentParser]) -> str:
    """All commands, one line each."""
    rows = []
    for parser in parsers:
        for one in commands(parser):
            name = one.prog.removeprefix("attractor ").split()[0]
            anchor = "" if one is parser else "#" + one.prog.replace(" ", "-")
            rows.append(f"| [`{one.prog}`]({name}.md{anchor}) | {escaped(one.description or '')} |")
    head = "# Commands\n\nWhat `--help` says, from the parsers themselves.\n\n| command | |\n|---|---|\n"
    return head + "\n".join(rows) + "\n"
