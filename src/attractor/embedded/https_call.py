"""POST over HTTPS, to servers that an object in the cluster names: what calling webhooks needs, and no more.

Connections are kept for the next call to the same place. A kept connection may have been closed by the other side
meanwhile; a call that finds it so is made once more on a fresh one, which is safe because nothing was answered.
"""

from __future__ import annotations

import asyncio
import ssl
from functools import lru_cache
from typing import NamedTuple

import httptools

MAX_ANSWER_BYTES = 8 * 1024 * 1024
READ_BYTES = 64 * 1024
MAX_IDLE = 8


class CallError(Exception):
    """The call was not answered; the text says why, in the words of Go's HTTP client."""


class Place(NamedTuple):
    """Where to connect, which name the certificate must have, and which authorities are trusted."""

    host: str
    port: int
    server_name: str
    ca_bundle: bytes = b""


class HttpAnswer(NamedTuple):
    """What came back."""

    code: int
    body: bytes


@lru_cache(maxsize=256)
def _context(ca_bundle: bytes) -> ssl.SSLContext:
    """Trusts the bundle only, or the system's authorities when there is none.

    As in Go, a certificate in the bundle is trusted by being there, be it an authority's or the server's own.
    """
    context = ssl.create_default_context(cadata=ca_bundle.decode("ascii") if ca_bundle else None)
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return context


class _Reader:
    """Collects one response; httptools calls its ``on_`` methods."""

    def __init__(self) -> None:
        self.parser = httptools.HttpResponseParser(self)
        self.body = bytearray()
        self.is_complete = False
        self.is_kept = False
        """Whether the connection takes another request; only to be told at the very end."""

    def on_body(self, data: bytes) -> None:
        """A piece of the body."""
        self.body += data

    def on_message_complete(self) -> None:
        """That was all."""
        self.is_complete = True
        self.is_kept = self.parser.should_keep_alive()


class _Connection(NamedTuple):
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    def close(self) -> None:
        """Let go at once."""
        self.writer.transport.abort()


class HttpsCaller:
    """Makes calls and keeps connections; used from one event loop."""

    def __init__(self) -> None:
        self._idle: dict[Place, list[_Connection]] = {}

    def close(self) -> None:
        """Close what is kept."""
        for connections in self._idle.values():
            for connection in connections:
                connection.close()
        self._idle.clear()

    async def post(self, place: Place, path: str, body: bytes) -> HttpAnswer:
        """The answer to one POST; raises ``CallError``. The caller limits the time."""
        kept = self._idle.get(place)
        while kept:
            connection = kept.pop()
            try:
                return await self._exchange(connection, place, path, body)
            except _ClosedEarly:
                continue
        try:
            return await self._exchange(await _connect(place), place, path, body)
        except _ClosedEarly:
            raise CallError("EOF") from None

    async def _exchange(self, connection: _Connection, place: Place, path: str, body: bytes) -> HttpAnswer:
        is_reusable = False
        try:
            connection.writer.write(_head(place, path, len(body)) + body)
            await connection.writer.drain()
            answer, is_reusable = await _read(connection.reader)
        except (OSError, ssl.SSLError) as error:
            raise _ClosedEarly(str(error)) from error
        except httptools.HttpParserError as error:
            raise CallError(f"malformed HTTP response: {error}") from error
        finally:
            idle = self._idle.setdefault(place, [])
            if is_reusable and len(idle) < MAX_IDLE:
                idle.append(connection)
            else:
                connection.close()
        return answer


class _ClosedEarly(Exception):
    """The connection ended before a byte of the answer came."""


def _head(place: Place, path: str, size: int) -> bytes:
    host = f"[{place.server_name}]" if ":" in place.server_name else place.server_name
    return (
        f"POST {path} HTTP/1.1\r\nHost: {host}:{place.port}\r\nUser-Agent: attractor-admission\r\n"
        f"Accept: application/json, */*\r\nContent-Type: application/json\r\nContent-Length: {size}\r\n\r\n"
    ).encode("ascii")


async def _connect(place: Place) -> _Connection:
    where = f"{place.host}:{place.port}"
    try:
        context = _context(place.ca_bundle)
        streams = await asyncio.open_connection(place.host, place.port, ssl=context, server_hostname=place.server_name)
    except ssl.SSLCertVerificationError as error:
        raise CallError(f"tls: failed to verify certificate: x509: {error.verify_message}") from error
    except ssl.SSLError as error:
        raise CallError(f"tls: {error.reason or error}; see that caBundle holds PEM certificates") from error
    except ConnectionRefusedError as error:
        raise CallError(f"dial tcp {where}: connect: connection refused") from error
    except (OSError, UnicodeError) as error:
        raise CallError(f"dial tcp {where}: {error}") from error
    return _Connection(*streams)


async def _read(reader: asyncio.StreamReader) -> tuple[HttpAnswer, bool]:
    """One response, and whether the connection can take another request."""
    found = _Reader()
    size = 0
    while not found.is_complete:
        data = await reader.read(READ_BYTES)
        if not data:
            if not size:
                raise _ClosedEarly("closed")
            raise CallError("unexpected EOF")
        size += len(data)
        if size > MAX_ANSWER_BYTES:
            raise CallError(f"the answer is larger than {MAX_ANSWER_BYTES} bytes")
        found.parser.feed_data(data)
    return HttpAnswer(found.parser.get_status_code(), bytes(found.body)), found.is_kept
