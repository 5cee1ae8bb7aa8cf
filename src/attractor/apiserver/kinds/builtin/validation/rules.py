"""The rules that many kinds share, as small functions: ``rule(value, path) -> errors``."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING, Any, TypeAlias

from attractor.objects import names
from attractor.objects.field import FieldError
from attractor.objects.int_or_string import is_percent, percent_value
from attractor.objects.json_equality import same_json
from attractor.objects.quantity import Quantity, QuantityError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from attractor.objects.int_or_string import IntOrString
    from attractor.objects.json_types import JsonObject

Validator: TypeAlias = "Callable[[JsonObject], list[FieldError]]"
"""Every rule that an object breaks."""
UpdateValidator: TypeAlias = "Callable[[JsonObject, JsonObject], list[FieldError]]"
"""Every rule that a change breaks: the new object, then the old one."""

IMMUTABLE = "field is immutable"
PROTOCOLS = ("SCTP", "TCP", "UDP")
ALWAYS, ON_FAILURE, NEVER = "Always", "OnFailure", "Never"
_IP_TEXT = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"


def each(obj: JsonObject | None, field: str, path: str) -> Iterator[tuple[Any, str]]:
    """The items of a list field, each with its path."""
    for index, item in enumerate((obj or {}).get(field) or ()):
        yield item, f"{path}.{field}[{index}]" if path else f"{field}[{index}]"


def named(rule: Callable[[str], list[str]], value: str, path: str) -> list[FieldError]:
    """A name rule, at a path."""
    return [FieldError.invalid(path, value, message) for message in rule(value)]


def required_name(rule: Callable[[str], list[str]], value: str | None, path: str) -> list[FieldError]:
    """A name that must be there, and be right."""
    return named(rule, value, path) if value else [FieldError.required(path)]


def required(obj: JsonObject | None, path: str, *fields: str) -> list[FieldError]:
    """Fields that must not be empty."""
    return [FieldError.required(f"{path}.{field}") for field in fields if not (obj or {}).get(field)]


def at_least_zero(obj: JsonObject | None, path: str, *fields: str) -> list[FieldError]:
    """Numbers that must not be negative; absent ones are fine."""
    errors = []
    for field in fields:
        value = (obj or {}).get(field)
        if isinstance(value, int) and value < 0:
            errors.append(FieldError.invalid(_join(path, field), value, "must be greater than or equal to 0"))
    return errors


def one_of(value: str | None, path: str, supported: Iterable[str], *, optional: bool = False) -> list[FieldError]:
    """One of the known words; the order is the one in which Kubernetes lists them."""
    if not value:
        return [] if optional else [FieldError.required(path)]
    supported = tuple(supported)
    return [] if value in supported else [FieldError.unsupported(path, value, supported)]


def known(value: str | None, path: str, words: Sequence[str]) -> list[FieldError]:
    """One of the known words where there is one at all; an empty one is not."""
    return [] if value is None or value in words else [FieldError.unsupported(path, value, words)]


def unchanged(new: JsonObject | None, old: JsonObject | None, path: str, *fields: str) -> list[FieldError]:
    """Fields that must stay as they were."""
    errors = []
    for field in fields:
        value, before = (new or {}).get(field), (old or {}).get(field)
        if not same_json(value, before):
            errors.append(FieldError.invalid(_join(path, field), value, IMMUTABLE))
    return errors


def forbidden_change(new: JsonObject, old: JsonObject, path: str, detail: str, *fields: str) -> list[FieldError]:
    """Fields whose change is forbidden with a text of its own; ``{}`` in it is the field."""
    return [
        FieldError.forbidden(_join(path, field), detail.format(field))
        for field in fields
        if new.get(field) != old.get(field)
    ]


def _join(path: str, field: str) -> str:
    return f"{path}.{field}" if path else field


def unique(items: Iterable[tuple[Any, str]]) -> list[FieldError]:
    """Values that must differ, each with its path; empty ones do not count."""
    seen: set[Any] = set()
    errors = []
    for value, path in items:
        if value in seen:
            errors.append(FieldError.duplicate(path, value))
        elif value:
            seen.add(value)
    return errors


def port_number(value: Any, path: str) -> list[FieldError]:
    """A port."""
    return [FieldError.invalid(path, value, message) for message in names.port_number(value)]


def port_number_or_name(value: IntOrString, path: str) -> list[FieldError]:
    """A port, or the name of one."""
    if isinstance(value, int):
        return port_number(value, path)
    return named(names.port_name, value, path)


def ip_address(value: str, path: str) -> list[FieldError]:
    """An IPv4 or IPv6 address."""
    try:
        ipaddress.ip_address(value)
    except ValueError:
        return [FieldError.invalid(path, value, _IP_TEXT)]
    return []


def cidr(value: str, path: str) -> list[FieldError]:
    """An address block."""
    try:
        block = ipaddress.ip_interface(value)
        if "/" not in value:
            raise ValueError(value)
    except ValueError:
        return [FieldError.invalid(path, value, "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)")]
    if block.ip != block.network.network_address:
        return [FieldError.invalid(path, value, "must not have bits set beyond the prefix length")]
    return []


def relative_path(value: str, path: str) -> list[FieldError]:
    """A path that stays below where it begins."""
    if value.startswith("/"):
        return [FieldError.invalid(path, value, "must be a relative path")]
    return [FieldError.invalid(path, value, "must not contain '..'")] if ".." in value.split("/") else []


def domain_prefixed_path(value: str, path: str) -> list[FieldError]:
    """A domain, a slash and a path, such as ``acme.io/foo``."""
    if not value:
        return [FieldError.required(path)]
    host, _, rest = value.partition("/")
    if not host or not rest:
        return [FieldError.invalid(path, value, 'must be a domain-prefixed path (such as "acme.io/foo")')]
    return named(names.dns1123_subdomain, host, path) + named(names.http_path, rest, path)


_MIN_TOKEN_S, _MAX_TOKEN_S = 600, 2**32


def token_lifetime(seconds: int, path: str) -> list[FieldError]:
    """How long a service account's token may last."""
    if seconds < _MIN_TOKEN_S:
        return [FieldError.invalid(path, seconds, "may not specify a duration less than 10 minutes")]
    if seconds > _MAX_TOKEN_S:
        return [FieldError.invalid(path, seconds, "may not specify a duration larger than 2^32 seconds")]
    return []


def int_or_percent(value: IntOrString | None, path: str) -> list[FieldError]:
    """A number that is not negative, or a percentage."""
    if value is None:
        return []
    if isinstance(value, int):
        return [] if value >= 0 else [FieldError.invalid(path, value, "must be greater than or equal to 0")]
    if is_percent(value):
        return []
    return named(names.percent, value, path)


def at_most_100_percent(value: IntOrString | None, path: str) -> list[FieldError]:
    """A percentage of at most 100."""
    percent = percent_value(value) if value is not None else None
    if percent is None or percent <= 100:
        return []
    return [FieldError.invalid(path, value, "must not be greater than 100%")]


def int_or_percent_is_zero(value: IntOrString | None) -> bool:
    """Whether the value is 0 or 0%; what is neither a number nor a percentage counts as 0."""
    return value is None or value == 0 or (isinstance(value, str) and not percent_value(value))


def quantity_at_least_zero(value: str, path: str) -> list[FieldError]:
    """An amount that is not negative."""
    return [] if amount(value).sign >= 0 else [FieldError.invalid(path, value, "must be greater than or equal to 0")]


def amount(value: str) -> Quantity:
    """The amount that decoding has checked already; zero for what is no amount."""
    try:
        return Quantity.parse(str(value))
    except QuantityError:
        return Quantity(0)
