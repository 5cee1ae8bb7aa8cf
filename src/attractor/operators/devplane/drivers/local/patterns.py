"""Patterns of paths: ``*`` within a name, ``**`` for any directories, ``?`` for a letter; a directory is all in it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def matcher(patterns: Sequence[str]) -> Callable[[str], bool]:
    """A function that says whether a path matches one of some patterns.

    >>> is_source = matcher(["src/**/*.py", "web"])
    >>> [is_source(path) for path in ("src/a.py", "src/b/c.py", "src/a.txt", "web/x/y", "webs")]
    [True, True, False, True, False]
    """
    if not patterns:
        return lambda _: False
    wanted = re.compile("|".join(f"(?:{expression(pattern)})" for pattern in patterns))
    return lambda path: wanted.fullmatch(path) is not None


def expression(pattern: str) -> str:
    """A pattern as a regular expression."""
    text = "/".join(part for part in pattern.split("/") if part not in {"", "."})
    made = ""
    while text:
        if text.startswith("**/"):
            made, text = made + "(?:[^/]+/)*", text[3:]
        elif text.startswith("**"):
            made, text = made + ".*", text[2:]
        elif text[0] in "*?":
            made, text = made + ("[^/]*" if text[0] == "*" else "[^/]"), text[1:]
        else:
            made, text = made + re.escape(text[0]), text[1:]
    return f"{made}(?:/.*)?" if made else ".*"


def root_of(pattern: str) -> str:
    """The directories that a pattern begins with, as far as they have no stars.

    >>> root_of("src/app/**/*.py"), root_of("*.py"), root_of("./web/"), root_of(".")
    ('src/app', '', 'web', '')
    """
    parts = [part for part in pattern.split("/") if part not in {"", "."}]
    plain = []
    for part in parts:
        if "*" in part or "?" in part:
            break
        plain.append(part)
    return "/".join(plain)
