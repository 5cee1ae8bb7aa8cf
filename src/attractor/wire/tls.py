"""``TlsSession``: one end of TLS, without a socket; bytes of the wire in, bytes for the wire out.

asyncio's own TLS is a transport between two protocols, which answers a request in some forty calls of Python. Who has
the socket at hand needs five: what came, what it says, what to say, what to send.
"""

from __future__ import annotations

import ssl
from typing import Any

PIECE_BYTES = 16 * 1024
"""The most that one record of TLS holds, so that a read takes a whole one and nothing is kept inside."""


class TlsSession:
    """A session from its first byte on. What the peer must be told is in ``outgoing`` after every call."""

    def __init__(self, context: ssl.SSLContext, server_name: str | None = None, *, is_server: bool = False) -> None:
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._session = context.wrap_bio(
            self._incoming, self._outgoing, server_side=is_server, server_hostname=server_name
        )
        self.is_established = False
        """Whether both sides know each other, so that data may follow."""
        self.is_ended = False
        """Whether the peer said that it sends no more."""

    def greet(self) -> None:
        """Begin, or go on with what the peer has said so far; raises ``ssl.SSLError`` where the peer is not trusted."""
        try:
            self._session.do_handshake()
        except ssl.SSLWantReadError:
            return
        self.is_established = True

    def peer_certificate(self) -> dict[str, Any] | None:
        """The certificate that the peer has proved to own; None where it showed none."""
        return self._session.getpeercert() or None

    def receive(self, data: memoryview) -> None:
        """Take in what came over the wire; ``read`` then says what it means."""
        self._incoming.write(data)

    def read(self) -> bytes:
        """The data that has come; empty when there is none yet, or will be none. Raises ``ssl.SSLError``."""
        data = b""
        while self._incoming.pending:
            try:
                more: bytes = self._session.read(PIECE_BYTES)
            except ssl.SSLWantReadError:
                break
            if not more:
                self.is_ended = True
                break
            data = data + more if data else more
        return data

    def write(self, data: bytes) -> bytes:
        """Data as it goes over the wire. The peer cannot make us wait for it: sessions are not negotiated twice."""
        taken = self._session.write(data)
        while taken < len(data):
            taken += self._session.write(data[taken:])
        return self._outgoing.read()

    def finish(self) -> None:
        """Tell the peer that nothing more will be sent."""
        if self.is_established:
            try:
                self._session.unwrap()
            except ssl.SSLError:
                return  # that it has not said so, too, is no matter

    def outgoing(self) -> bytes:
        """What the peer must be told besides data; mostly nothing."""
        return self._outgoing.read() if self._outgoing.pending else b""


class TlsInTls(TlsSession):
    """A session inside another: to a server, through a proxy that is itself reached over TLS."""

    def __init__(self, outer: TlsSession, context: ssl.SSLContext, server_name: str) -> None:
        super().__init__(context, server_name)
        self._outer = outer

    def receive(self, data: memoryview) -> None:
        """Take in what came over the wire; ``read`` then says what it means."""
        self._outer.receive(data)
        super().receive(memoryview(self._outer.read()))

    def read(self) -> bytes:
        """The data that has come; empty when there is none yet, or will be none. Raises ``ssl.SSLError``."""
        data = super().read()
        self.is_ended = self.is_ended or self._outer.is_ended
        return data

    def write(self, data: bytes) -> bytes:
        """Data as it goes over the wire."""
        return self._outer.write(super().write(data))

    def outgoing(self) -> bytes:
        """What the peers must be told besides data; mostly nothing."""
        said = super().outgoing()
        return self._outer.outgoing() + (self._outer.write(said) if said else b"")
