"""Kubernetes' rules for names, labels, keys and ports, with Kubernetes' messages.

Each function returns why a value is not allowed, one text for each broken rule; an empty list means that it is. The
rules and the words are those of ``k8s.io/apimachinery/pkg/util/validation``.

>>> dns1123_label("a.b")
['must not contain dots']
>>> label_value("fine")
[]
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from attractor.objects.field import FieldError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

DNS1123_LABEL_MAX: Final = 63
DNS1123_SUBDOMAIN_MAX: Final = 253
LABEL_VALUE_MAX: Final = 63
PORT_NAME_MAX: Final = 15
ANNOTATIONS_MAX_BYTES: Final = 256 * 1024

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_LABEL_UNDERSCORE = "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_SUBDOMAIN_UNDERSCORE = rf"{_LABEL_UNDERSCORE}(\.{_LABEL_UNDERSCORE})*"
_QUALIFIED = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_QUALIFIED_WORDS = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
)


def regex_error(message: str, pattern: str, *examples: str) -> str:
    """A rule's message with its examples and its pattern, spaced as Kubernetes spaces them."""
    if not examples:
        return f"{message} (regex used for validation is '{pattern}')"
    shown = " or ".join(f"'{example}', " for example in examples)
    return f"{message} (e.g. {shown}regex used for validation is '{pattern}')"


def max_length_error(limit: int) -> str:
    """A text is longer than it may be."""
    return f"must be no more than {limit} characters"


def range_error(low: int, high: int) -> str:
    """A number is outside its range."""
    return f"must be between {low} and {high}, inclusive"


EMPTY = "must be non-empty"


class _Pattern:
    """A rule given by a pattern; compiled once, when it is first needed, message built once."""

    def __init__(
        self, message: str, pattern: str, *examples: str, limit: int | None = None, unit: str = "characters"
    ) -> None:
        self._pattern = pattern
        self._fullmatch: Callable[[str], re.Match[str] | None] | None = None
        self.message = regex_error(message, pattern, *examples)
        self.limit = limit
        self._unit = unit

    def fits(self, value: str) -> bool:
        """Whether a value is as the pattern says."""
        if self._fullmatch is None:
            self._fullmatch = re.compile(self._pattern, re.ASCII).fullmatch
        return self._fullmatch(value) is not None

    def errors(self, value: str) -> list[str]:
        """Why a value is not allowed."""
        # A character has up to four bytes; they are counted only where it may matter.
        if (self.limit is None or len(value) * 4 <= self.limit) and self.fits(value):
            return []
        errors: list[str] = []
        if self.limit is not None and _size(value) > self.limit:
            errors.append(f"must be no more than {self.limit} {self._unit}")
        if not self.fits(value):
            errors.append(self.message)
        return errors


def _size(value: str) -> int:
    """Length in bytes, as Go counts."""
    return len(value) if value.isascii() else len(value.encode("utf-8", "surrogatepass"))


_dns1123_label: Final = _Pattern(
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', "
    "and must start and end with an alphanumeric character",
    _LABEL,
    "my-name",
    "123-abc",
)
_SUBDOMAIN_WORDS = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
    "and must start and end with an alphanumeric character"
)
_dns1123_subdomain: Final = _Pattern(_SUBDOMAIN_WORDS, _SUBDOMAIN, "example.com", limit=DNS1123_SUBDOMAIN_MAX)
_key_prefix: Final = _Pattern(_SUBDOMAIN_WORDS, _SUBDOMAIN, "example.com", limit=DNS1123_SUBDOMAIN_MAX, unit="bytes")
_dns1123_subdomain_underscore: Final = _Pattern(
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', "
    "and must start and end with an alphanumeric character",
    _SUBDOMAIN_UNDERSCORE,
    "example.com",
    limit=DNS1123_SUBDOMAIN_MAX,
)
_dns1035_label: Final = _Pattern(
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic "
    "character, and end with an alphanumeric character",
    "[a-z]([-a-z0-9]*[a-z0-9])?",
    "my-name",
    "abc-123",
    limit=DNS1123_LABEL_MAX,
)
_wildcard_subdomain: Final = _Pattern(
    "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of "
    "lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character",
    rf"\*\.{_SUBDOMAIN}",
    "*.example.com",
    limit=DNS1123_SUBDOMAIN_MAX,
)
_qualified: Final = _Pattern(
    _QUALIFIED_WORDS, _QUALIFIED, "MyName", "my.name", "123-abc", limit=LABEL_VALUE_MAX, unit="bytes"
)
_label_value: Final = _Pattern(
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and end with an alphanumeric character",
    f"({_QUALIFIED})?",
    "MyValue",
    "my_value",
    "12345",
    limit=LABEL_VALUE_MAX,
    unit="bytes",
)
_c_identifier: Final = _Pattern(
    "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric "
    "characters or '_'",
    "[A-Za-z_][A-Za-z0-9_]*",
    "my_name",
    "MY_NAME",
    "MyName",
)
_config_key: Final = _Pattern(
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
    "[-._a-zA-Z0-9]+",
    "key.name",
    "KEY_NAME",
    "key-name",
    limit=DNS1123_SUBDOMAIN_MAX,
)
_http_header: Final = _Pattern(
    "a valid HTTP header must consist of alphanumeric characters or '-'", "[-A-Za-z0-9]+", "X-Header-Name"
)
_percent: Final = _Pattern(
    "a valid percent string must be a numeric string followed by an ending '%'", "[0-9]+%", "1%", "93%"
)


def dns1123_label(value: str) -> list[str]:
    """A label as RFC 1123 has it: namespaces, containers, volumes."""
    errors = [max_length_error(DNS1123_LABEL_MAX)] if _size(value) > DNS1123_LABEL_MAX else []
    if not _dns1123_label.fits(value):
        errors.append("must not contain dots" if _dns1123_subdomain.fits(value) else _dns1123_label.message)
    return errors


def dns1123_subdomain(value: str) -> list[str]:
    """A subdomain as RFC 1123 has it: the names of most objects."""
    if len(value) <= DNS1123_LABEL_MAX and _dns1123_subdomain.fits(value):
        return []
    return _dns1123_subdomain.errors(value)


def dns1123_subdomain_with_underscore(value: str) -> list[str]:
    """A subdomain that may hold underscores: DNS search paths."""
    return _dns1123_subdomain_underscore.errors(value)


def dns1035_label(value: str) -> list[str]:
    """A label as RFC 1035 has it: it starts with a letter."""
    return _dns1035_label.errors(value)


def wildcard_dns1123_subdomain(value: str) -> list[str]:
    """``*.`` and a subdomain: hosts of an Ingress."""
    return _wildcard_subdomain.errors(value)


_is_qualified_name = re.compile(
    rf"(?:(?=[^/]{{1,{DNS1123_SUBDOMAIN_MAX}}}/){_SUBDOMAIN}/)?(?=[^/]{{1,{LABEL_VALUE_MAX}}}\Z){_QUALIFIED}", re.ASCII
).fullmatch
_CONFIG_MAP_KEY = rf"(?!\.\.)(?!\.(?:\n|\Z))[-._a-zA-Z0-9]{{1,{DNS1123_SUBDOMAIN_MAX}}}"
_is_config_map_key = re.compile(_CONFIG_MAP_KEY, re.ASCII).fullmatch
_is_lines_of_keys = re.compile(rf"{_CONFIG_MAP_KEY}(?:\n{_CONFIG_MAP_KEY})*", re.ASCII).fullmatch


REMEMBERED_KEYS: Final = 32
"""Sets of keys up to this size are checked once: whoever makes ConfigMaps gives all of them the same keys."""


def are_config_map_keys(keys: Collection[str]) -> bool:
    """Whether all keys of data are allowed, told with one match and without saying why not."""
    if not keys:
        return True
    return _are_remembered(tuple(keys)) if len(keys) <= REMEMBERED_KEYS else _are_config_map_keys(keys)


def _are_config_map_keys(keys: Collection[str]) -> bool:
    text = "\n".join(keys)
    return text.count("\n") == len(keys) - 1 and bool(_is_lines_of_keys(text))


_are_remembered = lru_cache(maxsize=1024)(_are_config_map_keys)


def qualified_name(value: str) -> list[str]:
    """A label or annotation key: ``[prefix/]name``."""
    if _is_qualified_name(value):
        return []
    errors: list[str] = []
    parts = value.split("/")
    if len(parts) == 1:
        name = value
    elif len(parts) == 2:
        prefix, name = parts
        said = _key_prefix.errors(prefix) if prefix else [EMPTY]
        errors += [f"prefix part {message}" for message in said]
    else:
        return [
            f"a valid label key {_qualified.message} with an optional DNS subdomain prefix and '/' "
            "(e.g. 'example.com/MyName')"
        ]
    if not name:
        errors.append(f"name part {EMPTY}")
    errors += [f"name part {message}" for message in _qualified.errors(name)]
    return errors


def label_value(value: str) -> list[str]:
    """The value of a label."""
    return _label_value.errors(value)


def config_map_key(value: str) -> list[str]:
    """A key of a ConfigMap's or a Secret's data."""
    if _is_config_map_key(value):
        return []
    return _config_key.errors(value) + _climbing(value)


def _climbing(value: str) -> list[str]:
    if value in {".", ".."}:
        return [f"must not be '{value}'"]
    return ["must not start with '..'"] if value.startswith("..") else []


def env_var_name(value: str) -> list[str]:
    """The name of an environment variable, as Kubernetes 1.32 and newer allow it."""
    if not value:
        return [f"environment variable name {EMPTY}"]
    if all(" " <= character <= "~" and character != "=" for character in value):
        return []
    return ["a valid environment variable name must consist only of printable ASCII characters other than '='"]


def http_header_name(value: str) -> list[str]:
    """The name of an HTTP header in a probe or a hook."""
    return _http_header.errors(value)


def percent(value: str) -> list[str]:
    """A whole percentage such as ``25%``."""
    return _percent.errors(value)


def port_number(value: int) -> list[str]:
    """A TCP, UDP or SCTP port."""
    return [] if 1 <= value <= 65535 else [range_error(1, 65535)]


def port_name(value: str) -> list[str]:
    """The name of a port (an IANA service name)."""
    errors = [max_length_error(PORT_NAME_MAX)] if _size(value) > PORT_NAME_MAX else []
    if re.fullmatch("[-a-z0-9]+", value) is None:
        errors.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if re.search("[a-z]", value) is None:
        errors.append("must contain at least one letter (a-z)")
    if "--" in value:
        errors.append("must not contain consecutive hyphens")
    if value and (value[0] == "-" or value[-1] == "-"):
        errors.append("must not begin or end with a hyphen")
    return errors


_HTTP_PATH = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+"
_HTTP_PATH_RE = re.compile(_HTTP_PATH, re.ASCII)


def http_path(value: str) -> list[str]:
    """What may follow the domain in ``acme.io/foo``."""
    return [] if _HTTP_PATH_RE.fullmatch(value) else [regex_error("Invalid path", _HTTP_PATH)]


def path_segment(value: str) -> list[str]:
    """A name that is safe as one segment of a URL: RBAC roles and the like."""
    if value in {".", ".."}:
        return [f"may not be '{value}'"]
    return [f"may not contain '{found}'" for found in ("/", "%") if found in value]


def as_prefix(rule: Callable[[str], list[str]], prefix: str) -> list[str]:
    """Apply a name rule to a generateName, whose trailing dash will be followed by a suffix."""
    if len(prefix) > 1 and prefix.endswith("-"):
        prefix = prefix[:-2] + "a"
    return rule(prefix)


def validate_labels(labels: Mapping[str, str], path: str) -> list[FieldError]:
    """Every label key and value that is not allowed."""
    errors: list[FieldError] = []
    for key, value in labels.items():
        errors += [FieldError.invalid(path, key, message) for message in qualified_name(key)]
        errors += [FieldError.invalid(path, value, message) for message in label_value(value)]
    return errors


def validate_annotations(annotations: Mapping[str, str], path: str) -> list[FieldError]:
    """Every annotation key that is not allowed, and whether all together are too long."""
    errors: list[FieldError] = []
    if not annotations:
        return errors
    for key in annotations:
        # Kubernetes forgives upper-case letters in the prefix here.
        errors += [FieldError.invalid(path, key, message) for message in qualified_name(key.lower())]
    if sum(_size(key) + _size(value) for key, value in annotations.items()) > ANNOTATIONS_MAX_BYTES:
        errors.append(FieldError.too_long(path, ANNOTATIONS_MAX_BYTES))
    return errors


def validate_finalizers(finalizers: Collection[str], path: str) -> list[FieldError]:
    """Every finalizer whose name is not allowed, and whether two contradict each other."""
    if not finalizers:
        return []
    errors = [
        FieldError.invalid(path, finalizer, message)
        for finalizer in finalizers
        for message in qualified_name(finalizer)
    ]
    if "orphan" in finalizers and "foregroundDeletion" in finalizers:
        why = "finalizer orphan and foregroundDeletion cannot be both set"
        errors.append(FieldError.invalid(path, list(finalizers), why))
    return errors


def fully_qualified_name(value: str, path: str) -> list[FieldError]:
    """A dotted name of at least three segments: the name of an admission webhook."""
    if not value:
        return [FieldError.required(path, "")]
    errors = [FieldError.invalid(path, value, message) for message in _dns1123_subdomain.errors(value)]
    if not errors and len(value.split(".")) < 3:
        errors.append(
            FieldError.invalid(path, value, "should be a domain with at least three segments separated by dots")
        )
    return errors
