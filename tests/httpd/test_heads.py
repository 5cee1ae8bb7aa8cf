"""Heads that a client repeats are read once, and nobody can tell."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attractor.httpd.heads import MAX_HEADS
from attractor.httpd.limits import DEFAULT_LIMITS, Limits
from attractor.httpd.parser import HttpRequest, RequestParser

HEADERS = b"Host: t\r\nAuthorization: Bearer a\r\nAccept: application/json\r\nUser-Agent: test/1\r\n"


def request(line: bytes, headers: bytes = HEADERS, body: bytes = b"") -> bytes:
    length = b"Content-Length: %d\r\n" % len(body) if body else b""
    return line + b" HTTP/1.1\r\n" + headers + length + b"\r\n" + body


def seen(one: HttpRequest) -> tuple[object, ...]:
    return one.method, one.path, one.query, one.headers, one.body, one.version, one.keep_alive


def read(parser: RequestParser, data: bytes) -> list[tuple[object, ...]]:
    parser.feed(data)
    found = [seen(one) for one in parser.requests]
    parser.requests.clear()
    return found


def alone(data: bytes) -> tuple[list[tuple[object, ...]], object]:
    """What a parser makes of bytes that it sees as the first ones of a connection."""
    parser = RequestParser(DEFAULT_LIMITS)
    return read(parser, data), (parser.refusal, parser.is_finished, parser.in_head, parser.in_body)


LINES = st.sampled_from(
    [
        b"GET /a", b"GET /b", b"POST /a", b"GET /api/v1/pods", b"GET /api/v1/pods?limit=5&x=%2F", b"POST /api/v1/pods", b"PUT /a/b", b"PATCH /a",
        b"DELETE /a", b"HEAD /a", b"OPTIONS *", b"GET /a#b", b"GET http://t/a", b"get /a", b"GET  /a", b"GET /a\xff",
        b"CONNECT t:80", b"\r\nGET /a", b"GET /" + b"a" * 300,
    ]
)  # fmt: skip
EXTRAS = st.sampled_from(
    [
        b"", b"", b"", b"Content-Type: application/json\r\n", b"Connection: close\r\n", b"Connection: keep-alive\r\n",
        b"Connection: Upgrade\r\nUpgrade: websocket\r\n", b"Expect: 100-continue\r\n", b"X-Content-Length: N\r\n",
        b"content-length: N\r\n", b"Content-Length: N\r\n", b"Content-Length: +N\r\n", b"Content-Length: N \r\n",
        b"Transfer-Encoding: chunked\r\n", b"Host: u\r\n",
        b"X: a\r\n b\r\n", b"X: a\nY: b\r\n", b"Audit-Id: 7\r\n",
    ]
)  # fmt: skip
BODIES = st.sampled_from([b"", b"", b'{"a":1}', b"0\r\n\r\n", b"x" * 100, b"GET /b HTTP/1.1\r\nHost: t\r\n\r\n"])


TAILS = st.sampled_from([b"", b"", b"", b"GET /c HTTP/1.1\r\nHost: t\r\n\r\n", b"\r\n", b"1234567"])


@st.composite
def pieces(draw: st.DrawFn) -> list[bytes]:
    """What one client sends, in pieces: much the same headers, and the bytes of somebody who wishes us ill."""
    extra = draw(EXTRAS)
    found = []
    for number in draw(st.lists(st.sampled_from([b"0", b"7"]), min_size=2, max_size=6)):
        data = request(draw(LINES), HEADERS + extra.replace(b"N", number), draw(BODIES))
        found.append(data + draw(TAILS))
    return found


@settings(max_examples=400)
@given(pieces())
def test_what_a_connection_has_read_before_changes_nothing(sent: list[bytes]) -> None:
    parser = RequestParser(DEFAULT_LIMITS)
    for data in sent:
        expected, state = alone(data)
        assert read(parser, data) == expected
        assert (parser.refusal, parser.is_finished, parser.in_head, parser.in_body) == state
        if parser.refusal is not None or parser.is_finished or parser.in_head or parser.in_body:
            return  # the bytes that follow belong to this request, or are not read at all


def test_requests_that_repeat_a_head_share_it_whatever_their_bodies() -> None:
    parser = RequestParser(DEFAULT_LIMITS)
    for data in (
        request(b"POST /a", body=b"1"),
        request(b"POST /b?c", body=b"22"),
        request(b"PUT /d", body=b"x" * 999),
    ):
        parser.feed(data)
    first, second, third = parser.requests
    assert first.head is second.head is third.head
    assert [one.body for one in parser.requests] == [b"1", b"22", b"x" * 999]
    assert (second.method, second.path, second.query) == ("POST", "/b", "c")
    assert parser.begun == 3


@pytest.mark.parametrize(
    "headers",
    [
        b"Host: t\r\nConnection: Upgrade\r\nUpgrade: x\r\n",
        b"Host: t\r\nConnection: close\r\n",
        b"Host: t\r\nX-Content-Length: 0\r\nExpect: 100-continue\r\n",
    ],
)
def test_a_head_that_means_more_than_its_bytes_is_read_anew(headers: bytes) -> None:
    parser = RequestParser(DEFAULT_LIMITS)
    parser.feed(request(b"GET /a", headers))
    parser.feed(request(b"GET /a", headers))
    assert len({id(one.head) for one in parser.requests}) == len(parser.requests)


def test_a_client_cannot_fill_the_memory_with_heads() -> None:
    parser = RequestParser(DEFAULT_LIMITS)
    for round_ in range(2):
        for number in range(3 * MAX_HEADS):
            parser.feed(request(b"GET /a", HEADERS + b"X: %d\r\n" % number))
        assert len(parser.requests) == 3 * MAX_HEADS * (round_ + 1)
    assert len({id(one.head) for one in parser.requests}) == 5 * MAX_HEADS  # 8 of 24 are known the second time


@pytest.mark.parametrize(
    ("limits", "data", "code"),
    [
        (Limits(head_bytes=1000), request(b"GET /" + b"a" * 2000), 431),
        (Limits(body_bytes=100), request(b"POST /a", body=b"x" * 101), 413),
        (Limits(headers=4), request(b"POST /a", body=b"x"), 431),
    ],
)
def test_a_known_head_does_not_lift_the_limits(limits: Limits, data: bytes, code: int) -> None:
    parser = RequestParser(limits)
    for _ in range(2):
        parser.feed(request(b"GET /a"))
    assert len(parser.requests) == 2
    parser.feed(data)
    assert parser.refusal is not None
    assert parser.refusal.code == code


def test_only_content_length_itself_says_how_long_a_body_is() -> None:
    parser = RequestParser(DEFAULT_LIMITS)
    parser.feed(request(b"GET /a", HEADERS + b"X-Content-Length: 0\r\n"))
    parser.feed(request(b"GET /a", HEADERS + b"X-Content-Length: 7\r\n") + b"1234567")
    assert [one.body for one in parser.requests] == [b"", b""]
    assert parser.refusal is not None
    assert parser.refusal.code == 400
