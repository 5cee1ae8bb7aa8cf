"""Regular expressions as Kubernetes reads them: RE2 syntax, matching in linear time.

Patterns come from users. Python's own engine would let one pattern and one text hold the server for hours; RE2 cannot.

>>> compile_pattern("^a+$").search("aaa") is not None
True
>>> pattern_error("a(b")
'error parsing regexp: missing closing ): `a(b`'
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import re2  # type: ignore[import-untyped]

_OPTIONS = re2.Options()
_OPTIONS.log_errors = False

# What RE2 says, and what Go's regexp/syntax says of the same fault.
_GO_WORDS = {
    "missing )": "missing closing )",
    "missing ]": "missing closing ]",
    "unexpected )": "unexpected )",
    "no argument for repetition operator": "missing argument to repetition operator",
    "bad repetition operator": "invalid nested repetition operator",
    "invalid repetition size": "invalid repeat count",
    "invalid escape sequence": "invalid escape sequence",
    "invalid character class range": "invalid character class range",
    "invalid character class": "invalid character class",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "invalid named capture group": "invalid named capture",
    "trailing \\": "trailing backslash at end of expression",
    "invalid UTF-8": "invalid UTF-8",
}


class PatternError(ValueError):
    """A pattern that RE2 cannot read; the text is Go's."""


@lru_cache(maxsize=4096)
def compile_pattern(pattern: str) -> Any:
    """The compiled pattern; raises ``PatternError`` when it is not RE2 syntax."""
    try:
        return re2.compile(pattern, _OPTIONS)
    except re2.error as error:
        raise PatternError(_in_go_words(error, pattern)) from None


def pattern_error(pattern: str) -> str | None:
    """What is wrong with a pattern, or None."""
    try:
        compile_pattern(pattern)
    except PatternError as error:
        return str(error)
    return None


def _in_go_words(error: Exception, pattern: str) -> str:
    raw = error.args[0] if error.args else ""
    said = raw.decode(errors="replace") if isinstance(raw, bytes) else str(raw)
    fault, _, where = said.partition(": ")
    return f"error parsing regexp: {_GO_WORDS.get(fault, fault)}: `{where or pattern}`"
