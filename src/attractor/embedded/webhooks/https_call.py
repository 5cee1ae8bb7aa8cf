"""POST over HTTPS, to servers that an object in the cluster names: the client's connections, for calling webhooks.

Connections are kept for the next call to the same place. A kept connection may have been closed by the other side
meanwhile; a call that finds it so is made once more on a fresh one, which is safe because nothing was answered.
"""

from __future__ import annotations

import ssl
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from attractor.client.errors import AnswerLost, GarbledAnswer, ServerUnreachable
from attractor.client.http.dial import Dialer, Endpoint
from attractor.client.http.pool import Pool

if TYPE_CHECKING:
    from attractor.client.http.connection import Connection
    from attractor.client.transport import ClientResponse

MAX_ANSWER_BYTES = 8 * 1024 * 1024
MAX_CONNECTIONS = 256
"""To one place."""


class CallError(Exception):
    """The call was not answered; the text says why, in the words of Go's HTTP client."""


class Place(NamedTuple):
    """Where to connect, which name the certificate must have, and which authorities are trusted."""

    host: str
    port: int
    server_name: str
    ca_bundle: bytes = b""


@lru_cache(maxsize=256)
def _context(ca_bundle: bytes) -> ssl.SSLContext:
    """Trusts the bundle only, or the system's authorities when there is none.

    As in Go, a certificate in the bundle is trusted by being there, be it an authority's or the server's own.
    """
    context = ssl.create_default_context(cadata=ca_bundle.decode("ascii") if ca_bundle else None)
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return context


class HttpsCaller:
    """Makes calls and keeps connections; used from one event loop."""

    def __init__(self) -> None:
        self._pools: dict[Place, Pool] = {}

    def close(self) -> None:
        """Close what is kept."""
        for pool in self._pools.values():
            pool.close()
        self._pools.clear()

    async def post(self, place: Place, path: str, body: bytes) -> ClientResponse:
        """The answer to one POST; raises ``CallError``. The caller limits the time."""
        data = _head(place, path, len(body)) + body
        while True:
            pool, connection, was_used = await self._acquire(place)
            try:
                return await connection.send(data, max_body_bytes=MAX_ANSWER_BYTES)
            except AnswerLost:
                if connection.got_bytes or not was_used:
                    raise CallError("unexpected EOF" if connection.got_bytes else "EOF") from None
            except GarbledAnswer as error:
                raise CallError(f"malformed HTTP response: {error}") from error
            finally:
                pool.release(connection)

    async def _acquire(self, place: Place) -> tuple[Pool, Connection, bool]:
        where = f"{place.host}:{place.port}"
        try:
            pool = self._pools.get(place)
            if pool is None:
                endpoint = Endpoint(place.host, place.port, _context(place.ca_bundle), place.server_name)
                pool = self._pools[place] = Pool(Dialer(endpoint).dial, MAX_CONNECTIONS)
            return pool, *await pool.acquire()
        except (ServerUnreachable, ssl.SSLError, UnicodeError) as error:
            match error.__cause__ or error:
                case ssl.SSLCertVerificationError(verify_message=why):
                    text = f"tls: failed to verify certificate: x509: {why}"
                case ssl.SSLError(reason=why) as cause:
                    text = f"tls: {why or cause}; see that caBundle holds PEM certificates"
                case ConnectionRefusedError():
                    text = f"dial tcp {where}: connect: connection refused"
                case TimeoutError():
                    text = f"dial tcp {where}: i/o timeout"
                case cause:
                    text = f"dial tcp {where}: {cause}"
            raise CallError(text) from error


def _head(place: Place, path: str, size: int) -> bytes:
    host = f"[{place.server_name}]" if ":" in place.server_name else place.server_name
    return (
        f"POST {path} HTTP/1.1\r\nHost: {host}:{place.port}\r\nUser-Agent: attractor-admission\r\n"
        f"Accept: application/json, */*\r\nContent-Type: application/json\r\nContent-Length: {size}\r\n\r\n"
    ).encode("ascii")
