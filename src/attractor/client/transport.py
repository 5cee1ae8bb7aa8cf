"""``Transport``: the one seam between the client and the world.

Everything a client does becomes a ``ClientRequest``; what comes back is a ``ClientResponse`` or, for a watch, a
``ByteStream``. Sockets, the embedded server, fault injection and request logs are transports, and a client cannot tell
them apart.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Protocol
from urllib.parse import quote

import msgspec

if TYPE_CHECKING:
    from collections.abc import Mapping

JSON = "application/json"


@lru_cache(maxsize=256)
def _encoded(query: tuple[tuple[str, str], ...]) -> str:
    """A query as it stands in a request line; a client asks with the same options again and again."""
    return "&".join(f"{name}={quote(value, safe='')}" for name, value in query)


class ClientRequest(msgspec.Struct, frozen=True):
    """An HTTP request of the client, without credentials: those are the transport's."""

    method: str
    path: str
    """Percent-encoded."""
    query: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    content_type: str = JSON
    accept: str = JSON
    timeout_s: float | None = None
    """How long to wait for the whole answer, or for the head of a stream; None means as long as the transport does."""

    @property
    def target(self) -> str:
        """Path and query, as in a request line."""
        return f"{self.path}?{_encoded(self.query)}" if self.query else self.path

    @property
    def is_read(self) -> bool:
        """Return whether asking twice is as good as asking once."""
        return self.method in {"GET", "HEAD"}


class ClientResponse(msgspec.Struct, frozen=True):
    """The server's answer; ``headers`` are by lower-case name."""

    code: int
    body: bytes = b""
    headers: Mapping[str, str] = msgspec.field(default_factory=dict)


class ByteStream(Protocol):
    """An answer that goes on."""

    @property
    def code(self) -> int:
        """The status code of the head."""
        ...

    async def receive(self) -> bytes:
        """The next bytes; empty once the server has ended the answer in good order.

        Raises ``AnswerLost`` when the connection breaks, ``GarbledAnswer`` when what comes is not HTTP.
        """
        ...

    def close(self) -> None:
        """Stop listening; safe to call at any time and more than once."""
        ...


class Transport(Protocol):
    """Carries requests to a server."""

    async def send(self, request: ClientRequest) -> ClientResponse:
        """The answer, whatever its code.

        Raises ``ServerUnreachable`` when nothing was sent, ``AnswerLost`` when the request may have been carried out,
        ``GarbledAnswer`` when the answer cannot be understood.
        """
        ...

    async def open(self, request: ClientRequest) -> ByteStream:
        """The answer as a stream, once its head is there; raises as ``send`` does."""
        ...

    async def aclose(self) -> None:
        """Give up what is held; requests under way fail with ``AnswerLost``."""
        ...
