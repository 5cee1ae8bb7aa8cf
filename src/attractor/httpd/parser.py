"""From bytes to requests: HTTP/1.1 as clients send it, with no I/O.

``feed`` takes bytes as they come and appends every complete request to ``requests``, in order. Once something cannot
be accepted, ``refusal`` says what to answer after the requests before it; nothing is read from then on, because where
the next request starts is no longer known.

Refused beyond what httptools (llhttp, strict) refuses already: a request without exactly one Host, a transfer coding
other than ``chunked``, any transfer coding under HTTP/1.0, heads and bodies beyond the limits, bodies padded with
chunk extensions, and a CONNECT.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, NamedTuple

import httptools

from attractor.httpd.heads import IMPERSONATION, LINE_BREAK, Head, KnownHeads

if TYPE_CHECKING:
    from attractor.apiserver.fairness.configuration import Flow
    from attractor.apiserver.request.caller import User
    from attractor.httpd.limits import Limits


class HttpRequest:
    """One request; while its body is on its way, its head."""

    __slots__ = (
        "audit_id", "body", "flow", "head", "headers", "keep_alive", "method", "path", "query", "user", "version",
    )  # fmt: skip

    def __init__(self, method: str, target: str, head: Head, body: bytes = b"", *, version: str = "1.1") -> None:
        self.method = method
        self.path, _, self.query = target.partition("?")
        """As sent, still percent-encoded."""
        self.head = head
        self.headers = head.headers
        self.audit_id = b""
        """The id under which it is found again, once it has one (``audit.ids``)."""
        self.body = body
        self.version = version
        self.keep_alive = True
        self.flow: Flow | None = None
        """Whose it is for priority and fairness, once that is known."""
        self.user: User | None = None
        """Who sent it, once that is known: its credentials are looked at once, by its head if its body trails."""

    def header(self, name: bytes) -> str:
        """A header's value, empty when it was not sent."""
        value = self.headers.get(name)
        return value.decode("latin-1") if value is not None else ""


class Refusal(NamedTuple):
    """Why a connection's input cannot be read any further, as code and text of the answer."""

    code: int
    message: str


class RequestParser:
    """The reading half of one connection."""

    def __init__(self, limits: Limits) -> None:
        self.requests: deque[HttpRequest] = deque()
        self.refusal: Refusal | None = None
        self.is_finished = False
        """Whether the client said that no further request follows."""
        self.in_head = False
        """Between the first byte of a request and the end of its headers."""
        self.in_body = False
        """Between the end of the headers and the end of the body."""
        self.begun = 0
        """How many requests have begun so far."""
        self._limits = limits
        self._known = KnownHeads(limits)
        self._parser = httptools.HttpRequestParser(self)
        self._expects = False
        self._fed_bytes = 0
        """Of the piece that is being read."""
        self._start()

    def _start(self) -> None:
        self._target = b""
        self._headers: dict[bytes, bytes] = {}
        self._began = False
        self._unfinished_bytes = 0
        self._repeated = 0
        self._request: HttpRequest | None = None
        self._body: bytes | bytearray = b""
        self._raw_bytes = 0

    @property
    def pending(self) -> HttpRequest | None:
        """The request whose head is there and whose body is still on its way."""
        return self._request if self.in_body and self.refusal is None else None

    @property
    def expects_continue(self) -> bool:
        """Whether the client waits for ``100 Continue`` before it sends the body."""
        return self._expects and self.in_body and not self._body and self.refusal is None

    def continued(self) -> None:
        """The client was told to go on."""
        self._expects = False

    def feed(self, data: bytes) -> None:
        """Read on."""
        request = self.take(data)
        if request is not None:
            self.requests.append(request)

    def take(self, data: bytes) -> HttpRequest | None:
        """Read on. If the bytes are just one request whose head is known, it is the answer and joins no queue."""
        if self.refusal is not None or self.is_finished:
            return None
        if self.in_head or self.in_body:
            self._parse(data)
            return None
        again = self._known.recognise(data)
        if again is not None:
            self.begun += 1
            return HttpRequest(*again)
        before = self.begun
        self._parse(data)
        if self.begun == before + 1 and self._is_whole():
            last = self.requests[-1]
            self._known.learn(data, last.head, last.body)
        return None

    def _is_whole(self) -> bool:
        """Whether the request that began last was read to its end, and another one may follow."""
        return not (self.in_head or self.in_body or self.is_finished or self.refusal is not None)

    def _parse(self, data: bytes) -> None:
        self._fed_bytes = len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            # Nothing here is upgraded: the request is answered as if it had not asked, and the rest is not HTTP.
            self.is_finished = True
        except httptools.HttpParserError as error:
            if not self.is_finished:
                self._refuse(400, f"malformed HTTP request: {error}")
        if self.in_head:
            self._count_head(len(data))
        elif self.in_body:
            self._raw_bytes += len(data)
            if self._raw_bytes > 4 * self._limits.body_bytes + self._limits.head_bytes:
                self._refuse_body()

    def _count_head(self, size: int) -> None:
        """Bound an unfinished head; the piece that it began in may belong to earlier requests and is not counted."""
        if self._began:
            self._began = False
            return
        self._unfinished_bytes += size
        if self._unfinished_bytes > self._limits.head_bytes:
            self._refuse_head()

    def _head_is_too_large(self) -> bool:
        """Whether a complete head is beyond the limit; counted only where its pieces could hold so much."""
        limit = self._limits.head_bytes
        if self._unfinished_bytes + self._fed_bytes <= limit:
            return False
        return len(self._target) + sum(len(name) + len(value) for name, value in self._headers.items()) > limit

    # Callbacks of the parser. They never raise: an exception would be wrapped and lose its meaning.

    def on_message_begin(self) -> None:
        """A request starts."""
        self._start()
        self.begun += 1
        self.in_head = self._began = True

    def on_url(self, url: bytes) -> None:
        """A piece of the target."""
        self._target += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """One header, or one trailer, which is dropped."""
        if not self.in_head:
            return
        key = name.lower()
        headers = self._headers
        if key not in headers:
            headers[key] = value
            return
        self._repeated += 1
        if key == b"host":
            self._refuse(400, "malformed HTTP request: too many Host headers")
        elif self._repeated <= self._limits.headers:
            headers[key] += (LINE_BREAK if key.startswith(IMPERSONATION) else b", ") + value

    def on_headers_complete(self) -> None:
        """The head is there; the body may follow."""
        self.in_head, self.in_body = False, True
        limits, headers = self._limits, self._headers
        if len(headers) + self._repeated > limits.headers or self._head_is_too_large():
            self._refuse_head()
            return
        version = self._parser.get_http_version()
        method: bytes = self._parser.get_method()
        if method == b"CONNECT":
            self._refuse(405, "this server is not a proxy")
            return
        if b"host" not in headers and version == "1.1":
            self._refuse(400, "malformed HTTP request: missing required Host header")
            return
        coding = headers.get(b"transfer-encoding")
        if coding is not None and (coding.lower() != b"chunked" or version != "1.1"):
            self._refuse(501, "unsupported transfer encoding; use chunked, or a Content-Length")
            return
        length = headers.pop(b"content-length", None)
        if length is not None and int(length) > limits.body_bytes:
            self._refuse_body()
            return
        expected = headers.get(b"expect")
        if expected is not None and version == "1.1":
            if expected.lower() != b"100-continue":
                self._refuse(417, "the server knows no expectation but 100-continue")
                return
            self._expects = True
        self._request = HttpRequest(
            method.decode("ascii"), self._target.decode("ascii"), Head(headers), version=version
        )

    def on_body(self, data: bytes) -> None:
        """A piece of the body."""
        if self.refusal is not None:
            return
        if len(self._body) + len(data) > self._limits.body_bytes:
            self._refuse_body()
        elif not self._body:
            self._body = data
        else:
            if isinstance(self._body, bytes):
                self._body = bytearray(self._body)
            self._body += data

    def on_message_complete(self) -> None:
        """The request is whole."""
        self.in_body = False
        self._expects = False
        request = self._request
        if request is None or self.refusal is not None:
            return
        request.body = bytes(self._body)
        request.keep_alive = self._parser.should_keep_alive()
        self._body = b""
        self.requests.append(request)
        if not request.keep_alive:
            self.is_finished = True

    def _refuse(self, code: int, message: str) -> None:
        if self.refusal is None:
            self.refusal = Refusal(code, message)
            self._body = b""

    def _refuse_head(self) -> None:
        self._refuse(431, f"request header fields too large: limit is {self._limits.head_bytes} bytes")

    def _refuse_body(self) -> None:
        self._refuse(413, f"Request entity too large: limit is {self._limits.body_bytes}")
