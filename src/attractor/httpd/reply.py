"""``Reply``: the answer to an HTTP request, and how its head becomes bytes."""

from __future__ import annotations

import gzip
from email.utils import formatdate
from functools import lru_cache
from http import HTTPStatus
from typing import TYPE_CHECKING, Protocol

import orjson

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from attractor.objects.errors import ApiError

JSON = "application/json"
TEXT = "text/plain; charset=utf-8"

_STATUS_LINES = {status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n".encode() for status in HTTPStatus}


def _status_line(code: int) -> bytes:
    """The first line of an answer; a webhook may refuse with a code that has no phrase."""
    return _STATUS_LINES.get(code) or b"HTTP/1.1 %d Refused\r\n" % code


CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
LAST_CHUNK = b"0\r\n\r\n"
GZIP_LEVEL = 1
"""The fastest: measured on 10,000 objects it takes a third of the default level's time for 15 % more bytes."""


class StreamWriter(Protocol):
    """The client's side of a streamed answer."""

    @property
    def is_paused(self) -> bool:
        """Whether the client reads so slowly that nothing more should be written now."""
        ...

    def write(self, data: bytes, framed: bytes) -> None:
        """Send a piece, given plain and as a chunk; whoever sends one piece to many clients frames it once."""
        ...

    def end(self) -> None:
        """The answer is complete; the connection is free for the next request."""
        ...


class Stream(Protocol):
    """An answer that comes in pieces."""

    def start(self, writer: StreamWriter) -> None:
        """The head is sent; pieces may be written from now on."""
        ...

    def resumed(self) -> None:
        """The writer was paused and is no longer."""
        ...

    def finish(self) -> None:
        """The server stops: end the stream in good order, now."""
        ...

    def lost(self) -> None:
        """The client is gone."""
        ...


class Reply:
    """One answer; with a ``stream`` the body comes in pieces instead."""

    __slots__ = ("body", "code", "content_type", "headers", "stream", "warnings")

    def __init__(
        self,
        code: int,
        body: bytes = b"",
        content_type: str = JSON,
        headers: Mapping[str, str] | None = None,
        warnings: tuple[str, ...] = (),
        stream: Stream | None = None,
    ) -> None:
        self.code = code
        self.body = body
        self.content_type = content_type
        self.headers = headers
        self.warnings = warnings
        self.stream = stream


def frame(data: bytes) -> bytes:
    """A piece of a chunked body."""
    return b"%x\r\n%b\r\n" % (len(data), data)


def status_reply(error: ApiError) -> Reply:
    """The Status of a refusal."""
    headers = {"Retry-After": str(error.retry_after_s)} if error.retry_after_s is not None else None
    return Reply(error.code, orjson.dumps(error.status(), option=orjson.OPT_APPEND_NEWLINE), headers=headers)


def page_not_found() -> Reply:
    """The answer for paths that lead nowhere, as Go's HTTP server words it."""
    return Reply(404, b"404 page not found\n", TEXT, {"X-Content-Type-Options": "nosniff"})


MAX_WARNINGS, MAX_WARNING, MAX_WARNING_HEADERS = 4096, 256, 64
"""How many characters of warnings are told before each is cut short, how long each is then, and in how many headers:
the first two are Kubernetes'; many clients read no more than a hundred headers."""


def told_warnings(warnings: Sequence[str]) -> list[str]:
    """The warnings that fit in an answer's head, each told once; long ones are cut short where there is much to say."""
    texts = list(dict.fromkeys(warnings))
    if sum(map(len, texts)) > MAX_WARNINGS:
        kept: list[str] = []
        written = 0
        for text in texts:
            if written >= MAX_WARNINGS:
                break
            kept.append(text[:MAX_WARNING])
            written += len(kept[-1])
        texts = kept
    return texts[:MAX_WARNING_HEADERS]


def warning_header(text: str) -> str:
    """A warning as ``Warning: 299 - "text"``; what would break the header is left out, as in Kubernetes."""
    clean = "".join(c for c in text if c.isprintable())
    escaped = clean.replace("\\", "\\\\").replace('"', '\\"')
    return f'299 - "{escaped}"'


class Clock:
    """The Date header, formatted once a second."""

    def __init__(self) -> None:
        self._second = -1
        self._line = b""

    def line(self, now: float) -> bytes:
        """The header line for a time."""
        second = int(now)
        if second != self._second:
            self._second = second
            self._line = f"Date: {formatdate(second, usegmt=True)}\r\n".encode()
        return self._line


def compressed(reply: Reply, accepts: bytes | None) -> Reply:
    """The reply, gzipped if the client takes it and it is not yet."""
    if accepts is None or not accepts_gzip(accepts) or (reply.headers and "Content-Encoding" in reply.headers):
        return reply
    headers = {**(reply.headers or {}), "Content-Encoding": "gzip", "Vary": "Accept-Encoding"}
    body = gzip.compress(reply.body, compresslevel=GZIP_LEVEL, mtime=0)
    return Reply(reply.code, body, reply.content_type, headers, reply.warnings)


def accepts_gzip(accepts: bytes) -> bool:
    """Whether an Accept-Encoding header allows gzip."""
    for item in accepts.lower().split(b","):
        name, _, parameters = item.partition(b";")
        if name.strip() in {b"gzip", b"*"}:
            return parameters.replace(b" ", b"") not in {b"q=0", b"q=0.0", b"q=0.00", b"q=0.000"}
    return False


@lru_cache(maxsize=256)
def _first_lines(code: int, content_type: str, says_caching: bool) -> bytes:
    """What most answers of a code and a type have in common."""
    caching = b"" if says_caching else b"Cache-Control: no-cache, private\r\n"
    return b"%b%bContent-Type: %b\r\n" % (_status_line(code), caching, content_type.encode("latin-1"))


def encode_head(
    reply: Reply, *, audit_id: bytes, date: bytes, keep_alive: bool, version: str, more: bytes = b""
) -> bytes:
    """The status line and the headers, up to and including the empty line; ``more`` are whole lines of headers."""
    headers = reply.headers
    first = _first_lines(reply.code, reply.content_type, bool(headers and "Cache-Control" in headers))
    if not headers and not reply.warnings and reply.stream is None and keep_alive and version == "1.1":
        return b"%bAudit-Id: %b\r\n%b%bContent-Length: %d\r\n\r\n" % (first, audit_id, date, more, len(reply.body))
    lines = [first, b"Audit-Id: %b\r\n" % audit_id, date, more]
    if headers:
        lines.extend(f"{name}: {value}\r\n".encode("latin-1") for name, value in headers.items())
    if reply.warnings:
        lines.extend(f"Warning: {warning_header(text)}\r\n".encode() for text in told_warnings(reply.warnings))
    if reply.stream is None:
        lines.append(b"Content-Length: %d\r\n" % len(reply.body))
    elif version == "1.1":
        lines.append(b"Transfer-Encoding: chunked\r\n")
    if not keep_alive:
        lines.append(b"Connection: close\r\n")
    elif version == "1.0":
        lines.append(b"Connection: keep-alive\r\n")
    lines.append(b"\r\n")
    return b"".join(lines)
