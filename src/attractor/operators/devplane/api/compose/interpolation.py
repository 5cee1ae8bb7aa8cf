"""Interpolation of variables in values of compose files, as the Compose Specification has it.

    $VAR  ${VAR}               the value, or nothing when it is not set
    ${VAR:-other} ${VAR-other} another text when it is empty or not set; when it is not set
    ${VAR:?why} ${VAR?why}     an error when it is empty or not set; when it is not set
    ${VAR:+other} ${VAR+other} another text when it is set and not empty; when it is set
    $$                         a dollar sign

Texts after the operator are interpolated, too.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_OPERATOR = re.compile(r":?[-?+]")


class BadInterpolation(ValueError):
    """A text that cannot be interpolated, or a variable that must be set and is not."""


def interpolate(text: str, variables: Mapping[str, str]) -> str:
    """The text with its variables replaced; raises ``BadInterpolation``.

    >>> interpolate("${A:-${B}} $$HOME ${C+c}", {"B": "b", "C": ""})
    'b $HOME c'
    """
    made, at = [], 0
    while (dollar := text.find("$", at)) >= 0:
        made.append(text[at:dollar])
        value, at = _at_dollar(text, dollar, variables)
        made.append(value)
    return "".join([*made, text[at:]])


def _at_dollar(text: str, at: int, variables: Mapping[str, str]) -> tuple[str, int]:
    """The value of what begins with a dollar sign, and where it ends."""
    if text.startswith("$$", at):
        return "$", at + 2
    if (match := _NAME.match(text, at + 1)) is not None:
        return variables.get(match[0], ""), match.end()
    if not text.startswith("${", at):
        raise BadInterpolation(f"{text[at : at + 2]!r} is no variable; write $$ for a dollar sign")
    end = _closing(text, at + 2)
    return _braced(text[at + 2 : end], variables), end + 1


def _closing(text: str, at: int) -> int:
    """Return where the brace is closed that is open at a place."""
    depth = 1
    while at < len(text):
        if text.startswith("${", at):
            depth, at = depth + 1, at + 2
            continue
        if text[at] == "}":
            depth -= 1
            if not depth:
                return at
        at += 1
    raise BadInterpolation(f"a brace is not closed in {text!r}")


def _braced(inside: str, variables: Mapping[str, str]) -> str:
    match = _NAME.match(inside)
    operator = None if match is None else _OPERATOR.match(inside, match.end())
    if match is None or (operator is None and match.end() != len(inside)):
        raise BadInterpolation(f"{'${' + inside + '}'!r} is no variable; write $$ for a dollar sign")
    name, value = match[0], variables.get(match[0])
    if operator is None:
        return value or ""
    is_there = bool(value) if operator[0].startswith(":") else value is not None
    other = inside[operator.end() :]
    match operator[0][-1]:
        case "-":
            return (value or "") if is_there else interpolate(other, variables)
        case "+":
            return interpolate(other, variables) if is_there else ""
        case _:
            if not is_there:
                why = interpolate(other, variables)
                raise BadInterpolation(f"variable {name} is not set{': ' if why else ''}{why}")
            return value or ""
