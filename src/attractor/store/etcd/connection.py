"""One connection to one etcd server: how to reach it, what to call, and what its errors mean for us."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

import grpc
import grpc.aio

from attractor.store.contract import StoreError, StoreFull, StoreUnavailable, StoreUnusable, TooLarge
from attractor.store.etcd.proto import rpc_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path
    from typing import Self

Answer = TypeVar("Answer")

_CHANNEL_OPTIONS = [
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_send_message_length", -1),
    # Notice a peer that is gone without a word. Etcd cuts off who pings more often than every 5 s.
    ("grpc.keepalive_time_ms", 10_000),
    ("grpc.keepalive_timeout_ms", 5_000),
    # Each store has its own connection, so that closing one store does not disturb another.
    ("grpc.use_local_subchannel_pool", 1),
    # Reconnecting is ours to pace.
    ("grpc.initial_reconnect_backoff_ms", 50),
    ("grpc.max_reconnect_backoff_ms", 1_000),
]


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
    password: str = ""
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


class WatchStream(Protocol):
    """The two-way stream of etcd's watch."""

    async def write(self, request: pb.WatchRequest) -> None:
        """Send one message."""
        ...

    async def read(self) -> Any:
        """Receive one message, or what is false at the end."""
        ...

    def cancel(self) -> bool:
        """End it."""
        ...


class Connection:
    """An open channel to one endpoint; an async context manager."""

    def __init__(self, endpoint: str, options: EtcdOptions) -> None:
        self.endpoint = endpoint
        self._options = options
        self._metadata: tuple[tuple[str, str], ...] = ()
        self._channel = _channel(endpoint, options)
        self._range = self._unary("KV/Range", pb.RangeRequest, pb.RangeResponse)
        self._txn = self._unary("KV/Txn", pb.TxnRequest, pb.TxnResponse)
        self._compact = self._unary("KV/Compact", pb.CompactionRequest, pb.CompactionResponse)
        self._authenticate = self._unary("Auth/Authenticate", pb.AuthenticateRequest, pb.AuthenticateResponse)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: object, error: object, trace: object) -> None:
        await self._channel.close(None)

    async def login(self) -> None:
        """Exchange user and password for a token, if there are any."""
        if self._options.user:
            request = pb.AuthenticateRequest(name=self._options.user, password=self._options.password)
            answer = await self._authenticate(request, timeout=self._options.timeout_s, metadata=())
            self._metadata = (("token", answer.token),)

    async def range(self, request: pb.RangeRequest) -> pb.RangeResponse:
        """Read keys; linearizable unless the request names a revision."""
        return await self._called(self._range, request)

    async def txn(self, request: pb.TxnRequest) -> pb.TxnResponse:
        """Compare, then write or read."""
        return await self._called(self._txn, request)

    async def compact(self, request: pb.CompactionRequest) -> pb.CompactionResponse:
        """Forget history."""
        return await self._called(self._compact, request)

    def watch(self) -> WatchStream:
        """Open a stream; nothing is watched before a create request is written."""
        method = self._channel.stream_stream(
            "/etcdserverpb.Watch/Watch",
            request_serializer=pb.WatchRequest.SerializeToString,
            response_deserializer=pb.WatchResponse.FromString,
        )
        return cast("WatchStream", method(None, metadata=self._metadata))

    async def _called(self, call: Callable[..., Awaitable[Answer]], request: object) -> Answer:
        try:
            return await call(request, timeout=self._options.timeout_s, metadata=self._metadata)
        except grpc.aio.AioRpcError as error:
            if error.code() is not grpc.StatusCode.UNAUTHENTICATED or not self._options.user:
                raise
        # Tokens expire, and a restarted server knows none. A refused call has done nothing: send it once more.
        await self.login()
        return await call(request, timeout=self._options.timeout_s, metadata=self._metadata)

    def _unary(self, path: str, request: type[Any], response: type[Any]) -> Any:
        return self._channel.unary_unary(
            f"/etcdserverpb.{path}",
            request_serializer=request.SerializeToString,
            response_deserializer=response.FromString,
        )


def _channel(endpoint: str, options: EtcdOptions) -> grpc.aio.Channel:
    if options.ca is None:
        return grpc.aio.insecure_channel(endpoint, options=_CHANNEL_OPTIONS)
    credentials = grpc.ssl_channel_credentials(_read(options.ca), _read(options.key), _read(options.cert))
    return grpc.aio.secure_channel(endpoint, credentials, options=_CHANNEL_OPTIONS)


def _read(path: Path | None) -> bytes | None:
    try:
        return None if path is None else path.read_bytes()
    except OSError as error:
        raise StoreUnusable(f"{path}: cannot be read: {error.strerror}; etcd needs it for TLS") from error


def is_compacted(error: grpc.aio.AioRpcError) -> bool:
    """Whether etcd no longer has the revision that was asked for."""
    return error.code() is grpc.StatusCode.OUT_OF_RANGE and "compacted" in (error.details() or "")


def is_refused(error: grpc.aio.AioRpcError) -> bool:
    """Whether the answer will stay the same until somebody changes a password, a role or a setting."""
    refused = {grpc.StatusCode.PERMISSION_DENIED, grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.UNIMPLEMENTED}
    details = error.details() or ""
    return error.code() in refused or (
        error.code() is grpc.StatusCode.INVALID_ARGUMENT
        and ("authentication failed" in details or "user name" in details)
    )


def translated(error: grpc.aio.AioRpcError, options: EtcdOptions) -> StoreError:
    """What an error of etcd means to the caller of a store."""
    code, details = error.code(), error.details() or ""
    if "too large" in details or "too many operations" in details or "larger than max" in details:
        return TooLarge(f"{options} takes no transaction of this size: {details}; nothing was written")
    if code is grpc.StatusCode.RESOURCE_EXHAUSTED and "space exceeded" in details:
        return StoreFull(
            f"{options} has no space left; nothing was written; compact, defragment, then disarm its alarm"
        )
    if is_refused(error):
        return StoreUnusable(
            f"{options} refuses {options.user or 'a client without a user'}: {details}; check its roles"
        )
    return StoreUnavailable(f"{options} did not answer: {details or code.name}; check that it runs and can be reached")
