"""``Link``: one socket, who sits at this end of it, and what is on its way out.

A link is *open*; then *closing*, in which what was written still goes out and nothing is read; then *gone*. Over TLS
it is also *greeting* at first, in which nothing may be written; ``Party.established`` ends that.
"""

from __future__ import annotations

import socket
import ssl
from collections import deque
from typing import TYPE_CHECKING

from attractor.objects.compiling import mypyc_attr

if TYPE_CHECKING:
    from attractor.wire.poller import Poller
    from attractor.wire.tls import TlsSession

RECEIVE_BYTES = 256 * 1024
"""Received at once at most; pages of such a buffer that nothing ever filled take no memory."""
WRITE_BUFFER_BYTES = 64 * 1024


@mypyc_attr(allow_interpreted_subclasses=True)
class Party:
    """The owner of a link. It is called one thing after the other; only ``pause_writing`` is told within a write."""

    def established(self) -> None:
        """Both ends know each other; from now on something may be written."""

    def received(self, data: bytes) -> None:
        """Bytes have come."""

    def ended(self) -> bool:
        """The peer sends no more. True leaves our half open; not over TLS, where both ends close together."""
        return False

    def lost(self, error: Exception | None) -> None:
        """The connection is gone; without an error, because one of both ends closed it. Nothing follows."""

    def pause_writing(self) -> None:
        """The peer does not keep up with what is written."""

    def resume_writing(self) -> None:
        """The peer has caught up."""

    def last_words(self, error: ssl.SSLError) -> bytes:
        """What to say, unencrypted, to a peer that does not speak TLS; mostly nothing."""
        return b""


class Link:
    """One connection. ``received`` is where bytes come in; links of one thread may share it."""

    def __init__(
        self,
        poller: Poller,
        sock: socket.socket,
        received: memoryview,
        write_buffer_bytes: int = WRITE_BUFFER_BYTES,
    ) -> None:
        self.number = sock.fileno()
        self.is_closing = False
        """Whether nothing more can be written."""
        self._poller = poller
        self._socket = sock
        self._party = Party()
        self._received = received
        self._tls: TlsSession | None = None
        self._write_buffer_bytes = write_buffer_bytes
        self._unsent: deque[memoryview] = deque()
        self._unsent_bytes = 0
        self._is_full = False
        """Whether the party was told to pause."""
        self._reads = False
        """Whether the poller is asked to tell what comes in."""
        self._is_finished = False
        """Whether the peer is to be told, once all is sent, that nothing more follows."""
        self._is_gone = False

    @property
    def is_secure(self) -> bool:
        """Whether this is TLS."""
        return self._tls is not None

    def start(self, party: Party, tls: TlsSession | None = None) -> None:
        """Read for a party, over TLS if there is a session; again, to go on with another party inside what was said."""
        self._party = party
        self._tls = tls
        if self._is_gone:
            self._poller.loop.call_soon(party.lost, ConnectionResetError("the connection was lost before it began"))
            return
        self._wait(reads=not self.is_closing)
        if tls is None:
            party.established()
        else:
            self._greet(tls)

    def _greet(self, tls: TlsSession) -> None:
        """Say what is to be said next until both ends know each other; raises ``ssl.SSLError``."""
        tls.greet()
        self._send(tls.outgoing())
        if tls.is_established:
            self._party.established()

    def peer_certificate(self) -> dict[str, object] | None:
        """The certificate that the peer has proved to own, over TLS."""
        return None if self._tls is None else self._tls.peer_certificate()

    def has_input(self) -> bool:
        """Whether something has come that was not read yet; the end of the connection counts."""
        if self.is_closing:
            return True
        try:
            self._socket.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return False
        except OSError:
            return True
        return True

    # Reading.

    def pause_reading(self) -> None:
        """Leave what comes in to the system, which lets the peer feel it."""
        self._wait(reads=False)

    def resume_reading(self) -> None:
        """Take in what comes again."""
        self._wait(reads=not self.is_closing)

    def _wait(self, *, reads: bool) -> None:
        if reads != self._reads and not self._is_gone:
            self._reads = reads
            self._poller.wait(self, reads=reads, writes=bool(self._unsent))

    def on_readable(self) -> None:
        """Bytes have come, or the end; the poller calls this."""
        if not self._reads:
            return
        try:
            size: int = self._socket.recv_into(self._received)
        except (BlockingIOError, InterruptedError):
            return
        except OSError as error:
            self._lose(error)
            return
        if not size:
            self._on_end()
        elif self._tls is None:
            self._party.received(bytes(self._received[:size]))
        else:
            try:
                self._decrypt(self._tls, size)
            except ssl.SSLError as broken:
                self._distrust(self._tls, broken)

    def _decrypt(self, tls: TlsSession, size: int) -> None:
        tls.receive(self._received[:size])
        if not tls.is_established and not self._is_greeted(tls):
            return
        data = tls.read()
        self._send(tls.outgoing())
        if data:
            self._party.received(data)
        if tls.is_ended:
            self._on_end()

    def _is_greeted(self, tls: TlsSession) -> bool:
        """Go on with the greeting; whether that was all of it."""
        self._greet(tls)
        return tls.is_established and not self.is_closing

    def _on_end(self) -> None:
        """The peer sends no more."""
        if self.is_closing:
            return
        if self._party.ended() and self._tls is None:
            self.pause_reading()
        else:
            self.close()

    def _distrust(self, tls: TlsSession, error: ssl.SSLError) -> None:
        """What came is no TLS, or not from whom it should be: tell the peer, and end."""
        self._send(self._party.last_words(error) or tls.outgoing())
        self._lose(error)

    # Writing.

    def write(self, data: bytes) -> None:
        """Send; what the system does not take at once follows when it does. Nothing once the link is closing."""
        if not self.is_closing:
            self._send(data if self._tls is None else self._tls.write(data))

    def _send(self, data: bytes) -> None:
        if not data or self._is_gone:
            return
        sent = 0
        if not self._unsent:
            try:
                sent = self._socket.send(data)
            except (BlockingIOError, InterruptedError):
                pass
            except OSError as error:
                self._lose(error)
                return
            if sent == len(data):
                return
        self._unsent.append(memoryview(data)[sent:])
        self._unsent_bytes += len(data) - sent
        if len(self._unsent) == 1:
            self._poller.wait(self, reads=self._reads, writes=True)
        if self._unsent_bytes > self._write_buffer_bytes and not self._is_full:
            self._is_full = True
            self._party.pause_writing()

    def on_writable(self) -> None:
        """There is room for what could not be sent; the poller calls this."""
        unsent = self._unsent
        if not unsent:
            return
        while unsent:
            first = unsent[0]
            try:
                sent: int = self._socket.send(first)
            except (BlockingIOError, InterruptedError):
                break
            except OSError as error:
                self._lose(error)
                return
            self._unsent_bytes -= sent
            if sent < len(first):
                unsent[0] = first[sent:]
                break
            unsent.popleft()
        if not unsent:
            self._poller.wait(self, reads=self._reads, writes=False)
            if self.is_closing:
                self._go(None)
                return
            if self._is_finished:
                self._shut()
        if self._is_full and self._unsent_bytes <= self._write_buffer_bytes // 4:
            self._is_full = False
            if not self.is_closing:
                self._party.resume_writing()

    def write_eof(self) -> None:
        """Tell the peer that nothing more follows. Over TLS only ``close`` says so."""
        self._is_finished = self._tls is None
        if self._is_finished and not self._unsent and not self._is_gone:
            self._shut()

    def _shut(self) -> None:
        try:
            self._socket.shutdown(socket.SHUT_WR)
        except OSError as error:
            self._lose(error)

    # Ends.

    def close(self) -> None:
        """Send what was written, and end."""
        if self.is_closing:
            return
        if self._tls is not None and not self._tls.is_ended:
            self._tls.finish()
            self._send(self._tls.outgoing())
        self.is_closing = True
        self._wait(reads=False)
        if not self._unsent:
            self._go(None)

    def abort(self) -> None:
        """End at once."""
        self._lose(None)

    def _lose(self, error: Exception | None) -> None:
        self.is_closing = True
        self._unsent.clear()
        self._unsent_bytes = 0
        self._go(error)

    def _go(self, error: Exception | None) -> None:
        """Let go of the socket; the party hears of it when whatever it does now is done."""
        if self._is_gone:
            return
        self._is_gone = True
        self._reads = False
        self._poller.wait(self, reads=False, writes=False)
        self._socket.close()
        self._poller.loop.call_soon(self._party.lost, error)
