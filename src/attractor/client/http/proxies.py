"""Choice of the proxy for a server: the kubeconfig's, else the environment's.

The environment is read as Go's clients read it: ``HTTPS_PROXY`` for https, ``HTTP_PROXY`` for http (lower case too),
unless ``NO_PROXY`` names the host: ``*``, a domain and its subdomains (with or without a leading dot), an address, or
a network such as ``10.0.0.0/8``, each with or without a port. Loopback hosts never go through the environment's proxy.
"""

from __future__ import annotations

import base64
import ipaddress
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote, urlsplit

from attractor.client.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping


class Proxy(NamedTuple):
    """An HTTP proxy, or one that speaks SOCKS5."""

    host: str
    port: int
    is_tls: bool = False
    authorization: str = ""
    """The value of ``Proxy-Authorization``, if the address has credentials."""
    is_socks: bool = False
    login: tuple[str, str] | None = None
    """User and password for SOCKS5, if the address has them."""

    @classmethod
    def parse(cls, url: str) -> Proxy:
        """A proxy from its URL; raises ``ConfigError`` for what is no proxy."""
        parts = urlsplit(url if "://" in url else f"http://{url}")
        if parts.scheme not in {"http", "https", "socks5", "socks5h"} or not parts.hostname:
            raise ConfigError(
                f"proxy {url!r} cannot be used; give one such as http://proxy:3128 or socks5://localhost:1080"
            )
        login = None
        if parts.username is not None:
            login = unquote(parts.username), unquote(parts.password or "")
        if parts.scheme.startswith("socks5"):
            return cls(parts.hostname, parts.port or 1080, is_socks=True, login=login)
        authorization = ""
        if login is not None:
            authorization = f"Basic {base64.b64encode(':'.join(login).encode()).decode()}"
        is_tls = parts.scheme == "https"
        return cls(parts.hostname, parts.port or (443 if is_tls else 80), is_tls, authorization)


def environment_proxy(url: str, environ: Mapping[str, str]) -> Proxy | None:
    """The proxy that the environment asks for, for a server's URL."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    name = f"{parts.scheme}_proxy"
    found = environ.get(name.upper()) or environ.get(name)
    if not found or is_loopback(host):
        return None
    port = parts.port or (443 if parts.scheme == "https" else 80)
    excluded = environ.get("NO_PROXY") or environ.get("no_proxy") or ""
    return None if any(_excludes(entry.strip(), host, port) for entry in excluded.split(",")) else Proxy.parse(found)


def is_loopback(host: str) -> bool:
    """Return whether a host is this machine."""
    address = _address(host)
    return host == "localhost" or (address is not None and address.is_loopback)


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return None


def _excludes(entry: str, host: str, port: int) -> bool:
    if entry == "*":
        return True
    if not entry:
        return False
    name, colon, number = entry.rpartition(":")
    if colon and number.isdigit() and "]" not in number and _address(entry) is None:
        if int(number) != port:
            return False
        entry = name
    address = _address(host)
    if "/" in entry and address is not None:
        try:
            return address in ipaddress.ip_network(entry, strict=False)
        except ValueError:
            return False
    if _address(entry) is not None:
        return _address(entry) == address
    domain = entry.removeprefix("*").lower()
    host = host.lower()
    if domain.startswith("."):
        return host.endswith(domain)
    return host == domain or host.endswith(f".{domain}")
