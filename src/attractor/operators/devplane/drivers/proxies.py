"""``Proxies``: the outside system of the controller of Services, as its reconciles see it.

The contract: a listener belongs to one Service, by uid. ``serve`` and ``close`` may be asked for again and again, and
do nothing where nothing is to be done. Listeners end with the process that holds them, so that after a crash there is
none, and ``serve`` opens them anew.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol


class CannotListen(Exception):
    """The address cannot be had now; the text says why and what to do. Nothing was opened."""


class Place(NamedTuple):
    """An address and a port."""

    address: str
    port: int

    def __str__(self) -> str:
        return f"[{self.address}]:{self.port}" if ":" in self.address else f"{self.address}:{self.port}"


class Proxies(Protocol):
    """Listeners that hand connections on."""

    async def serve(self, uid: str, at: Place, backends: tuple[Place, ...]) -> Place:
        """See to it that a Service's listener is open and leads to these backends; answers where it listens.

        Port 0 is any port: the one that it has already, or else a free one. Raises ``CannotListen``.
        """
        ...

    async def close(self, uid: str) -> None:
        """See to it that a Service has no listener, and no connection through it."""
        ...
