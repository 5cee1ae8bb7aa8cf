"""Templates in an Executable's arguments, environment and probe URLs: where services are, as text.

    {{portForServing "web"}}      the port on which this Executable is to listen as a backend of the Service web
    {{addressForServing "web"}}   the address on which it is to listen
    {{portFor "web"}}             the port at which anybody reaches the Service web
    {{addressFor "web"}}          the address at which anybody reaches it

The name stands between double quotes, single quotes or backquotes; blanks do not matter. Whatever else stands between
double braces is no template of ours and stays as it is, for a program may have templates of its own.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias, cast

if TYPE_CHECKING:
    from collections.abc import Iterable

Function: TypeAlias = Literal["portForServing", "addressForServing", "portFor", "addressFor"]

_TEMPLATE = re.compile(
    r"\{\{\s*(?P<function>portForServing|addressForServing|portFor|addressFor)\s+"
    r"(?P<quote>[\"'`])(?P<service>[a-z0-9](?:[-a-z0-9.]*[a-z0-9])?)(?P=quote)\s*\}\}"
)


class Addresses(Protocol):
    """Addresses of services, as one Executable sees them."""

    def serving(self, service: str) -> tuple[str, int]:
        """Address and port on which this Executable serves a Service; raises ``KeyError`` when it does not serve it."""
        ...

    def reaching(self, service: str) -> tuple[str, int] | None:
        """Address and port at which a Service is reached; None while it has none."""
        ...


class Unresolved(Exception):
    """A Service has no effective address yet; what needs it waits and is tried again."""

    def __init__(self, service: str) -> None:
        super().__init__(f"waits for Service {service}, which has no address yet")
        self.service = service


class NotServed(Exception):
    """A template asks where this Executable serves a Service, and its ``serves`` does not name that Service."""

    def __init__(self, service: str, function: str) -> None:
        super().__init__(
            f'{{{{{function} "{service}"}}}} is for a Service that `serves` names, and {service} is not there; '
            f"add it to `serves`, or use {function.removesuffix('Serving')} to reach a Service of others"
        )
        self.service = service


@dataclass(frozen=True, order=True)
class Reference:
    """One template: what it asks, and about which Service."""

    function: Function
    service: str

    @property
    def is_serving(self) -> bool:
        """Return whether it is about the Executable's own end."""
        return self.function.endswith("Serving")


def references(texts: Iterable[str]) -> list[Reference]:
    """The templates of some texts, each once, in order of appearance."""
    found = (_reference(match) for text in texts for match in _TEMPLATE.finditer(text))
    return list(dict.fromkeys(found))


def expand(text: str, lookup: Addresses) -> str:
    """The text with its templates replaced, whole or not at all; raises ``Unresolved``, ``NotServed``."""
    return _TEMPLATE.sub(lambda match: _value(_reference(match), lookup), text)


def _reference(match: re.Match[str]) -> Reference:
    return Reference(cast("Function", match["function"]), match["service"])


def _value(asked: Reference, lookup: Addresses) -> str:
    place: tuple[str, int] | None
    if asked.is_serving:
        try:
            place = lookup.serving(asked.service)
        except KeyError:
            raise NotServed(asked.service, asked.function) from None
    else:
        place = lookup.reaching(asked.service)
    if place is None:
        raise Unresolved(asked.service)
    address, port = place
    return address if asked.function.startswith("address") else str(port)
