"""A link: what is written arrives whole and in order, and its party hears of the end once."""

import asyncio
import random
import ssl

import pytest

from attractor.wire.link import Link, Party
from attractor.wire.poller import Poller
from attractor.wire.tls import TlsSession
from tests.wire.conftest import Linked
from tests.wire.ends import Told

MUCH = bytes(range(256)) * 40_000
"""More than any socket takes at once."""


async def test_what_is_written_arrives_and_what_arrives_is_told(linked: Linked) -> None:
    ends = linked().start()
    ends.link.write(b"question")
    assert await ends.read() == b"question"
    ends.far_socket.send(b"answer")
    await ends.told.until(lambda told: told.data == b"answer")
    assert ends.told.events == ["established"]


async def test_what_the_system_does_not_take_at_once_follows_in_order(linked: Linked) -> None:
    ends = linked().start()
    ends.link.write(MUCH)
    ends.link.write(b"last")
    ends.link.close()
    assert await ends.read_to_end() == MUCH + b"last"
    await ends.told.until_lost()
    assert ends.told.error is None


async def test_who_writes_more_than_is_read_is_told_to_pause_and_to_go_on(linked: Linked) -> None:
    ends = linked().start()
    ends.link.write(MUCH)
    assert ends.told.events == ["established", "pause"]
    read = b""
    while len(read) < len(MUCH):
        read += await ends.read()
    await ends.told.until(lambda told: "resume" in told.events)
    assert ends.told.events == ["established", "pause", "resume"]


async def test_nothing_is_read_while_reading_pauses(linked: Linked) -> None:
    ends, other = linked().start(), linked().start()
    ends.link.pause_reading()
    ends.far_socket.send(b"early")
    other.far_socket.send(b"later")
    await other.told.until(lambda told: told.data)
    assert ends.told.data == b""
    assert ends.link.has_input()
    ends.link.resume_reading()
    await ends.told.until(lambda told: told.data == b"early")


async def test_a_peer_that_hangs_up_is_told_once(linked: Linked) -> None:
    ends = linked().start()
    ends.far_socket.close()
    await ends.told.until_lost()
    assert (ends.told.events, ends.told.error) == (["established", "ended", "lost"], None)
    ends.link.write(b"nobody hears this")
    ends.link.close()
    ends.link.abort()
    await asyncio.sleep(0)
    assert ends.told.events.count("lost") == 1


async def test_who_still_has_something_to_say_to_a_peer_that_sends_no_more_may_say_it(linked: Linked) -> None:
    ends = linked(keeps_open=True).start()
    ends.far_socket.shutdown(1)
    await ends.told.until(lambda told: "ended" in told.events)
    ends.link.write(b"still there")
    assert await ends.read() == b"still there"
    assert "lost" not in ends.told.events


async def test_the_end_of_writing_follows_what_was_written(linked: Linked) -> None:
    ends = linked().start()
    ends.link.write(MUCH)
    ends.link.write_eof()
    assert await ends.read_to_end() == MUCH
    ends.far_socket.send(b"heard")
    await ends.told.until(lambda told: told.data == b"heard")


async def test_an_abort_does_not_wait_for_what_was_written(linked: Linked) -> None:
    ends = linked().start()
    ends.link.write(MUCH)
    ends.link.abort()
    assert "lost" not in ends.told.events, "the party was told within its own call"
    await ends.told.until_lost()
    assert len(await ends.read_to_end()) < len(MUCH)


async def test_a_broken_connection_is_lost_with_its_error(linked: Linked) -> None:
    ends = linked().start()
    ends.link.pause_reading()
    ends.far_socket.close()
    ends.link.write(b"nobody hears this")
    await ends.told.until_lost()
    assert isinstance(ends.told.error, BrokenPipeError)


class Clumsy(Party):
    def received(self, data: bytes) -> None:
        raise ValueError("a mistake")


async def test_a_party_that_fails_ends_its_link_and_no_other(linked: Linked) -> None:
    said: list[dict[str, object]] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: said.append(context))
    clumsy, other = linked(), linked().start()
    clumsy.link.start(Clumsy())
    clumsy.far_socket.send(b"x")
    other.far_socket.send(b"y")
    await other.told.until(lambda told: told.data == b"y")
    assert await clumsy.read_to_end() == b""
    assert [str(each["exception"]) for each in said] == ["a mistake"]


async def test_who_joins_a_connection_that_is_gone_is_told_so(linked: Linked) -> None:
    ends, late = linked().start(), Told()
    ends.far_socket.close()
    await ends.told.until_lost()
    ends.link.start(late)
    await late.until_lost()
    assert isinstance(late.error, ConnectionResetError)


async def test_tls_carries_much_both_ways_and_both_ends_close(
    linked: Linked, server_tls: ssl.SSLContext, client_tls: ssl.SSLContext
) -> None:
    ends = linked()
    far, far_told = await ends.secured(server_tls, client_tls)
    ends.link.write(MUCH)
    far.write(MUCH[::-1])
    await far_told.until(lambda told: told.data == MUCH)
    await ends.told.until(lambda told: told.data == MUCH[::-1])
    assert (ends.link.is_secure, ends.link.peer_certificate() is not None, far.peer_certificate()) == (True, True, None)
    ends.link.close()
    await ends.told.until_lost()
    await far_told.until_lost()
    assert "ended" in far_told.events
    assert (ends.told.error, far_told.error) == (None, None)


async def test_what_is_no_tls_ends_the_connection_with_its_error(linked: Linked, client_tls: ssl.SSLContext) -> None:
    ends = linked()
    ends.link.start(ends.told, TlsSession(client_tls, "localhost"))
    ends.far_socket.send(b"HTTP/1.1 400 Bad Request\r\n\r\n")
    await ends.told.until_lost()
    assert isinstance(ends.told.error, ssl.SSLError)


@pytest.mark.parametrize("seed", range(6))
async def test_random_pieces_and_pauses_change_nothing(
    linked: Linked, poller: Poller, server_tls: ssl.SSLContext, client_tls: ssl.SSLContext, seed: int
) -> None:
    chance, ends = random.Random(seed), linked()
    far, far_told = await ends.secured(server_tls, client_tls)
    wanted: dict[Link, bytes] = {ends.link: b"", far: b""}
    for _ in range(60):
        link = chance.choice([ends.link, far])
        piece = chance.randbytes(chance.choice([1, 100, 16_384, 16_385, 200_000]))
        link.write(piece)
        wanted[link] += piece
        chance.choice([far.pause_reading, far.resume_reading, ends.link.pause_reading, ends.link.resume_reading])()
        if chance.random() < 0.3:
            await asyncio.sleep(0)
    far.resume_reading()
    ends.link.resume_reading()
    await far_told.until(lambda told: told.data == wanted[ends.link])
    await ends.told.until(lambda told: told.data == wanted[far])
