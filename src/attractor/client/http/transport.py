"""``HttpTransport``: requests over a pool of connections, with credentials that may change."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

from attractor.client.configuration.config import ClientConfig, tls_context
from attractor.client.configuration.credentials import Rewritten, StaticCredentials
from attractor.client.errors import AnswerLost, ConfigError, CredentialsUnavailable, ServerUnreachable
from attractor.client.http.deadlines import Deadlines
from attractor.client.http.dial import Dialer, Endpoint
from attractor.client.http.pool import Pool
from attractor.client.http.proxies import Proxy, environment_proxy, is_loopback
from attractor.wire.blocks import inside

if TYPE_CHECKING:
    from attractor.client.configuration.credentials import ClientCertificate, Credential
    from attractor.client.http.connection import BodyStream, Connection
    from attractor.client.transport import ClientRequest, ClientResponse

TIMEOUT_S = 60.0
POOL_SIZE = 64
HEADER_NAME_SIGNS = "!#$&'*+^`|"
"""What the name of a header may have besides letters, digits and ``-._~``; anything else in it is percent-encoded."""


class HttpTransport:
    """Carries requests to a server over HTTP/1.1.

    Guarantees: a write is sent once; a read that meets a connection which the server closed while it was idle is sent
    again on a fresh one; a request that was cancelled takes its connection with it.
    """

    def __init__(self, config: ClientConfig, *, timeout_s: float = TIMEOUT_S, pool_size: int = POOL_SIZE) -> None:
        self.config = config
        self._timeout_s = timeout_s
        self._pool_size = pool_size
        parts = urlsplit(config.server)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise ConfigError(f"server {config.server!r} is no URL such as https://host:6443")
        self._host = parts.hostname
        self._is_tls = parts.scheme == "https"
        self._port = parts.port or (443 if self._is_tls else 80)
        self._proxy = (
            Proxy.parse(config.proxy_url) if config.proxy_url else environment_proxy(config.server, os.environ)
        )
        self._prefix = parts.path.rstrip("/")
        forwards = self._proxy is not None and not self._proxy.is_socks and not self._is_tls
        """Whether a proxy reads the requests, instead of passing bytes on unseen."""
        if forwards:
            self._prefix = f"http://{parts.netloc}{self._prefix}"
        self.host = parts.netloc
        """The server's host and port, as metrics name it."""
        self._fixed_headers = self._headers(parts.netloc, self._proxy.authorization if forwards and self._proxy else "")
        credentials = config.credentials
        self._lasting = credentials if isinstance(credentials, StaticCredentials | Rewritten) else None
        """Where the credential comes from, if it stays the same until it is rejected."""
        self._deadlines = Deadlines()
        self._pool: Pool | None = None
        self._pool_certificate: ClientCertificate | None = None
        self._is_closed = False
        if self._lasting is not None:
            self._pool_for(self._lasting.credential)  # certificates that cannot be used are refused now, not later

    def _headers(self, host: str, proxy_authorization: str) -> str:
        """Return the headers of every request; one with a line break would be two, and is refused."""
        config = self.config
        lines = {"Host": host, "User-Agent": config.user_agent}
        compression = config.compression if config.compression is not None else not is_loopback(self._host)
        if compression:
            lines["Accept-Encoding"] = "gzip"
        if proxy_authorization:
            lines["Proxy-Authorization"] = proxy_authorization
        pairs = list(lines.items())
        if config.impersonate is not None:
            as_whom = config.impersonate
            pairs.append(("Impersonate-User", as_whom.user))
            pairs.extend([("Impersonate-Uid", as_whom.uid)] if as_whom.uid else ())
            pairs.extend(("Impersonate-Group", group) for group in as_whom.groups)
            extra = {quote(name, safe=HEADER_NAME_SIGNS): values for name, values in as_whom.extra.items()}
            pairs.extend((f"Impersonate-Extra-{name}", value) for name, values in extra.items() for value in values)
        text = "".join(f"{name}: {value}\r\n" for name, value in pairs)
        if len(text.splitlines()) != len(pairs):
            raise ConfigError("the user agent or the impersonated user has a line break in it")
        return text

    async def send(self, request: ClientRequest) -> ClientResponse:
        """The answer; see ``Transport.send``. On a connection that is there, only the answer is waited for."""
        timeout_s = self._timeout_s if request.timeout_s is None else request.timeout_s
        if self._lasting is None:
            return await self._send_in_full(request, timeout_s)
        credential = self._lasting.credential
        pool = self._pool_for(credential)
        connection = pool.acquire_nowait()
        if connection is None:
            return await self._send_in_full(request, timeout_s)
        due_s = self._deadlines.add(connection, timeout_s)
        try:
            response = await connection.send(self._encode(request, credential))
            if response.code != 401 or not self.config.credentials.rejected(credential):
                return response
        except TimeoutError as error:
            raise AnswerLost(f"{request.method} {request.path}: no answer within {timeout_s:g} s") from error
        except AnswerLost:
            if not _is_repeatable(request, connection):
                raise
        finally:
            self._deadlines.remove(connection)
            pool.release(connection)
        return await self._send_in_full(request, due_s - self._deadlines.now_s())

    async def _send_in_full(self, request: ClientRequest, timeout_s: float) -> ClientResponse:
        """Send a request for which credentials may have to be made, or a connection."""
        used: list[Pool] = []
        try:
            return await inside(asyncio.timeout(timeout_s), lambda _: self._exchange_in_full(request, used))
        except TimeoutError as error:
            what = f"{request.method} {request.path}: no answer within {timeout_s:g} s"
            raise (AnswerLost if used else ServerUnreachable)(what) from error

    async def _exchange_in_full(self, request: ClientRequest, used: list[Pool]) -> ClientResponse:
        """Send with a credential, and again with a new one if it is refused; ``used`` tells whether it came to that."""
        credential = await self._credential()
        used.append(self._pool_for(credential))
        response = await self._exchange(used[0], request, credential)
        if response.code == 401 and self.config.credentials.rejected(credential):
            credential = await self._credential()
            response = await self._exchange(self._pool_for(credential), request, credential)
        return response

    async def open(self, request: ClientRequest) -> BodyStream:
        """The answer as a stream; see ``Transport.open``."""
        timeout_s = self._timeout_s if request.timeout_s is None else request.timeout_s
        try:
            return await inside(asyncio.timeout(timeout_s), lambda _: self._open_in_full(request))
        except TimeoutError as error:
            raise AnswerLost(f"{request.method} {request.path}: no answer within {timeout_s:g} s") from error

    async def _open_in_full(self, request: ClientRequest) -> BodyStream:
        credential = await self._credential()
        stream = await self._open(request, credential)
        if stream.code == 401 and self.config.credentials.rejected(credential):
            stream.close()
            stream = await self._open(request, await self._credential())
        return stream

    async def aclose(self) -> None:
        """Close every connection."""
        self._is_closed = True
        self._deadlines.close()
        if self._pool is not None:
            self._pool.close()

    async def _exchange(self, pool: Pool, request: ClientRequest, credential: Credential) -> ClientResponse:
        data = self._encode(request, credential)
        while True:
            connection, was_used = await pool.acquire()
            try:
                return await connection.send(data)
            except AnswerLost:
                if not (was_used and _is_repeatable(request, connection)):
                    raise
            finally:
                pool.release(connection)

    async def _open(self, request: ClientRequest, credential: Credential) -> BodyStream:
        connection = await self._pool_for(credential).acquire_for_stream()
        return await connection.open(self._encode(request, credential))

    async def _credential(self) -> Credential:
        try:
            return await self.config.credentials.current()
        except ConfigError as error:
            raise CredentialsUnavailable(str(error)) from error

    def _pool_for(self, credential: Credential) -> Pool:
        """The connections that show this credential's certificate; those of an older one finish and are closed."""
        if self._is_closed:
            raise ServerUnreachable("the client is closed")
        if self._pool is None or credential.certificate != self._pool_certificate:
            try:
                tls = tls_context(self.config, credential.certificate) if self._is_tls else None
            except ConfigError as error:
                raise CredentialsUnavailable(str(error)) from error
            if self._pool is not None:
                self._pool.retire()
            name = self.config.tls_server_name or self._host
            endpoint = Endpoint(self._host, self._port, tls, name, self._proxy)
            self._pool = Pool(Dialer(endpoint).dial, self._pool_size)
            self._pool_certificate = credential.certificate
        return self._pool

    def _encode(self, request: ClientRequest, credential: Credential) -> bytes:
        head = (
            f"{request.method} {self._prefix}{request.target} HTTP/1.1\r\n{self._fixed_headers}"
            f"Accept: {request.accept}\r\n"
        )
        if credential.authorization:
            head += f"Authorization: {credential.authorization}\r\n"
        if request.body or request.method in {"POST", "PUT", "PATCH"}:
            head += f"Content-Type: {request.content_type}\r\nContent-Length: {len(request.body)}\r\n"
        return f"{head}\r\n".encode("latin-1") + request.body


def _is_repeatable(request: ClientRequest, connection: Connection) -> bool:
    """Return whether a lost request may be sent again: the server may have closed an idle connection just then."""
    return request.is_read and not connection.got_bytes
