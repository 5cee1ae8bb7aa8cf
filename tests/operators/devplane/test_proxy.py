"""The TCP proxy on real sockets: bytes both ways, turns, refusals, slow readers, limits, ends."""

from __future__ import annotations

import asyncio
import errno
import hashlib
import os
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from attractor.operators.devplane.drivers.local.proxy import LocalProxies
from attractor.operators.devplane.drivers.proxies import CannotListen, Place
from attractor.testing import eventually

ANY = Place("127.0.0.1", 0)
BIG = os.urandom(1 << 20) * 24
Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def backend(serve: Serve) -> AsyncIterator[Place]:
    """A server that does something with each connection, and then closes it."""
    seen: set[asyncio.Task[None]] = set()

    async def one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await serve(reader, writer)
        except ConnectionError:
            pass
        finally:
            writer.close()

    def accepted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(one(reader, writer))
        seen.add(task)
        task.add_done_callback(seen.discard)

    server = await asyncio.start_server(accepted, "127.0.0.1", 0)
    try:
        yield Place(*server.sockets[0].getsockname())
    finally:
        server.close()
        for task in tuple(seen):
            task.cancel()


def says(word: bytes) -> Serve:
    """Answers everybody with one word."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(word)
        await writer.drain()

    return serve


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Sends back what comes, as it comes, until the other side says no more."""
    while data := await reader.read(1 << 16):
        writer.write(data)
        await writer.drain()
    writer.write(b"<end>")


async def talk(place: Place, data: bytes = b"") -> bytes:
    """Say something, say that this is all, and take the whole answer."""
    reader, writer = await asyncio.open_connection(*place)
    try:
        if data:
            writer.write(data)
        writer.write_eof()
        return await reader.read()
    finally:
        writer.close()


def closed_port() -> Place:
    """A place where nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return Place(*taken.getsockname())


async def test_what_is_said_reaches_the_backend_and_its_answer_the_client() -> None:
    async with backend(echo) as place, LocalProxies() as proxies:
        at = await proxies.serve("a", ANY, (place,))
        assert await talk(at, b"hello") == b"hello<end>"


async def test_a_client_may_stop_talking_and_still_be_answered() -> None:
    async def late(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(str(len(await reader.read())).encode())  # it reads to the end first

    async with backend(late) as place, LocalProxies() as proxies:
        at = await proxies.serve("a", ANY, (place,))
        assert await talk(at, b"x" * 12345) == b"12345"


async def test_a_backend_may_stop_talking_and_still_listen() -> None:
    heard = asyncio.get_running_loop().create_future()

    async def deaf(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"that is all")
        writer.write_eof()
        heard.set_result(await reader.read())

    async with backend(deaf) as place, LocalProxies() as proxies:
        at = await proxies.serve("a", ANY, (place,))
        reader, writer = await asyncio.open_connection(*at)
        assert await reader.read() == b"that is all"
        writer.write(b"and now me")
        writer.write_eof()
        assert await heard == b"and now me"
        writer.close()


async def test_connections_go_to_the_backends_in_turn() -> None:
    async with backend(says(b"1")) as one, backend(says(b"2")) as two, LocalProxies() as proxies:
        at = await proxies.serve("a", ANY, (one, two))
        answers = [await talk(at) for _ in range(6)]
        assert sorted(answers) == [b"1"] * 3 + [b"2"] * 3
        assert answers[::2] != answers[1::2]


async def test_a_backend_that_refuses_is_passed_over() -> None:
    async with backend(says(b"1")) as one, LocalProxies() as proxies:
        at = await proxies.serve("a", ANY, tuple(sorted((one, closed_port()))))
        assert [await talk(at) for _ in range(4)] == [b"1"] * 4


async def test_other_backends_are_used_from_the_next_connection_on() -> None:
    async with backend(says(b"1")) as one, backend(says(b"2")) as two, LocalProxies() as proxies:
        at = await proxies.serve("a", ANY, (one,))
        assert await talk(at) == b"1"
        assert await proxies.serve("a", ANY, (two,)) == at
        assert await talk(at) == b"2"


async def test_a_client_waits_for_a_backend_that_is_just_being_started() -> None:
    async with LocalProxies() as proxies:
        at = await proxies.serve("a", ANY, ())
        talking = asyncio.ensure_future(talk(at))
        await eventually(lambda: proxies.connections("a") == 1)
        async with backend(says(b"here")) as place:
            await proxies.serve("a", at, (place,))
            assert await talking == b"here"


@pytest.mark.parametrize("backends", [(), (Place("127.0.0.1", 1),)], ids=["no backend", "none that accepts"])
async def test_a_client_is_sent_away_when_nobody_accepts_it(backends: tuple[Place, ...]) -> None:
    async with LocalProxies(patience_s=0) as proxies:
        at = await proxies.serve("a", ANY, backends)
        reader, writer = await asyncio.open_connection(*at)
        with pytest.raises(ConnectionResetError):
            await reader.read()
        writer.close()
        await eventually(lambda: proxies.connections("a") == 0)


async def test_much_goes_both_ways_at_once_unharmed() -> None:
    async with backend(echo) as place, LocalProxies() as proxies:
        at = await proxies.serve("a", ANY, (place,))
        reader, writer = await asyncio.open_connection(*at)

        async def send() -> None:
            writer.write(BIG)
            await writer.drain()
            writer.write_eof()

        async with asyncio.TaskGroup() as group:
            group.create_task(send())
            received = group.create_task(reader.read())
        assert hashlib.sha256(received.result()).digest() == hashlib.sha256(BIG + b"<end>").digest()
        writer.close()
        await eventually(lambda: proxies.connections("a") == 0)


async def test_a_reader_that_does_not_read_holds_back_the_sender() -> None:
    sent = 0

    async def pour(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        for start in range(0, len(BIG), 1 << 16):
            writer.write(BIG[start : start + (1 << 16)])
            await writer.drain()
            sent = start

    async with backend(pour) as place, backend(says(b"quick")) as other, LocalProxies() as proxies:
        at = await proxies.serve("a", ANY, (place,))
        reader, writer = await asyncio.open_connection(*at, limit=1 << 16)
        await _comes_to_rest(lambda: sent)
        assert sent < len(BIG) * 3 // 4, "nothing held the sender back"
        quick = await proxies.serve("b", ANY, (other,))
        assert await talk(quick) == b"quick", "others wait for the slow one"
        received = bytearray()
        while data := await reader.read(1 << 20):
            received += data
        assert received == BIG
        writer.close()


async def _comes_to_rest(number: Callable[[], int]) -> None:
    """Until a number has stayed the same over many turns of the event loop."""
    known, same = number(), 0
    while same < 200:
        await asyncio.sleep(0)
        same = same + 1 if number() == known and known else 0
        known = number()


async def test_a_connection_stays_open_between_requests() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.readline():
            writer.write(b"ok\n")

    async with backend(answer) as place, LocalProxies() as proxies:
        at = await proxies.serve("a", ANY, (place,))
        reader, writer = await asyncio.open_connection(*at)
        for _ in range(3):
            writer.write(b"GET\n")
            assert await reader.readline() == b"ok\n"
        assert proxies.connections("a") == 1
        writer.close()
        await eventually(lambda: proxies.connections("a") == 0)


async def test_a_backend_that_dies_resets_the_client_so_that_half_an_answer_is_none() -> None:
    async def die(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        writer.write(b"half an ans")
        await writer.drain()
        sock = writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")

    async with backend(die) as place, LocalProxies() as proxies:
        at = await proxies.serve("a", ANY, (place,))
        reader, writer = await asyncio.open_connection(*at)
        writer.write(b"go\n")
        with pytest.raises(ConnectionResetError):
            await reader.read()
        writer.close()
        await eventually(lambda: proxies.connections("a") == 0)


async def test_beyond_the_limit_clients_wait_until_one_leaves() -> None:
    async with backend(echo) as place, LocalProxies(limit=2) as proxies:
        at = await proxies.serve("a", ANY, (place,))
        held = [await asyncio.open_connection(*at) for _ in range(2)]
        for reader, writer in held:
            writer.write(b"x")
            assert await reader.read(1) == b"x"
        waiting = asyncio.ensure_future(talk(at, b"third"))
        for _ in range(50):
            await asyncio.sleep(0)
        assert not waiting.done()
        assert proxies.connections("a") == 2
        held[0][1].close()
        assert await waiting == b"third<end>"
        held[1][1].close()


async def test_a_port_in_use_is_named_with_a_way_out_and_nothing_is_opened() -> None:
    async with backend(echo) as place, LocalProxies() as proxies:
        with pytest.raises(CannotListen, match=rf"127\.0\.0\.1:{place.port} is in use by another program; end that"):
            await proxies.serve("a", place, ())
        assert proxies.connections("a") == 0
    async with LocalProxies() as proxies:
        assert await proxies.serve("a", place, ()) == place


async def test_an_address_of_another_machine_is_refused_in_words() -> None:
    async with LocalProxies() as proxies:
        with pytest.raises(CannotListen, match=r"192\.0\.2\.1 is no address of this machine"):
            await proxies.serve("a", Place("192.0.2.1", 0), ())


async def test_serving_again_keeps_the_port_and_serving_elsewhere_moves_it() -> None:
    async with LocalProxies() as proxies:
        at = await proxies.serve("a", ANY, ())
        assert await proxies.serve("a", ANY, ()) == at
        elsewhere = closed_port()
        assert await proxies.serve("a", elsewhere, ()) == elsewhere
        assert await _refuses(at)


async def test_a_closed_listener_refuses_ends_its_connections_and_leaves_others_alone() -> None:
    async with backend(echo) as place, LocalProxies() as proxies:
        one, two = await proxies.serve("a", ANY, (place,)), await proxies.serve("b", ANY, (place,))
        reader, writer = await asyncio.open_connection(*one)
        writer.write(b"x")
        assert await reader.read(1) == b"x"
        await proxies.close("a")
        assert await reader.read() == b"", "it was ended in good order"
        assert await _refuses(one)
        assert await talk(two, b"y") == b"y<end>"
        await proxies.close("a")
        writer.close()


async def test_a_client_that_waits_for_a_backend_does_not_hold_up_the_end() -> None:
    async with LocalProxies(patience_s=3600) as proxies:
        at = await proxies.serve("a", ANY, ())
        _, writer = await asyncio.open_connection(*at)
        await eventually(lambda: proxies.connections("a") == 1)
        await proxies.close("a")
        again = await proxies.serve("a", ANY, ())
        _, second = await asyncio.open_connection(*again)
        await eventually(lambda: proxies.connections("a") == 1)
    assert await _refuses(again)
    writer.close()
    second.close()


async def test_a_hundred_clients_at_once_are_all_answered() -> None:
    async with backend(echo) as one, backend(echo) as two, LocalProxies(limit=32) as proxies:
        at = await proxies.serve("a", ANY, (one, two))
        async with asyncio.TaskGroup() as group:
            talks = [group.create_task(talk(at, str(number).encode() * 5000)) for number in range(100)]
        assert [each.result() for each in talks] == [str(number).encode() * 5000 + b"<end>" for number in range(100)]
        await eventually(lambda: proxies.connections("a") == 0)


async def _refuses(place: Place) -> bool:
    try:
        await talk(place)
    except OSError as error:
        return error.errno in {errno.ECONNREFUSED, errno.ECONNRESET}
    return False
