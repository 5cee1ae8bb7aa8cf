"""String and number formats that Kubernetes checks in custom resources; any other format is ignored.

The accepted spellings are those of the Go functions that Kubernetes calls (``net.ParseIP``, ``url.ParseRequestURI``,
``mail.ParseAddress``, ``time.ParseDuration``), not those of the JSON schema drafts.

>>> FORMATS["duration"]("1h30m"), FORMATS["duration"]("soon"), effective_format("string", "date-time")
(True, False, 'date-time')
>>> effective_format("string", "phone"), effective_format("integer", "int32")
('', 'int32')
"""

from __future__ import annotations

import datetime as dt
import ipaddress
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from attractor.schema.patterns import matcher

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_HOSTNAME = (
    r"^([a-zA-Z0-9\p{S}\p{L}]((-?[a-zA-Z0-9\p{S}\p{L}]{0,62})?)"
    r"|([a-zA-Z0-9\p{S}\p{L}](([a-zA-Z0-9-\p{S}\p{L}]{0,61}[a-zA-Z0-9\p{S}\p{L}])?)(\.)){1,}([a-zA-Z\p{L}]){2,63})$"
)
_CREDIT_CARD = (
    r"^(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|(222[1-9]|22[3-9][0-9]|2[3-6][0-9]{2}|27[01][0-9]|2720)[0-9]{12}"
    r"|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35\d{3})\d{11}"
    r"|6[27][0-9]{14})$"
)
_RGB = (
    r"^rgb\(\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*,\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*,"
    r"\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*\)$"
)
_ATEXT = r"[A-Za-z0-9!#$%&'*+\-/=?^_`{|}~\x{80}-\x{10ffff}]"
_LOCAL = rf'(?:{_ATEXT}+(?:\.{_ATEXT}+)*|"(?:[^"\\\x00-\x1f]|\\[^\x00-\x1f])*")'
_DOMAIN = rf"(?:{_ATEXT}+(?:\.{_ATEXT}+)*|\[[0-9a-fA-F:.]+\])"
_NAMED_ADDRESS = rf'(?:(?:{_ATEXT}|[.\s])+|"(?:[^"\\]|\\.)*")?\s*<{_LOCAL}@{_DOMAIN}>'
_EMAIL = rf"^\s*(?:{_LOCAL}@{_DOMAIN}|{_NAMED_ADDRESS})\s*(?:\([^()]*\)\s*)?$"
_SCALA_DURATION = re.compile(r"(\d+)\s*([A-Za-zµ]+)")
_GO_DURATION = re.compile(r"[+-]?(?:0|(?:(?:\d+\.?\d*|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+)", re.ASCII)
_TIME_UNITS = (
    ("ns", "nano"),
    ("us", "µs", "micro"),
    ("ms", "milli"),
    ("s", "sec"),
    ("m", "min"),
    ("h", "hr", "hour"),
    ("d", "day"),
    ("w", "wk", "week"),
)
_TIME_UNIT_NS = (1, 10**3, 10**6, 10**9, 60 * 10**9, 3600 * 10**9, 86_400 * 10**9, 604_800 * 10**9)
_TIME_OF_DAY = re.compile(r"(\d{2}):(\d{2}):(\d{2})(.\d+)?(z|[+-]\d{2}:\d{2})", re.ASCII)
_URI_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.\-]*:")


def _matches(pattern: str) -> Callable[[str], bool]:
    """A check by pattern, compiled when first used: the large ones take a tenth of a second."""

    def check(text: str) -> bool:
        return matcher(pattern)(text)

    return check


def is_date(text: str) -> bool:
    """An RFC 3339 full-date."""
    if not re.fullmatch(r"\d{4}-\d{2}-\d{2}", text, re.ASCII):
        return False
    try:
        dt.date(int(text[:4]) or 2000, int(text[5:7]), int(text[8:]))
    except ValueError:
        return False
    return True


def is_date_time(text: str) -> bool:
    """An RFC 3339 date-time; letters may be of either case."""
    day, t, clock = text.lower().partition("t")
    found = _TIME_OF_DAY.fullmatch(clock) if t else None
    if found is None or not is_date(day):
        return False
    hour, minute, second = (int(part) for part in found.groups()[:3])
    return hour <= 23 and minute <= 59 and second <= 59


def is_duration(text: str) -> bool:
    """A Go duration (``1h30m``), or words such as ``3 days``."""
    if _GO_DURATION.fullmatch(text):
        return True
    return worded_duration_ns(text) is not None


def worded_duration_ns(text: str) -> int | None:
    """The nanoseconds of a duration in words (``3 days``); None when there is none in the text."""
    total = None
    for count, said in _SCALA_DURATION.findall(text):
        unit = said.lower()
        for variants, ns in zip(_TIME_UNITS, _TIME_UNIT_NS, strict=True):
            if unit in variants or unit.startswith(variants[-1]):
                total = (total or 0) + int(count[:18]) * ns
                break
    return total


def is_hostname(text: str) -> bool:
    """A DNS host name; symbols and letters of any script are allowed, as in Go."""
    if not matcher(_HOSTNAME)(text) or len(text.encode()) > 255:
        return False
    return all(len(label.encode()) <= 63 for label in text.split("."))


def parse_ip(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """An address as ``net.ParseIP`` reads it: no zone, no leading zeros."""
    if "%" in text:
        return None
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


def is_cidr(text: str) -> bool:
    """An address and a prefix length, as ``net.ParseCIDR`` reads it."""
    address, slash, bits = text.partition("/")
    ip = parse_ip(address)
    return bool(slash) and ip is not None and bits.isascii() and bits.isdigit() and int(bits[:6]) <= ip.max_prefixlen


def is_mac(text: str) -> bool:
    """An EUI-48, EUI-64 or 20-octet address, as ``net.ParseMAC`` reads it."""
    for separator, width in ((":", 2), ("-", 2), (".", 4)):
        parts = text.split(separator)
        if len(parts) * width in {12, 16, 40}:
            return all(re.fullmatch(rf"[0-9a-fA-F]{{{width}}}", part) for part in parts)
    return False


def is_uri(text: str) -> bool:
    """An absolute URI or an absolute path, as ``url.ParseRequestURI`` reads it."""
    if not text or text == "*" or re.search(r"[\x00-\x20\x7f]", text):
        return text == "*"
    scheme = _URI_SCHEME.match(text)
    rest = text[scheme.end() :] if scheme else text
    if not rest.startswith("/"):
        return scheme is not None
    path = rest.partition("?")[0]
    if re.search(r"%(?![0-9a-fA-F]{2})", path):
        return False
    if scheme and rest.startswith("//"):
        authority = rest[2:].partition("/")[0].partition("?")[0].rpartition("@")[2]
        host = authority.rpartition("]")[2] if authority.startswith("[") else authority
        port = host.rpartition(":")[2] if ":" in host else ""
        return port.isdigit() or not port
    return True


def _isbn10(text: str) -> bool:
    digits = re.sub(r"[\s-]+", "", text)
    if not re.fullmatch(r"[0-9]{9}[0-9X]", digits):
        return False
    total = sum((10 - place) * (10 if digit == "X" else int(digit)) for place, digit in enumerate(digits))
    return total % 11 == 0


def _isbn13(text: str) -> bool:
    digits = re.sub(r"[\s-]+", "", text)
    if not re.fullmatch(r"[0-9]{13}", digits):
        return False
    return sum(int(digit) * (1 if place % 2 == 0 else 3) for place, digit in enumerate(digits)) % 10 == 0


def _credit_card(text: str) -> bool:
    digits = re.sub(r"[^0-9]+", "", text)
    if not matcher(_CREDIT_CARD)(digits):
        return False
    total = 0
    for place, digit in enumerate(reversed(digits)):
        value = int(digit) * (2 if place % 2 else 1)
        total += value - 9 if value > 9 else value
    return total % 10 == 0


def _long_name(text: str) -> bool:
    return len(text) <= 253 and bool(
        re.fullmatch(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*", text)
    )


_UUID = r"(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?%s[0-9a-f]{3}-?%s[0-9a-f]{3}-?[0-9a-f]{12}$"

FORMATS: dict[str, Callable[[str], bool]] = {
    "bsonobjectid": _matches(r"^[0-9a-fA-F]{24}$"),
    "uri": is_uri,
    "email": _matches(_EMAIL),
    "hostname": is_hostname,
    "ipv4": lambda text: "." in text and parse_ip(text) is not None,
    "ipv6": lambda text: ":" in text and parse_ip(text) is not None,
    "cidr": is_cidr,
    "mac": is_mac,
    "uuid": _matches(_UUID % ("[0-9a-f]", "[0-9a-f]")),
    "uuid3": _matches(_UUID % ("3", "[0-9a-f]")),
    "uuid4": _matches(_UUID % ("4", "[89ab]")),
    "uuid5": _matches(_UUID % ("5", "[89ab]")),
    "isbn": lambda text: _isbn10(text) or _isbn13(text),
    "isbn10": _isbn10,
    "isbn13": _isbn13,
    "creditcard": _credit_card,
    "ssn": _matches(r"^\d{3}[- ]?\d{2}[- ]?\d{4}$"),
    "hexcolor": _matches(r"^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$"),
    "rgbcolor": _matches(_RGB),
    "byte": _matches(r"^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})$"),
    "password": lambda _: True,
    "date": is_date,
    "duration": is_duration,
    "datetime": is_date_time,
    "k8sshortname": lambda text: len(text) <= 63 and bool(re.fullmatch(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", text)),
    "k8slongname": _long_name,
}
"""Checks by normalised name (dashes removed)."""

_KEPT_WITHOUT_CHECK = {"quantity"}


@lru_cache(maxsize=1024)
def effective_format(schema_type: str, said: str) -> str:
    """The format that counts for a type: the one said, or empty when Kubernetes ignores it."""
    if schema_type in {"", "string"}:
        normalised = said.replace("-", "")
        return said if normalised in FORMATS or normalised in _KEPT_WITHOUT_CHECK else ""
    if schema_type == "integer":
        return said if said in {"int32", "int64"} else ""
    if schema_type == "number":
        return said if said in {"float", "double"} else ""
    return ""


def format_check(said: str) -> Callable[[str], bool] | None:
    """The check of a string format, or None when it has none."""
    return FORMATS.get(said.replace("-", ""))


def unrecognized_formats(doc: Any) -> Iterator[str]:
    """The formats in a schema that mean nothing for the type they are said of."""
    said = str(doc.get("format") or "")
    if said and not effective_format(str(doc.get("type") or ""), said):
        yield said
    below = [doc.get(name) for name in ("items", "additionalProperties", "not")]
    below += [part for name in ("allOf", "anyOf", "oneOf") for part in doc.get(name) or ()]
    properties = doc.get("properties") or {}
    below += [properties[name] for name in sorted(properties)]
    for part in below:
        if isinstance(part, dict):
            yield from unrecognized_formats(part)
