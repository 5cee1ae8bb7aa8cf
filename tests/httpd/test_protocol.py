"""HTTP/1.1 on real sockets: what comes in is understood once, in order, within the limits."""

import asyncio
import gzip
import json
from dataclasses import replace

import pytest

from attractor.httpd.connection import Connection, Peer
from attractor.httpd.limits import DEFAULT_LIMITS
from attractor.httpd.listener import Listener
from attractor.httpd.pages.metrics import Metrics
from attractor.httpd.parser import HttpRequest
from attractor.httpd.reply import Reply
from tests.httpd.wire import connected, echo, eventually, listening


async def exchange(data: bytes) -> bytes:
    """What a server that echoes answers to some bytes, until it closes."""
    async with listening(echo) as listener, connected(listener.port) as wire:
        wire.send(data)
        wire.writer.write_eof()
        return await wire.rest()


async def test_requests_on_one_connection_are_answered_in_order() -> None:
    async with listening(echo) as listener, connected(listener.port) as wire:
        for number in range(3):
            wire.request("GET", f"/{number}")
            assert (await wire.answer()).json["path"] == f"/{number}"


async def test_pipelined_requests_are_answered_in_order_even_when_the_first_is_slow() -> None:
    first_may_end = asyncio.Event()

    async def handler(request: HttpRequest, peer: Peer) -> Reply:
        if request.path == "/slow":
            await first_may_end.wait()
        return Reply(200, request.path.encode())

    async with listening(handler) as listener, connected(listener.port) as wire:
        wire.send(b"GET /slow HTTP/1.1\r\nHost: t\r\n\r\nGET /fast HTTP/1.1\r\nHost: t\r\n\r\n")
        await asyncio.sleep(0)
        first_may_end.set()
        assert [(await wire.answer()).body, (await wire.answer()).body] == [b"/slow", b"/fast"]


async def test_more_pipelined_requests_than_are_read_ahead_are_all_answered() -> None:
    async with listening(echo, replace(DEFAULT_LIMITS, pipelined=4)) as listener, connected(listener.port) as wire:
        wire.send(b"".join(b"GET /%d HTTP/1.1\r\nHost: t\r\n\r\n" % number for number in range(500)))
        for number in range(500):
            assert (await wire.answer()).json["path"] == f"/{number}"


async def test_large_pipelined_bodies_are_not_read_ahead_without_bound() -> None:
    may_end, heard = asyncio.Event(), []

    async def handler(request: HttpRequest, peer: Peer) -> Reply:
        heard.append(len(request.body))
        await may_end.wait()
        return Reply(200)

    limits = replace(DEFAULT_LIMITS, body_bytes=100_000)
    async with listening(handler, limits) as listener, connected(listener.port) as wire:
        (one,) = await first_connection(listener)
        wire.send(
            b"".join(b"POST / HTTP/1.1\r\nHost: t\r\nContent-Length: 90000\r\n\r\n" + b"x" * 90_000 for _ in range(100))
        )
        await eventually(lambda: one._reads_paused)
        waiting = sum(len(request.body) for request in one._parser.requests)
        assert waiting < 20 * limits.body_bytes
        may_end.set()
        for _ in range(100):
            assert (await wire.answer()).code == 200
    assert heard == [90_000] * 100


async def first_connection(listener: Listener) -> set[Connection]:
    await eventually(lambda: listener.connections == 1)
    return listener._shared.connections


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
async def test_a_request_is_understood_however_it_is_cut_into_pieces(size: int) -> None:
    data = b"POST /x?a=b HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;e=f\r\nde\r\n0\r\nT: u\r\n\r\n"
    async with listening(echo) as listener, connected(listener.port) as wire:
        for start in range(0, len(data), size):
            wire.send(data[start : start + size])
            await wire.writer.drain()
        assert (await wire.answer()).json == {"method": "POST", "path": "/x", "query": "a=b", "body": "abcde"}


async def test_a_client_that_expects_continue_is_told_to_go_on() -> None:
    async with listening(echo) as listener, connected(listener.port) as wire:
        wire.send(b"POST / HTTP/1.1\r\nHost: t\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n")
        assert (await wire.head())[0] == 100
        wire.send(b"ok")
        assert (await wire.answer()).json["body"] == "ok"


async def test_a_client_that_expects_continue_for_too_large_a_body_is_refused_at_once() -> None:
    async with listening(echo) as listener, connected(listener.port) as wire:
        wire.send(b"POST / HTTP/1.1\r\nHost: t\r\nContent-Length: 4000000\r\nExpect: 100-continue\r\n\r\n")
        answer = await wire.answer()
        assert answer.code == 413


async def test_an_expectation_behind_a_running_request_waits_for_its_turn() -> None:
    may_end = asyncio.Event()

    async def handler(request: HttpRequest, peer: Peer) -> Reply:
        if request.path == "/1":
            await may_end.wait()
        return Reply(200, request.body)

    async with listening(handler) as listener, connected(listener.port) as wire:
        wire.send(b"GET /1 HTTP/1.1\r\nHost: t\r\n\r\n")
        wire.send(b"POST /2 HTTP/1.1\r\nHost: t\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n")
        await asyncio.sleep(0)
        may_end.set()
        assert (await wire.answer()).code == 200
        assert (await wire.head())[0] == 100
        wire.send(b"ok")
        assert (await wire.answer()).body == b"ok"


@pytest.mark.parametrize(
    ("name", "data"),
    [
        (
            "length and chunked",
            b"POST / HTTP/1.1\r\nHost: t\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        ),
        (
            "chunked and length",
            b"POST / HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n",
        ),
        ("two lengths", b"POST / HTTP/1.1\r\nHost: t\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab"),
        ("signed length", b"POST / HTTP/1.1\r\nHost: t\r\nContent-Length: +2\r\n\r\nab"),
        ("length list", b"POST / HTTP/1.1\r\nHost: t\r\nContent-Length: 2, 2\r\n\r\nab"),
        ("endless length", b"POST / HTTP/1.1\r\nHost: t\r\nContent-Length: 99999999999999999999999\r\n\r\nab"),
        ("other coding", b"POST / HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"),
        ("unknown coding", b"POST / HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n"),
        ("hidden coding", b"POST / HTTP/1.1\r\nHost: t\r\nTransfer-Encoding:\x0bchunked\r\n\r\n0\r\n\r\n"),
        ("chunked in 1.0", b"POST / HTTP/1.0\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        ("space before colon", b"GET / HTTP/1.1\r\nHost : t\r\n\r\n"),
        ("folded header", b"GET / HTTP/1.1\r\nHost: t\r\nX: a\r\n b\r\n\r\n"),
        ("bare line feed", b"GET / HTTP/1.1\nHost: t\n\n"),
        ("bare carriage return", b"GET / HTTP/1.1\r\nHost: t\rX: y\r\n\r\n"),
        ("zero byte", b"GET / HTTP/1.1\r\nHost: t\x00\r\n\r\n"),
        ("no host", b"GET / HTTP/1.1\r\n\r\n"),
        ("two hosts", b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"),
        ("negative chunk", b"POST / HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n\r\n"),
        (
            "chunk of another size",
            b"POST / HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n0\r\n\r\n",
        ),
        ("unknown method", b"FETCH / HTTP/1.1\r\nHost: t\r\n\r\n"),
        ("unknown version", b"GET / HTTP/3.7\r\nHost: t\r\n\r\n"),
        ("HTTP/2", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
        ("TLS hello", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"),
        ("not HTTP", b"SSH-2.0-OpenSSH_9.2\r\n"),
        ("raw UTF-8 in the target", "GET /ä HTTP/1.1\r\nHost: t\r\n\r\n".encode()),
        ("proxy request", b"CONNECT other:443 HTTP/1.1\r\nHost: other\r\n\r\n"),
        ("unknown expectation", b"GET / HTTP/1.1\r\nHost: t\r\nExpect: tea\r\n\r\n"),
    ],
)
async def test_what_could_be_read_in_two_ways_is_refused_and_nothing_behind_it_is_answered(
    name: str, data: bytes
) -> None:
    answer = await exchange(data + b"GET /smuggled HTTP/1.1\r\nHost: t\r\n\r\n")
    head, _, body = answer.partition(b"\r\n\r\n")
    code = int(head.split()[1])
    assert code in {400, 405, 413, 417, 501}, name
    assert b"Connection: close" in head
    assert json.loads(body)["code"] == code
    assert b"smuggled" not in answer


async def test_requests_before_a_malformed_one_are_still_answered() -> None:
    answer = await exchange(b"GET /good HTTP/1.1\r\nHost: t\r\n\r\nnonsense\r\n\r\n")
    assert answer.count(b"HTTP/1.1 ") == 2
    assert b"/good" in answer
    assert b"400 Bad Request" in answer


async def test_a_body_over_the_limit_is_413_whether_announced_or_not() -> None:
    limits = replace(DEFAULT_LIMITS, body_bytes=1000)
    chunk = b"1f4\r\n" + b"x" * 500 + b"\r\n"
    for body in (b"Content-Length: 1001\r\n\r\n" + b"x" * 1001, b"Transfer-Encoding: chunked\r\n\r\n" + chunk * 3):
        async with listening(echo, limits) as listener, connected(listener.port) as wire:
            wire.send(b"POST / HTTP/1.1\r\nHost: t\r\n" + body)
            answer = await wire.answer()
            assert answer.json["reason"] == "RequestEntityTooLarge"
            assert answer.json["message"] == "Request entity too large: limit is 1000"


async def test_a_client_that_is_still_sending_a_large_body_gets_to_read_the_refusal() -> None:
    async with listening(echo) as listener, connected(listener.port) as wire:
        wire.send(b"POST / HTTP/1.1\r\nHost: t\r\nContent-Length: 50000000\r\n\r\n")
        wire.send(b"x" * 20_000_000)
        assert (await wire.answer()).code == 413


async def test_a_body_padded_with_chunk_extensions_is_refused() -> None:
    limits = replace(DEFAULT_LIMITS, body_bytes=1000, head_bytes=1000)
    async with listening(echo, limits) as listener, connected(listener.port) as wire:
        wire.send(b"POST / HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n1;")
        wire.send(b"e" * 10_000)
        assert (await wire.answer()).code == 413


@pytest.mark.parametrize("head", [b"X: " + b"y" * 70_000, b"\r\n".join(b"X-%d: y" % n for n in range(101))])
async def test_headers_over_the_limits_are_431(head: bytes) -> None:
    async with listening(echo) as listener, connected(listener.port) as wire:
        wire.send(b"GET / HTTP/1.1\r\nHost: t\r\n" + head + b"\r\n\r\n")
        assert (await wire.answer()).code == 431


async def test_a_head_that_never_ends_is_431_before_it_is_complete() -> None:
    async with listening(echo) as listener, connected(listener.port) as wire:
        wire.send(b"GET /" + b"a" * 1_000_000)
        assert (await wire.answer()).code == 431


async def test_head_is_answered_without_a_body_but_with_its_length() -> None:
    async with listening(echo) as listener, connected(listener.port) as wire:
        wire.request("HEAD", "/x")
        answer = await wire.answer(is_head=True)
        assert int(answer.headers["content-length"]) > 0
        wire.request("GET", "/y")
        assert (await wire.answer()).json["path"] == "/y"


async def test_http_1_0_closes_unless_asked_to_stay() -> None:
    assert b"Connection: close" in await exchange(b"GET / HTTP/1.0\r\n\r\n")
    async with listening(echo) as listener, connected(listener.port) as wire:
        wire.send(b"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
        assert (await wire.answer()).headers["connection"] == "keep-alive"
        wire.send(b"GET /again HTTP/1.0\r\n\r\n")
        assert (await wire.answer()).json["path"] == "/again"
        assert await wire.rest() == b""


async def test_an_upgrade_is_not_made_and_nothing_after_it_is_read_as_http() -> None:
    data = b"GET /exec HTTP/1.1\r\nHost: t\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
    answer = await exchange(data + b"GET /smuggled HTTP/1.1\r\nHost: t\r\n\r\n")
    assert b"/exec" in answer
    assert b"smuggled" not in answer


async def test_a_client_that_stops_sending_still_gets_its_answer() -> None:
    may_end = asyncio.Event()

    async def handler(request: HttpRequest, peer: Peer) -> Reply:
        await may_end.wait()
        return Reply(200, b"late")

    async with listening(handler) as listener, connected(listener.port) as wire:
        wire.request("GET", "/")
        wire.writer.write_eof()
        await asyncio.sleep(0)
        may_end.set()
        assert (await wire.rest()).endswith(b"late")


async def test_large_answers_are_gzipped_for_those_who_accept_it() -> None:
    text = b'"' + b"a" * 200_000 + b'"'

    async def handler(request: HttpRequest, peer: Peer) -> Reply:
        return Reply(200, text)

    async with listening(handler) as listener, connected(listener.port) as wire:
        wire.request("GET", "/", Accept_Encoding="gzip")
        answer = await wire.answer()
        assert answer.headers["content-encoding"] == "gzip"
        assert gzip.decompress(answer.body) == text
        for refusal in ("identity", "gzip;q=0", "br"):
            wire.request("GET", "/", Accept_Encoding=refusal)
            assert (await wire.answer()).body == text


async def test_an_error_in_the_handler_is_a_500_with_a_reference_that_the_log_has_too(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def handler(request: HttpRequest, peer: Peer) -> Reply:
        if request.path == "/later":
            await asyncio.sleep(0)
        raise ZeroDivisionError("sums")

    async with listening(handler) as listener, connected(listener.port) as wire:
        for path in ("/now", "/later"):
            wire.request("GET", path + "?token=secret", Authorization="Bearer sesame")
            status = (await wire.answer()).json
            reference = status["message"].split()[-1]
            record = caplog.records[-1]
            assert (status["code"], status["reason"]) == (500, "InternalError")
            assert record.__dict__["reference"] == reference
            assert "sums" not in status["message"]
    assert "sesame" not in caplog.text
    assert "secret" not in caplog.text


async def test_an_audit_id_is_taken_over_if_it_is_sound_and_made_if_not() -> None:
    async with listening(echo) as listener, connected(listener.port) as wire:
        wire.request("GET", "/", Audit_Id="my-id")
        assert (await wire.answer()).headers["audit-id"] == "my-id"
        seen = set()
        for bad in ("x" * 65, "\xff", ""):
            wire.request("GET", "/", Audit_Id=bad)
            seen.add((await wire.answer()).headers["audit-id"])
        assert len(seen) == 3
        assert all(len(one) == 36 for one in seen)


async def test_a_handler_that_takes_too_long_is_a_504() -> None:
    cancelled = asyncio.Event()

    async def handler(request: HttpRequest, peer: Peer) -> Reply:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()
        return Reply(200)

    limits = replace(DEFAULT_LIMITS, handling_s=0.05)
    async with listening(handler, limits) as listener, connected(listener.port) as wire:
        wire.request("GET", "/")
        assert (await wire.answer()).json["reason"] == "Timeout"
        await eventually(cancelled.is_set)


@pytest.mark.parametrize("start", [b"GET / HT", b"POST / HTTP/1.1\r\nHost: t\r\nContent-Length: 9\r\n\r\nabc"])
async def test_a_request_that_does_not_arrive_in_time_is_a_408(start: bytes) -> None:
    limits = replace(DEFAULT_LIMITS, head_s=0.05, body_s=0.05)
    async with listening(echo, limits) as listener, connected(listener.port) as wire:
        wire.send(start)
        assert (await wire.answer()).code == 408


async def test_a_silent_connection_is_closed_after_a_while() -> None:
    async with listening(echo, replace(DEFAULT_LIMITS, idle_s=0.05)) as listener, connected(listener.port) as wire:
        wire.request("GET", "/")
        await wire.answer()
        assert await wire.rest() == b""


async def test_a_client_that_does_not_read_is_disconnected_alone() -> None:
    async def handler(request: HttpRequest, peer: Peer) -> Reply:
        return Reply(200, b"x" * (20_000_000 if request.path == "/large" else 10))

    metrics = Metrics()
    limits = replace(DEFAULT_LIMITS, stall_s=0.1)
    async with listening(handler, limits, metrics) as listener, connected(listener.port) as good:
        async with connected(listener.port, limit=1) as slow:
            slow.request("GET", "/large")
            await eventually(lambda: listener.connections == 1)
        good.request("GET", "/")
        assert (await good.answer()).code == 200
    assert b'attractor_disconnects_total{reason="slow_reader"} 1' in metrics.render()


async def test_clients_over_the_number_of_connections_are_told_503() -> None:
    async with listening(echo, replace(DEFAULT_LIMITS, connections=1)) as listener, connected(listener.port) as first:
        first.request("GET", "/")
        await first.answer()
        async with connected(listener.port) as second:
            assert (await second.answer()).code == 503
        first.request("GET", "/")
        assert (await first.answer()).code == 200


async def test_stopping_lets_a_running_request_end_and_closes_idle_connections() -> None:
    started, may_end = asyncio.Event(), asyncio.Event()

    async def handler(request: HttpRequest, peer: Peer) -> Reply:
        started.set()
        await may_end.wait()
        return Reply(201, b"written")

    async with listening(handler) as listener, connected(listener.port) as idle, connected(listener.port) as busy:
        busy.request("POST", "/", b"x")
        await started.wait()
        async with asyncio.TaskGroup() as group:
            group.create_task(listener.aclose(grace_s=5))
            assert await idle.rest() == b""
            may_end.set()
            answer = await busy.answer()
            assert (answer.code, answer.body, answer.headers["connection"]) == (201, b"written", "close")
