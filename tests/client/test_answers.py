"""Answers that come whole are recognised; whatever is unusual is left to the parser."""

import pytest

from attractor.client.http.answers import whole


def test_a_plain_answer_is_recognised_and_its_headers_are_there_when_asked_for() -> None:
    answer = whole(
        b"HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nAudit-Id:x\r\nContent-Length: 2\r\n\r\nok"
    )
    assert answer is not None
    assert (answer.code, answer.body) == (201, b"ok")
    assert answer.headers == {"content-type": "application/json", "audit-id": "x", "content-length": "2"}
    assert answer.headers.get("retry-after") is None


def test_an_answer_may_be_empty() -> None:
    answer = whole(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
    assert answer is not None
    assert answer.body == b""


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"HTTP/1.1 200 OK\r\nContent-Le",
        b"HTTP/1.1 200 OK\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok!",
        b"HTTP/1.1 200 OK\r\nContent-Length: +2\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Encoding: gzip\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\nX: a\r\n Content-Length: 2\r\n\r\nok",
        b"HTTP/1.1 2x0 OK\r\nContent-Length: 2\r\n\r\nok",
        b"HTTP/1.1 2000 OK\r\nContent-Length: 2\r\n\r\nok",
        b"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nok",
        b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok",
    ],
)
def test_what_is_unusual_or_not_all_there_is_left_to_the_parser(data: bytes) -> None:
    assert whole(data) is None
