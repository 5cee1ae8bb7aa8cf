"""The HTTP transport against servers that behave in every way that servers do."""

import asyncio
import gzip
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from attractor.client import AnswerLost, Client, ClientConfig, ClientRequest, GarbledAnswer, ServerUnreachable
from attractor.client.http import HttpTransport
from attractor.client.http.pool import Pool
from attractor.k8s.core_v1 import ConfigMap

GET = ClientRequest("GET", "/api/v1/namespaces")
POST = ClientRequest("POST", "/api/v1/namespaces", body=b"{}")
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
Script = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


async def read_request(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readuntil(b"\r\n\r\n")
    for line in head.split(b"\r\n"):
        if line.lower().startswith(b"content-length:"):
            return head + await reader.readexactly(int(line.split(b":")[1]))
    return head


class Peer:
    """A server that follows a script for each connection."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.connections = 0
        self.requests: list[bytes] = []

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            await self.script(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def peer(script: Callable[[Peer], Script] | bytes, **options: float) -> AsyncIterator[tuple[Peer, HttpTransport]]:
    made = Peer(lambda reader, writer: asyncio.sleep(0))
    made.script = answering(script)(made) if isinstance(script, bytes) else script(made)
    server = await asyncio.start_server(made, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    transport = HttpTransport(ClientConfig.of(f"http://127.0.0.1:{port}", token="t"), **options)  # type: ignore[arg-type]
    async with server:
        try:
            yield made, transport
        finally:
            await transport.aclose()


def answering(*answers: bytes, then_close: bool = False) -> Callable[[Peer], Script]:
    """Answer one request after the other, the last answer again and again."""

    def script(made: Peer) -> Script:
        async def run(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            left = list(answers)
            while True:
                made.requests.append(await read_request(reader))
                writer.write(left.pop(0) if len(left) > 1 else left[0])
                await writer.drain()
                if then_close:
                    return

        return run

    return script


async def test_one_connection_serves_many_requests_and_the_request_says_who_asks() -> None:
    async with peer(OK) as (server, transport):
        for _ in range(5):
            assert (await transport.send(GET)).body == b"ok"
        assert server.connections == 1
        assert b"Authorization: Bearer t\r\n" in server.requests[0]
        assert b"Accept-Encoding" not in server.requests[0]


async def test_no_more_connections_than_allowed_and_everybody_gets_an_answer() -> None:
    async with peer(OK, pool_size=3) as (server, transport):
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(transport.send(GET)) for _ in range(50)]
        assert {task.result().body for task in tasks} == {b"ok"}
        assert server.connections <= 3


async def test_who_waits_in_line_and_gives_up_takes_nobodys_place() -> None:
    release = asyncio.Event()

    def slow(made: Peer) -> Script:
        async def run(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            while True:
                await read_request(reader)
                await release.wait()
                writer.write(OK)

        return run

    async with peer(slow, pool_size=1) as (_, transport):
        first = asyncio.ensure_future(transport.send(GET))
        second = asyncio.ensure_future(transport.send(GET))
        third = asyncio.ensure_future(transport.send(GET))
        for _ in range(20):
            await asyncio.sleep(0)
        assert transport._pool is not None
        assert len(transport._pool._line) == 2
        second.cancel()
        release.set()
        assert (await first).body == (await third).body == b"ok"
        transport._pool.check_invariants()


ANSWERS = {
    "chunked": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\no\r\n1\r\nk\r\n0\r\n\r\n",
    "gzip": b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%b"
    % (len(gzip.compress(b"ok", mtime=0)), gzip.compress(b"ok", mtime=0)),
    "informational": b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + OK,
}


@pytest.mark.parametrize("name", ANSWERS)
async def test_answers_in_every_form_are_understood(name: str) -> None:
    async with peer(ANSWERS[name]) as (server, transport):
        assert (await transport.send(GET)).body == b"ok"
        assert (await transport.send(GET)).body == b"ok"
        assert server.connections == 1


async def test_an_answer_may_end_with_the_connection() -> None:
    async with peer(answering(b"HTTP/1.1 200 OK\r\n\r\nok", then_close=True)) as (server, transport):
        assert (await transport.send(GET)).body == b"ok"
        assert (await transport.send(GET)).body == b"ok"
        assert server.connections == 2


async def test_connection_close_is_respected() -> None:
    async with peer(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok") as (server, transport):
        await transport.send(GET)
        await transport.send(GET)
        assert server.connections == 2


def closing_after(count: int) -> Callable[[Peer], Script]:
    """Answer so many requests on each connection; then read one more and close without a word."""

    def script(made: Peer) -> Script:
        async def run(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            for _ in range(count):
                made.requests.append(await read_request(reader))
                writer.write(OK)
            made.requests.append(await read_request(reader))

        return run

    return script


async def test_a_read_on_a_connection_that_was_just_closed_is_sent_again_on_a_fresh_one() -> None:
    async with peer(closing_after(1)) as (server, transport):
        await transport.send(GET)
        assert (await transport.send(GET)).body == b"ok"
        assert server.connections == 2


async def test_a_write_on_a_connection_that_was_just_closed_is_sent_once() -> None:
    async with peer(closing_after(1)) as (server, transport):
        await transport.send(GET)
        with pytest.raises(AnswerLost):
            await transport.send(POST)
        assert sum(request.startswith(b"POST") for request in server.requests) == 1


async def test_a_fresh_connection_that_breaks_is_an_answer_lost() -> None:
    async with peer(closing_after(0)) as (_, transport):
        with pytest.raises(AnswerLost, match="broke before the answer was complete"):
            await transport.send(GET)


@pytest.mark.parametrize(
    "data",
    [
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\nok",
    ],
)
async def test_garbage_is_told_from_a_broken_connection(data: bytes) -> None:
    async with peer(data) as (_, transport):
        with pytest.raises(GarbledAnswer):
            await transport.send(GET)


async def test_a_half_answer_is_an_answer_lost() -> None:
    half = b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf"
    async with peer(answering(half, then_close=True)) as (_, transport):
        with pytest.raises(AnswerLost):
            await transport.send(GET)


async def test_nobody_there_is_unreachable_and_nothing_was_sent() -> None:
    async with peer(OK) as (_, transport):
        config = transport.config
    with pytest.raises(ServerUnreachable, match=r"no connection to 127\.0\.0\.1:\d+: Connection refused"):
        await HttpTransport(config).send(POST)


async def test_no_answer_in_time_is_an_answer_lost_and_the_connection_is_not_used_again() -> None:
    def silent_then_ok(made: Peer) -> Script:
        async def run(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await read_request(reader)
            if made.connections == 1:
                await reader.read()
            writer.write(OK)
            await reader.read()

        return run

    async with peer(silent_then_ok, timeout_s=1.0) as (server, transport):
        with pytest.raises(AnswerLost, match=r"no answer within 1 s"):
            await transport.send(GET)
        assert (await transport.send(GET)).body == b"ok"
        assert server.connections == 2


async def test_a_connection_that_was_used_before_keeps_the_time_limit_too() -> None:
    def ok_then_silent(made: Peer) -> Script:
        async def run(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await read_request(reader)
            writer.write(OK)
            await reader.read()

        return run

    async with peer(ok_then_silent, timeout_s=1.0) as (server, transport):
        assert (await transport.send(POST)).body == b"ok"
        with pytest.raises(AnswerLost, match=r"POST /api/v1/namespaces: no answer within 1 s"):
            await transport.send(POST)
        assert (await transport.send(POST)).body == b"ok"
        assert server.connections == 2


async def test_a_stream_comes_in_pieces_and_a_cut_is_told_from_an_end() -> None:
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    async with peer(answering(head + b"2\r\na\n\r\n2\r\nb\n\r\n0\r\n\r\n")) as (_, transport):
        stream = await transport.open(GET)
        assert (stream.code, await stream.receive(), await stream.receive()) == (200, b"a\nb\n", b"")
    async with peer(answering(head + b"2\r\na\n\r\n", then_close=True)) as (_, transport):
        stream = await transport.open(GET)
        assert await stream.receive() == b"a\n"
        with pytest.raises(AnswerLost):
            await stream.receive()


async def test_a_stream_that_is_not_read_stops_reading_from_the_socket() -> None:
    sent = 0

    def flood(made: Peer) -> Script:
        async def run(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            nonlocal sent
            await read_request(reader)
            writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
            for _ in range(1000):
                writer.write(b"x" * 65536)
                await writer.drain()
                sent += 65536

        return run

    async with peer(flood) as (_, transport):
        stream = await transport.open(GET)
        before = -1
        while sent != before:
            before = sent
            for _ in range(200):
                await asyncio.sleep(0)
        assert sent < 32 << 20
        total = 0
        while piece := await stream.receive():
            total += len(piece)
        assert total == 1000 * 65536


async def test_closing_the_client_fails_what_is_under_way_and_what_comes() -> None:
    async with peer(closing_after(0)) as (_, transport):
        await transport.aclose()
        with pytest.raises(ServerUnreachable, match="closed"):
            await transport.send(GET)


async def test_a_path_in_the_servers_address_comes_first_and_impersonation_is_sent() -> None:
    async with peer(OK) as (server, transport):
        config = ClientConfig(f"{transport.config.server}/k8s/clusters/c1").as_user("jane", "dev", "ops")
        assert config.impersonate is not None
        config = replace(config, impersonate=replace(config.impersonate, extra={"example.org/scopes": ("view",)}))
        behind = HttpTransport(config)
        await behind.send(ClientRequest("GET", "/api/v1/pods", (("labelSelector", "a in (b,c)"),)))
        await behind.aclose()
        assert server.requests[0].startswith(b"GET /k8s/clusters/c1/api/v1/pods?labelSelector=a%20in%20%28b%2Cc%29 ")
        assert b"Impersonate-Extra-example.org%2Fscopes: view\r\n" in server.requests[0]
        assert b"Impersonate-User: jane\r\nImpersonate-Group: dev\r\nImpersonate-Group: ops\r\n" in server.requests[0]


async def test_the_pool_keeps_its_invariants_under_cancellation(http: Client) -> None:
    transport = http.transport
    assert isinstance(transport, HttpTransport)
    tasks = [asyncio.ensure_future(http.list(ConfigMap)) for _ in range(40)]
    await asyncio.sleep(0)
    for task in tasks[::2]:
        task.cancel()
    await asyncio.wait(tasks)
    assert all(task.result() == [] for task in tasks[1::2])
    assert isinstance(transport._pool, Pool)
    transport._pool.check_invariants()
    assert not transport._pool._used
