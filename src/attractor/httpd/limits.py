"""``Limits``: bounds on what a client may cost, in bytes, in numbers and in seconds."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """The bounds of one listener; the defaults suit a control plane on one machine."""

    head_bytes: int = 64 * 1024
    """Request line and headers together; beyond it the answer is 431."""
    headers: int = 100
    """Number of headers; beyond it the answer is 431."""
    body_bytes: int = 3 * 1024 * 1024
    """A request's body, as Kubernetes limits it; beyond it the answer is 413."""
    json_depth: int = 200
    """How deeply a JSON body may nest; beyond it the answer is 400."""
    json_values: int = 250_000
    """How many values a JSON body may hold; beyond it the answer is 413, for each costs about 70 bytes of memory."""
    pipelined: int = 32
    """Requests read ahead of the one being answered; then the socket is not read until some are done."""
    connections: int = 10_000
    """Clients at once; further ones are told 503 and closed."""
    gzip_bytes: int = 128 * 1024
    """Answers larger than this are compressed for clients that accept it, as Kubernetes does."""
    write_buffer_bytes: int = 256 * 1024
    """What is kept for a client that reads slowly before its watch or its next answer waits."""
    head_s: float = 30.0
    """From a request's first byte to the end of its headers."""
    body_s: float = 60.0
    """From the end of the headers to the end of the body."""
    idle_s: float = 180.0
    """How long a connection may be silent between requests."""
    handling_s: float = 60.0
    """How long answering may take; then the answer is 504."""
    stall_s: float = 30.0
    """How long a client may leave a full write buffer unread before it is disconnected."""
    future_s: float = 3.0
    """How long a watch waits for a version that does not exist yet, as long as Kubernetes does for a list."""
    linger_s: float = 1.0
    """How long unread input is thrown away after a refusal, so that the client gets to read why."""


DEFAULT_LIMITS = Limits()
