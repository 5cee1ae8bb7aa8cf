"""The URL, IP, CIDR and named-format libraries of Kubernetes' CEL."""

from __future__ import annotations

import ipaddress
import re
import urllib.parse
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from attractor.cel.library import function, traversal, twice, up
from attractor.cel.values import NONE, CelError, Optional
from attractor.schema.formats import FORMATS, is_cidr, is_uri, parse_ip

if TYPE_CHECKING:
    from collections.abc import Callable

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Interface | ipaddress.IPv6Interface


@dataclass(frozen=True, slots=True)
class Url:
    """A parsed URL."""

    cel_type: ClassVar[str] = "kubernetes.URL"
    parts: urllib.parse.SplitResult


@dataclass(frozen=True, slots=True)
class Ip:
    """An IP address."""

    cel_type: ClassVar[str] = "net.IP"
    address: Address


@dataclass(frozen=True, slots=True)
class Cidr:
    """An address with a prefix length."""

    cel_type: ClassVar[str] = "net.CIDR"
    interface: Network


@dataclass(frozen=True, slots=True)
class NamedFormat:
    """A check with a name."""

    cel_type: ClassVar[str] = "kubernetes.NamedFormat"
    name: str


def read_url(text: str) -> Url:
    """A URL with a scheme and a host, or an absolute path."""
    if not is_uri(text):
        raise CelError(f'URL parse error during conversion from string: parse "{text}": invalid URI for request')
    try:
        parts = urllib.parse.urlsplit(text)
        _ = parts.port
    except ValueError as error:
        raise CelError(f"URL parse error during conversion from string: {error}") from None
    return Url(parts)


@function("url(string): kubernetes.URL", cost=traversal)
def _url(text: str) -> Url:
    return read_url(text)


@function("isURL(string): bool", cost=traversal)
def _is_url(text: str) -> bool:
    try:
        read_url(text)
    except CelError:
        return False
    return True


def _host(url: Url) -> str:
    return url.parts.netloc.rpartition("@")[2]


def _hostname(url: Url) -> str:
    host = _host(url)
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0]


def _query(url: Url) -> dict[str, list[str]]:
    return urllib.parse.parse_qs(url.parts.query, keep_blank_values=True)


def _port(url: Url) -> str:
    return str(url.parts.port) if url.parts.port is not None else ""


function("kubernetes.URL.getScheme(): string")(lambda url: url.parts.scheme)
function("kubernetes.URL.getHost(): string")(_host)
function("kubernetes.URL.getHostname(): string")(_hostname)
function("kubernetes.URL.getPort(): string")(_port)
function("kubernetes.URL.getEscapedPath(): string")(
    lambda url: urllib.parse.quote(url.parts.path, safe="/%:@!$&'()*+,;=~")
)
function("kubernetes.URL.getQuery(): map<string, list<string>>")(_query)


def read_ip(text: str) -> Ip:
    """An address, without zone and not an IPv4 address in IPv6 clothes."""
    address = parse_ip(text)
    if address is None:
        raise CelError(
            f'IP Address "{text}" parse error during conversion from string: ParseAddr("{text}"): unable to parse IP'
        )
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        raise CelError(f'IPv4-mapped IPv6 address "{text}" is not allowed')
    return Ip(address)


def read_cidr(text: str) -> Cidr:
    """An address and a prefix length."""
    if not is_cidr(text) or re.search(r"/0\d", text):
        raise CelError(
            f"network address parse error during conversion from string: netip.ParsePrefix(\"{text}\"): no '/'"
        )
    return Cidr(ipaddress.ip_interface(text))


def _succeeds(read: Callable[[str], Any]) -> Callable[[str], bool]:
    def check(text: str) -> bool:
        try:
            read(text)
        except CelError:
            return False
        return True

    return check


def _is_canonical(text: str) -> bool:
    return str(read_ip(text).address) == text


def _is_global_unicast(ip: Ip) -> bool:
    address = ip.address
    broadcast = int(address) == 2**32 - 1 and address.version == 4
    special = address.is_unspecified or address.is_loopback or address.is_multicast or address.is_link_local
    return not (special or broadcast)


def _is_link_local_multicast(ip: Ip) -> bool:
    network = ipaddress.ip_network("224.0.0.0/24" if ip.address.version == 4 else "ff02::/16")
    return ip.address in network


function("ip(string): net.IP", cost=traversal)(read_ip)
function("isIP(string): bool", cost=traversal)(_succeeds(read_ip))
function("::ip.isCanonical(string): bool", cost=twice)(_is_canonical)
function("net.IP.family(): int")(lambda ip: ip.address.version)
function("net.IP.isUnspecified(): bool")(lambda ip: ip.address.is_unspecified)
function("net.IP.isLoopback(): bool")(lambda ip: ip.address.is_loopback)
function("net.IP.isLinkLocalMulticast(): bool")(_is_link_local_multicast)
function("net.IP.isLinkLocalUnicast(): bool")(lambda ip: ip.address.is_link_local)
function("net.IP.isGlobalUnicast(): bool")(_is_global_unicast)
function("string(net.IP): string")(lambda ip: str(ip.address))
function("cidr(string): net.CIDR", cost=traversal)(read_cidr)
function("isCIDR(string): bool", cost=traversal)(_succeeds(read_cidr))
function("net.CIDR.ip(): net.IP")(lambda cidr: Ip(cidr.interface.ip))
function("net.CIDR.masked(): net.CIDR")(lambda cidr: Cidr(ipaddress.ip_interface(str(cidr.interface.network))))
function("net.CIDR.prefixLength(): int")(lambda cidr: cidr.interface.network.prefixlen)
function("string(net.CIDR): string")(lambda cidr: str(cidr.interface))


def _contains_ip(cidr: Cidr, ip: Any) -> bool:
    address = (read_ip(ip) if isinstance(ip, str) else ip).address
    return address.version == cidr.interface.version and address in cidr.interface.network


def _contains_cidr(cidr: Cidr, other: Any) -> bool:
    inner = (read_cidr(other) if isinstance(other, str) else other).interface.network
    outer: Any = cidr.interface.network
    return inner.version == outer.version and inner.subnet_of(outer)


def _address_cost(_: float, other: float) -> float:
    return 4 + up(other * 0.1)


function("net.CIDR.containsIP(net.IP): bool", "net.CIDR.containsIP(string): bool", cost=_address_cost)(_contains_ip)
function("net.CIDR.containsCIDR(net.CIDR): bool", "net.CIDR.containsCIDR(string): bool", cost=_address_cost)(
    _contains_cidr
)

_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_QUALIFIED = re.compile(r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])")
_LABEL_MESSAGE = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"  # noqa: E501
_SUBDOMAIN_MESSAGE = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"  # noqa: E501
_LABEL_1035_MESSAGE = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"  # noqa: E501
_VALUE_MESSAGE = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"  # noqa: E501
_NAME_MESSAGE = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"  # noqa: E501


def _problems(text: str, longest: int, good: bool, message: str) -> list[str]:
    found = [] if good else [message]
    return [f"must be no more than {longest} bytes", *found] if len(text) > longest else found


def _label(text: str) -> list[str]:
    return _problems(text, 63, bool(_LABEL.fullmatch(text)), _LABEL_MESSAGE)


def _subdomain(text: str) -> list[str]:
    return _problems(text, 253, all(_LABEL.fullmatch(part) for part in text.split(".")), _SUBDOMAIN_MESSAGE)


def _label_1035(text: str) -> list[str]:
    return _problems(text, 63, bool(_LABEL.fullmatch(text)) and text[:1].isalpha(), _LABEL_1035_MESSAGE)


def _qualified_name(text: str) -> list[str]:
    prefix, slash, name = text.rpartition("/")
    found = [f"prefix part {problem}" for problem in _subdomain(prefix)] if slash else []
    return found + _problems(name, 63, bool(_QUALIFIED.fullmatch(name)), _NAME_MESSAGE)


def _label_value(text: str) -> list[str]:
    return _problems(text, 63, not text or bool(_QUALIFIED.fullmatch(text)), _VALUE_MESSAGE)


def _as_format(name: str) -> Callable[[str], list[str]]:
    return lambda text: [] if FORMATS[name](text) else [f"invalid {name}"]


def _prefix(check: Callable[[str], list[str]]) -> Callable[[str], list[str]]:
    return lambda text: check(f"{text[:-1]}a" if text.endswith("-") else text)


_NAMED: dict[str, Callable[[str], list[str]]] = {
    "dns1123Label": _label,
    "dns1123Subdomain": _subdomain,
    "dns1035Label": _label_1035,
    "dns1123LabelPrefix": _prefix(_label),
    "dns1123SubdomainPrefix": _prefix(_subdomain),
    "dns1035LabelPrefix": _prefix(_label_1035),
    "qualifiedName": _qualified_name,
    "labelValue": _label_value,
    "uri": lambda text: [] if is_uri(text) else ["invalid URI"],
    "uuid": lambda text: [] if FORMATS["uuid"](text) else ["does not match the UUID format"],
    "byte": lambda text: [] if FORMATS["byte"](text) else ["invalid base64"],
    "date": lambda text: [] if FORMATS["date"](text) else ["invalid date"],
    "datetime": lambda text: [] if FORMATS["datetime"](text) else ["invalid datetime"],
}


def _register_formats() -> None:
    for name in _NAMED:
        function(f"::format.{name}(): kubernetes.NamedFormat")(lambda name=name: NamedFormat(name))


_register_formats()


@function("::format.named(string): optional<kubernetes.NamedFormat>")
def _named(name: str) -> Optional:
    return Optional(True, NamedFormat(name)) if name in _NAMED else NONE


@function("kubernetes.NamedFormat.validate(string): optional<list<string>>", cost=lambda _, size: up(size * 0.1) * 2)
def _validate(named: NamedFormat, text: str) -> Optional:
    problems = _NAMED[named.name](text)
    return Optional(True, problems) if problems else NONE
