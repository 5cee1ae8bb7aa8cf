"""Names and label rules, with the words of a real API server."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attractor.objects import names

SUBDOMAIN = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start "
    "and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
LABEL = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end "
    "with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
QUALIFIED = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
CONFIG_KEY = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or "
    "'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
)


@pytest.mark.parametrize(
    "value", ["a", "ab", "abc", "a1", "a-1", "a--1--2--b", "0", "01", "1a-1", "1--a--b--2", "a" * 63]
)
def test_labels_of_rfc_1123_are_allowed_in_labels_and_subdomains(value: str) -> None:
    assert names.dns1123_label(value) == []
    assert names.dns1123_subdomain(value) == []


@pytest.mark.parametrize("value", ["", "A", "aBc", "-", "a-", "-a", "_", "a_", "a_b", " ", "a b", "a\n", "1\n", "é"])
def test_labels_outside_rfc_1123_are_refused_with_pattern_and_examples(value: str) -> None:
    assert names.dns1123_label(value) == [LABEL]
    assert names.dns1123_subdomain(value) == [SUBDOMAIN]


@pytest.mark.parametrize("value", ["a.a", "ab.a", "0.1.2", "a-1.b", "1.2.3.4", "aaa.aaa.aaa", "a" * 253])
def test_subdomains_may_have_dots_and_labels_may_not(value: str) -> None:
    assert names.dns1123_subdomain(value) == []
    expected = ["must be no more than 63 characters"] if len(value) > 63 else ["must not contain dots"]
    assert names.dns1123_label(value) == expected


@pytest.mark.parametrize("value", ["a..a", ".a", "a.", "a.-b", "a-.b", "A.b"])
def test_subdomains_have_no_empty_or_dashed_segments(value: str) -> None:
    assert names.dns1123_subdomain(value) == [SUBDOMAIN]


def test_a_name_that_is_too_long_and_wrong_breaks_two_rules() -> None:
    assert names.dns1123_subdomain("A" * 254) == ["must be no more than 253 characters", SUBDOMAIN]


def test_length_counts_bytes() -> None:
    assert names.label_value("é" * 32)[0] == "must be no more than 63 bytes"


@pytest.mark.parametrize(
    ("value", "ok"), [("a", True), ("abc-1", True), ("1a", False), ("a.b", False), ("A", False), ("a" * 64, False)]
)
def test_labels_of_rfc_1035_start_with_a_letter(value: str, ok: bool) -> None:
    assert (names.dns1035_label(value) == []) is ok


@pytest.mark.parametrize(
    "value", ["simple", "now-with-dashes", "1-starts-with-num", "1234", "simple/simple", "now-with-dashes/simple",
              "now.with.dots/Simple_1.2", "1-num.2-num/3-num", "example.com/" + "a" * 63, "UPPERCASE", "a.B_c"],
)  # fmt: skip
def test_qualified_names_may_have_a_domain_prefix(value: str) -> None:
    assert names.qualified_name(value) == []


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("bad key!", [QUALIFIED]),
        ("", ["name part must be non-empty", QUALIFIED]),
        ("/b", ["prefix part must be non-empty"]),
        ("a/", ["name part must be non-empty", QUALIFIED]),
        ("Upper/b", [f"prefix part {SUBDOMAIN}"]),
        ("b" * 64, ["name part must be no more than 63 bytes"]),
        ("a/b/c", ["a valid label key " + QUALIFIED.removeprefix("name part ")
                   + " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"]),
    ],
)  # fmt: skip
def test_qualified_names_are_refused_part_by_part(value: str, expected: list[str]) -> None:
    assert names.qualified_name(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("key.name", []),
        ("..x", ["must not start with '..'"]),
        (".", ["must not be '.'"]),
        ("..", ["must not be '..'"]),
        ("bad key", [CONFIG_KEY]),
        ("", [CONFIG_KEY]),
        ("a" * 254, ["must be no more than 253 characters"]),
    ],
)
def test_config_map_keys_are_safe_file_names(value: str, expected: list[str]) -> None:
    assert names.config_map_key(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("http", []),
        ("a-1", []),
        ("1", ["must contain at least one letter (a-z)"]),
        ("a--b", ["must not contain consecutive hyphens"]),
        ("-a", ["must not begin or end with a hyphen"]),
        ("HTTP", ["must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)", "must contain at least one letter (a-z)"]),
        ("a" * 16, ["must be no more than 15 characters"]),
    ],
)  # fmt: skip
def test_port_names_are_service_names(value: str, expected: list[str]) -> None:
    assert names.port_name(value) == expected


@pytest.mark.parametrize(("number", "ok"), [(0, False), (1, True), (65535, True), (65536, False), (-1, False)])
def test_ports_have_sixteen_bits(number: int, ok: bool) -> None:
    assert names.port_number(number) == ([] if ok else ["must be between 1 and 65535, inclusive"])


@pytest.mark.parametrize(
    ("value", "expected"),
    [("system:admin", []), ("..", ["may not be '..'"]), ("a/b%", ["may not contain '/'", "may not contain '%'"])],
)
def test_path_segments_hold_neither_slash_nor_percent(value: str, expected: list[str]) -> None:
    assert names.path_segment(value) == expected


def test_env_var_names_are_printable_ascii_without_equals() -> None:
    assert names.env_var_name("a b.c-1") == []
    assert names.env_var_name("a=b") != []
    assert names.env_var_name("") == ["environment variable name must be non-empty"]


def test_generate_name_may_end_in_a_dash_but_not_be_one() -> None:
    assert names.as_prefix(names.dns1123_subdomain, "web-") == []
    assert names.as_prefix(names.dns1123_subdomain, "-") == [SUBDOMAIN]


def test_annotation_prefixes_forgive_capitals_and_all_together_have_a_limit() -> None:
    assert names.validate_annotations({"Example.COM/x": ""}, "metadata.annotations") == []
    (error,) = names.validate_annotations({"k": "v" * 262144}, "metadata.annotations")
    assert str(error) == "metadata.annotations: Too long: may not be more than 262144 bytes"


def test_webhook_names_have_three_segments() -> None:
    assert names.fully_qualified_name("a.b.c", "name") == []
    assert [error.detail for error in names.fully_qualified_name("a.b", "name")] == [
        "should be a domain with at least three segments separated by dots"
    ]


@given(st.text(alphabet="aA0-_./é\n", max_size=8), st.sampled_from([0, 55, 60, 245, 250]))
def test_quick_answers_are_those_of_the_rules(text: str, padding: int) -> None:
    """Allowed keys are recognised by one pattern; it must agree with the rules that name what is wrong."""
    for value in (text, "a" * padding + text, "a" * padding + "/" + text, text + "/" + "a" * padding):
        prefix, slash, name = value.rpartition("/")
        allowed = not names._qualified.errors(name) and (not slash or not names.dns1123_subdomain(prefix))
        assert (names.qualified_name(value) == []) is allowed
        assert (names.config_map_key(value) == []) is (
            not names._config_key.errors(value) and not names._climbing(value)
        )
