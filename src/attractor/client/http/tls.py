"""``TlsSession``: one client's TLS, without a socket; bytes of the wire in, bytes for the wire out.

asyncio's own TLS is a transport between two protocols, which answers a request in some forty calls of Python. A client
that has one request under way at a time needs five: what came, what it says, what to say, what to send.
"""

from __future__ import annotations

import ssl

PIECE_BYTES = 16 * 1024
"""The most that one record of TLS holds."""


class TlsSession:
    """A session from its first byte on. What the peer must be told is in ``outgoing`` after every call."""

    def __init__(self, context: ssl.SSLContext, server_name: str) -> None:
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._session = context.wrap_bio(self._incoming, self._outgoing, server_hostname=server_name)
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

    def receive(self, data: memoryview) -> None:
        """Take in what came over the wire; ``read`` then says what it means."""
        self._incoming.write(data)

    def read(self) -> bytes:
        """The next piece of data; empty when there is none yet, or will be none. Raises ``ssl.SSLError``."""
        if not self._incoming.pending and not self._session.pending():
            return b""
        try:
            data: bytes = self._session.read(PIECE_BYTES)
        except ssl.SSLWantReadError:
            return b""
        self.is_ended = not data
        return data

    def write(self, data: bytes) -> bytes:
        """Data as it goes over the wire. The peer cannot make us wait for it: sessions are not negotiated twice."""
        self._session.write(data)
        return self._outgoing.read()

    def outgoing(self) -> bytes:
        """What the peer must be told besides data; mostly nothing."""
        return self._outgoing.read() if self._outgoing.pending else b""
