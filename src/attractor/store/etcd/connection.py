"""One connection to one etcd server: how to reach it, what to call, and what its errors mean for us."""

from __future__ import annotations

import ssl
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from attractor.store.contract import StoreError, StoreFull, StoreUnavailable, StoreUnusable, TooLarge
from attractor.store.etcd.channel import CallFailed, Channel, Code
from attractor.store.etcd.proto import rpc_pb2 as pb

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Self

    from attractor.store.etcd.channel import Stream, Then


@dataclass(frozen=True, kw_only=True)
class EtcdOptions:
    """Where etcd is, and who we are there."""

    endpoints: tuple[str, ...]
    """``HOST:PORT`` of each member; one is used, the others are for when it fails."""
    prefix: str = "/attractor/"
    """Goes before every key. Stores with different prefixes share an etcd without seeing each other."""
    ca: Path | None = None
    """Certificate of the authority that signed the servers'; turns TLS on."""
    cert: Path | None = None
    key: Path | None = None
    """Certificate and private key of this client; both or none."""
    user: str = ""
    password: str = field(default="", repr=False)
    timeout_s: float = 5.0
    """How long a call may take, waiting for the connection included."""

    def __post_init__(self) -> None:
        if not self.endpoints or not all(self.endpoints):
            raise ValueError("etcd needs at least one endpoint HOST:PORT")
        if not self.prefix:
            raise ValueError("etcd needs a prefix: without one, the keys of others would be taken for ours")
        if (self.cert is None) != (self.key is None):
            raise ValueError("a client certificate and its private key go together: give both `cert` and `key`")
        if self.cert is not None and self.ca is None:
            raise ValueError("a client certificate needs TLS: give `ca`, the certificate of the authority, too")
        if bool(self.user) != bool(self.password):
            raise ValueError("give both a user and a password, or neither")

    def __str__(self) -> str:
        return f"etcd at {', '.join(self.endpoints)}"


class Watching:
    """The two-way stream of etcd's watch."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream

    def write(self, request: pb.WatchRequest) -> None:
        """Send one message."""
        self._stream.write(request.SerializeToString())

    async def read(self) -> list[pb.WatchResponse]:
        """Receive all messages that have come; none at the end."""
        return [pb.WatchResponse.FromString(message) for message in await self._stream.read()]

    def cancel(self) -> None:
        """End it."""
        self._stream.cancel()


class Connection:
    """An open channel to one endpoint; an async context manager."""

    def __init__(self, endpoint: str, options: EtcdOptions) -> None:
        self.endpoint = endpoint
        self._options = options
        self._metadata: tuple[tuple[str, str], ...] = ()
        self._headers: dict[tuple[str, tuple[tuple[str, str], ...]], bytes] = {}
        """Header blocks, for each call and metadata."""

    async def __aenter__(self) -> Self:
        context = _context(self._options)
        self._channel = await Channel.open(self.endpoint, context, self._options.timeout_s)
        return self

    async def __aexit__(self, kind: object, error: object, trace: object) -> None:
        await self._channel.aclose()

    async def login(self) -> None:
        """Exchange user and password for a token, if there are any."""
        if self._options.user:
            request = pb.AuthenticateRequest(name=self._options.user, password=self._options.password)
            self._metadata = ()
            self._headers.clear()
            message = await self._send("Auth/Authenticate", request.SerializeToString())
            self._metadata = (("token", pb.AuthenticateResponse.FromString(message).token),)

    async def range(self, request: pb.RangeRequest) -> pb.RangeResponse:
        """Read keys; linearizable unless the request names a revision."""
        return pb.RangeResponse.FromString(await self._called("KV/Range", request.SerializeToString()))

    async def txn(self, request: bytes) -> pb.TxnResponse:
        """Compare, then write or read; the request as ``Layout.transaction`` has made it."""
        return pb.TxnResponse.FromString(await self._called("KV/Txn", request))

    def post_txn(self, request: bytes, then: Then) -> None:
        """The same without a second attempt for whose token has expired; ``then`` gets the answer as bytes."""
        timeout_s = self._options.timeout_s
        self._channel.post(self._block("KV/Txn", timeout_s), request, timeout_s, then)

    async def compact(self, request: pb.CompactionRequest) -> pb.CompactionResponse:
        """Forget history."""
        return pb.CompactionResponse.FromString(await self._called("KV/Compact", request.SerializeToString()))

    def watch(self) -> Watching:
        """Open a stream; nothing is watched before a create request is written."""
        return Watching(self._channel.stream(self._block("Watch/Watch", None)))

    async def _called(self, path: str, message: bytes) -> bytes:
        try:
            return await self._send(path, message)
        except CallFailed as error:
            if error.code is not Code.UNAUTHENTICATED or not self._options.user:
                raise
        # Tokens expire, and a restarted server knows none. A refused call has done nothing: send it once more.
        await self.login()
        return await self._send(path, message)

    async def _send(self, path: str, message: bytes) -> bytes:
        return await self._channel.call(self._block(path, self._options.timeout_s), message, self._options.timeout_s)

    def _block(self, path: str, timeout_s: float | None) -> bytes:
        known = self._headers.get((path, self._metadata))
        if known is None:
            known = self._channel.headers(f"/etcdserverpb.{path}", self._metadata, timeout_s)
            self._headers[path, self._metadata] = known
        return known


def _context(options: EtcdOptions) -> ssl.SSLContext | None:
    """How to talk TLS, if at all."""
    if options.ca is None:
        return None
    for path in (options.ca, options.cert, options.key):
        if path is not None:
            _check_readable(path)
    try:
        context = ssl.create_default_context(cafile=options.ca)
        if options.cert is not None:
            context.load_cert_chain(options.cert, options.key)
    except ssl.SSLError as error:
        raise StoreUnusable(f"the certificates for {options} are of no use: {error}") from error
    context.set_alpn_protocols(["h2"])
    return context


def _check_readable(path: Path) -> None:
    try:
        path.read_bytes()
    except OSError as error:
        raise StoreUnusable(f"{path}: cannot be read: {error.strerror}; etcd needs it for TLS") from error


def is_compacted(error: CallFailed) -> bool:
    """Whether etcd no longer has the revision that was asked for."""
    return error.code is Code.OUT_OF_RANGE and "compacted" in error.details


def is_refused(error: CallFailed) -> bool:
    """Whether the answer will stay the same until somebody changes a password, a role or a setting."""
    refused = {Code.PERMISSION_DENIED, Code.UNAUTHENTICATED, Code.UNIMPLEMENTED}
    details = error.details
    return error.code in refused or (
        error.code is Code.INVALID_ARGUMENT and ("authentication failed" in details or "user name" in details)
    )


def translated(error: CallFailed, options: EtcdOptions) -> StoreError:
    """The store error that an error of etcd means."""
    code, details = error.code, error.details
    if "too large" in details or "too many operations" in details or "larger than max" in details:
        return TooLarge(f"{options} takes no transaction of this size: {details}; nothing was written")
    if code is Code.RESOURCE_EXHAUSTED and "space exceeded" in details:
        return StoreFull(
            f"{options} has no space left; nothing was written; compact, defragment, then disarm its alarm"
        )
    if is_refused(error):
        return StoreUnusable(
            f"{options} refuses {options.user or 'a client without a user'}: {details}; check its roles"
        )
    return StoreUnavailable(f"{options} did not answer: {details or code.name}; check that it runs and can be reached")
