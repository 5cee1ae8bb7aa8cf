"""Request heads, and a cache of those that a client repeats.

A client sends the same headers with each of its requests; only the first line, the length of the body and the body
differ. So a connection remembers the heads that it has read, and a request that arrives whole and repeats one of them
is put together without the HTTP parser::

    POST /api/v1/namespaces/default/configmaps HTTP/1.1    the first line: of the plainest form, or the parser reads it
    Host: cluster                                          }
    Content-Length: 1043                                   } the block: known, but for this number
    Authorization: Bearer …                                }

Guarantees: only what the parser has accepted is remembered, and only blocks whose meaning depends on nothing but their
bytes: no transfer coding, no expectation, no upgrade, no end of the connection. Whatever is not recognised goes to the
parser, so that a client cannot tell the difference. Heads belong to one connection: no client's bytes are compared with
another client's, and they are forgotten when it goes.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from attractor.httpd.limits import Limits

MAX_HEADS = 8
"""A client with more kinds of requests than this is read by the parser alone."""
MAX_BLOCK_BYTES = 4096
MAX_DIGITS = 9
"""Of a body's length."""

IMPERSONATION, LINE_BREAK = b"impersonate-", b"\n"
_LINE = re.compile(rb"(GET|POST|PUT|PATCH|DELETE) (/[A-Za-z0-9/._~?=&%,:+-]*) HTTP/1\.1\r\n")
_LENGTH = b"\r\nContent-Length: "
_NEEDS_THE_PARSER = frozenset({b"transfer-encoding", b"expect", b"upgrade", b"trailer", b"te", b"proxy-connection"})
_JSON_TYPES = frozenset(
    {
        "application/json",
        "application/json-patch+json",
        "application/merge-patch+json",
        "application/strategic-merge-patch+json",
    }
)
_METHODS = {method.encode(): method for method in ("GET", "POST", "PUT", "PATCH", "DELETE")}


class Head:
    """The headers of a request, and what follows from them alone; shared by the requests that repeat them."""

    __slots__ = ("content_type", "headers", "is_impersonating", "is_json", "is_plain", "token_digest", "user_agent")

    def __init__(self, headers: Mapping[bytes, bytes]) -> None:
        self.headers = headers
        """By lower-case name; what came twice is joined with a comma, in headers of impersonation with a line break,
        which no value has: there a comma is part of a name. Content-Length is the body's own."""
        self.content_type = headers.get(b"content-type", b"").decode("latin-1")
        self.is_json = self.content_type in _JSON_TYPES
        """Whether a body is told to be JSON in one of the plainest ways, so that it is no YAML and no protobuf."""
        self.user_agent = headers.get(b"user-agent", b"").decode("latin-1")
        self.is_impersonating = any(name.startswith(IMPERSONATION) for name in headers)
        """Whether the request is to be carried out as somebody else."""
        self.is_plain = False
        """Whether it is known to ask for JSON as it is, unless the query says otherwise (``presentation``)."""
        self.token_digest: bytes | None = None
        """Of the bearer token, once it was needed; whose token that is, is asked anew for each request."""


class KnownHeads:
    """The heads that one connection has read."""

    def __init__(self, limits: Limits) -> None:
        self._heads: dict[bytes, Head] = {}
        self._limits = limits
        self._last: tuple[bytes, bytes, Head] | None = None
        """The last head with a body: its block up to the length's digits, its block from there on, and what it says."""

    def recognise(self, data: bytes) -> tuple[str, str, Head, bytes] | None:
        """Method, target, head and body of a request, if the bytes are exactly one and its head is known."""
        if not self._heads:
            return None
        line = _LINE.match(data)
        if line is None:
            return None
        start = line.end() - 2
        found = (self._repeated(data, start) if self._last is not None else None) or self._known(data, start)
        if found is None:
            return None
        head, body_at = found
        if body_at > self._limits.head_bytes or len(data) - body_at > self._limits.body_bytes:
            return None  # the parser says so
        return _METHODS[line[1]], line[2].decode("ascii"), head, data[body_at:]

    def _repeated(self, data: bytes, start: int) -> tuple[Head, int] | None:
        """The last head with a body, if this is that very one, and where the body starts; nothing is cut for it."""
        assert self._last is not None
        before, after, head = self._last
        if not data.startswith(before, start):
            return None
        digits = start + len(before)
        stop = data.find(after, digits, digits + MAX_DIGITS + len(after))
        text = data[digits:stop]
        body_at = stop + len(after)
        return (head, body_at) if stop > 0 and text.isdigit() and body_at + int(text) == len(data) else None

    def _known(self, data: bytes, start: int) -> tuple[Head, int] | None:
        """A head that is known, and where the body starts."""
        cut = _cut(data, start)
        if cut is None:
            return None
        block, length, body_at = cut
        head = self._heads.get(block)
        if head is None or body_at + length != len(data):
            return None
        at = data.find(_LENGTH, start, body_at)
        if at >= 0:
            digits = at + len(_LENGTH)
            self._last = data[start:digits], data[data.find(b"\r\n", digits) : body_at], head
        return head, body_at

    def learn(self, data: bytes, head: Head, body: bytes) -> None:
        """Remember a head that the parser has read from bytes that were exactly one request, and which it accepted."""
        if len(self._heads) >= MAX_HEADS or not _NEEDS_THE_PARSER.isdisjoint(head.headers):
            return
        if head.headers.get(b"connection", b"keep-alive").lower() != b"keep-alive":
            return
        line = _LINE.match(data)
        cut = _cut(data, line.end() - 2) if line is not None else None
        if cut is None:
            return
        block, length, body_at = cut
        if len(block) > MAX_BLOCK_BYTES or length != len(body) or data[body_at:] != body:
            return
        lines = block.count(b"\r\n")
        if lines >= self._limits.headers:
            return  # with a Content-Length it would be one too many
        if lines == block.count(b"\n") and b"content-length" not in block.lower():
            self._heads[block] = head


def _cut(data: bytes, start: int) -> tuple[bytes, int, int] | None:
    """Cut a request of the plain form, from the end of its first line: block, length and start of the body.

    The block has all lines of the head but the first and Content-Length.
    """
    end = data.find(b"\r\n\r\n", start)
    if end < 0:
        return None
    at = data.find(_LENGTH, start, end)
    if at < 0:
        block, length = data[start:end], 0
    else:
        digits = at + len(_LENGTH)
        stop = data.find(b"\r\n", digits, end + 2)
        text = data[digits:stop]
        if not text.isdigit() or len(text) > MAX_DIGITS:
            return None
        block, length = data[start:at] + data[stop:end], int(text)
    return block, length, end + 4
