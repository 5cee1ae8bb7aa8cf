"""Flags of a command from its environment and from a file, for those who deploy it.

``ATTRACTOR_RUN_LEADER_ELECT=true`` is ``attractor run --leader-elect``, and so is ``leader-elect: true`` in the file
that ``--config`` (or ``ATTRACTOR_RUN_CONFIG``) names. What the command line says counts before the environment, and
the environment before the file. A name that is no flag, and a value that a flag does not take, are refused with where
they stand: nothing is ignored.
"""

from __future__ import annotations

import argparse
import difflib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from attractor.cli.terminal import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

CONFIG = "--config"
_YES, _NO = ("1", "true", "yes", "on"), ("0", "false", "no", "off", "")


class _Given(NamedTuple):
    """A flag with the value that somebody gave it elsewhere than on the command line."""

    action: argparse.Action
    value: Any
    origin: str
    """Where it stands: ``ATTRACTOR_RUN_WORKERS`` or ``workers in operator.yaml``."""


class FlagSources:
    """Reads the flags of one parser from the environment and a file, as words of a command line."""

    def __init__(self, parser: argparse.ArgumentParser, command: str) -> None:
        self._prefix = f"ATTRACTOR_{command.upper().replace('-', '_').replace(' ', '_')}_"
        parser.add_argument(
            CONFIG,
            type=Path,
            metavar="FILE",
            help="flags as YAML, such as `workers: 8`; the environment has them as "
            f"{self._prefix}WORKERS=8. The command line counts most, then the environment",
        )
        self._parser = parser
        self.origins: dict[str, str] = {}
        """Where each flag comes from that is not from the command line."""

    def words(self, given: Sequence[str], environment: Mapping[str, str] | None = None) -> list[str]:
        """What to put before the words of the command line; raises ``UsageError``."""
        flags = self._flags()
        said = [one for one in flags.values() if any(word.partition("=")[0] in one.option_strings for word in given)]
        from_environment = self._from_environment(flags, os.environ if environment is None else environment)
        config = _file_of(given) or next((one.value for one in from_environment if _name(one.action) == CONFIG), "")
        from_file = self._from_file(flags, Path(config)) if config else []
        overruled = {dest for action in said for dest in self._rivals(action)}
        words: list[str] = []
        for source in (from_environment, from_file):
            for one in source:
                if one.action.dest not in overruled:
                    words += _words(one)
                    self.origins[_name(one.action)] = one.origin
            overruled |= {dest for one in source for dest in self._rivals(one.action)}
        return words

    def _flags(self) -> dict[str, argparse.Action]:
        """The flags by their names, without dashes."""
        actions = self._parser._actions  # noqa: SLF001 - argparse has no public list
        return {_name(one).lstrip("-"): one for one in actions if one.option_strings and one.dest != "help"}

    def _rivals(self, action: argparse.Action) -> set[str]:
        """The flag itself, and those that it excludes."""
        groups = self._parser._mutually_exclusive_groups  # noqa: SLF001 - argparse has no public list
        among = [one.dest for group in groups if action in group._group_actions for one in group._group_actions]  # noqa: SLF001
        return {action.dest, *among}

    def _from_environment(self, flags: Mapping[str, argparse.Action], environment: Mapping[str, str]) -> list[_Given]:
        by_variable = {self._prefix + flag.upper().replace("-", "_"): action for flag, action in flags.items()}
        found = []
        for name, value in sorted(environment.items()):
            if name.startswith(self._prefix):
                if name not in by_variable:
                    raise UsageError(f"the environment has {name}, which is no flag", _nearest(name, by_variable))
                found.append(_Given(by_variable[name], value, name))
        return found

    def _from_file(self, flags: Mapping[str, argparse.Action], path: Path) -> list[_Given]:
        from attractor.objects.yaml_json import YamlError, parse_yaml

        try:
            content = parse_yaml(path.read_bytes())
        except OSError as problem:
            raise UsageError(
                f"{CONFIG} {path} cannot be read: {problem.strerror}", "name a file that is there"
            ) from None
        except YamlError as problem:
            raise UsageError(f"{CONFIG} {path} is no YAML: {problem}", "write one flag a line: `workers: 8`") from None
        if content is None:
            return []
        if not isinstance(content, dict):
            raise UsageError(f"{CONFIG} {path} has no flags", "write one flag a line: `workers: 8`")
        for name in content:
            if name not in flags or name == CONFIG.lstrip("-"):
                raise UsageError(f"{path} has {name!r}, which is no flag", _nearest(str(name), flags))
        return [_Given(flags[name], value, f"{name} in {path}") for name, value in content.items()]


def _name(action: argparse.Action) -> str:
    """The long name of a flag, with its dashes."""
    return next(one for one in action.option_strings if one.startswith("--"))


def _file_of(given: Sequence[str]) -> str:
    """The file that the command line itself names."""
    for at in reversed(range(len(given))):
        if given[at].startswith(f"{CONFIG}="):
            return given[at].partition("=")[2]
        if given[at] == CONFIG and at + 1 < len(given):
            return given[at + 1]
    return ""


def _nearest(name: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, list(known), n=1)
    return f"did you mean {near[0]}?" if near else "`--help` lists the flags"


def _words(one: _Given) -> list[str]:
    flag = _name(one.action)
    if one.action.nargs == 0:
        answer = str(one.value).lower()
        if answer not in _YES + _NO:
            raise UsageError(f"{one.origin} is {one.value!r}", "write true or false")
        if isinstance(one.action, argparse.BooleanOptionalAction):
            return [one.action.option_strings[0 if answer in _YES else 1]]
        return [flag] if answer in _YES else []
    values = one.value if isinstance(one.value, list) else [one.value]
    if len(values) != 1 and not isinstance(one.action, argparse._AppendAction):  # noqa: SLF001
        raise UsageError(f"{one.origin} has {len(values)} values, and takes one", "write a single value")
    return [f"{flag}={_text(one, value)}" for value in values]


def _text(one: _Given, value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str | int | float):
        return str(value)
    raise UsageError(f"{one.origin} is {value!r}", "write text or a number")
