"""Patterns: RE2's meaning, whichever engine runs them."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attractor.schema.patterns import PatternError, compile_pattern, is_plain, matcher, pattern_error

PIECES = st.sampled_from(
    [
        "a",
        "B",
        "7",
        " ",
        "-",
        r"\.",
        r"\-",
        r"\/",
        "[a-c]",
        "[^a]",
        "[A-Z0-9_.-]",
        "(a|b)",
        "(?:ab)+",
        "a*",
        "b+?",
        "c{2}",
        "d{1,2}",
        "^",
        "$",
        "|",
        "/",
    ]
)
TEXTS = st.text(alphabet="aAbBcCd7 -./_é\n\u0660\u2028", max_size=8)


@settings(max_examples=300, deadline=None)
@given(st.lists(PIECES, min_size=1, max_size=5).map("".join), TEXTS)
def test_plain_patterns_mean_what_they_mean_to_re2(pattern: str, text: str) -> None:
    try:
        reference = compile_pattern(pattern)
    except PatternError:
        return
    assert matcher(pattern)(text) == (reference.search(text) is not None)


@pytest.mark.parametrize(
    "pattern", [r"\d", r"\w+", "a.b", "(?i)a", r"\pL", "é", "[[:alpha:]]", r"\bx", "[a&&b]", "a{,3}", "x{1001}"]
)
def test_patterns_in_which_engines_differ_go_to_re2(pattern: str) -> None:
    assert not is_plain(pattern)


def test_digits_are_ascii_digits_as_in_go() -> None:
    assert not matcher(r"^\d$")("\u0660")
    assert matcher(r"^\d$")("5")


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("a(", "error parsing regexp: missing closing ): `a(`"),
        ("[a", "error parsing regexp: missing closing ]: `[a`"),
        ("*a", "error parsing regexp: missing argument to repetition operator: `*`"),
        ("a**", "error parsing regexp: invalid nested repetition operator: `**`"),
        ("(?=a)", "error parsing regexp: invalid or unsupported Perl syntax: `(?=`"),
        ("\\", "error parsing regexp: trailing backslash at end of expression: `\\`"),
    ],
)
def test_pattern_errors_are_worded_as_go_does(pattern: str, said: str) -> None:
    assert pattern_error(pattern) == said
