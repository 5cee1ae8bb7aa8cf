"""gRPC on our own: what a peer may say, in any pieces, and what becomes of calls when it says it."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest
from hpack import Encoder
from hypothesis import given
from hypothesis import strategies as st

from attractor.store.etcd import channel as channels
from attractor.store.etcd import frames
from attractor.store.etcd.channel import CallFailed, Channel, Code
from attractor.store.etcd.frames import frame

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

OK = [(":status", "200"), ("content-type", "application/grpc")]
DONE = [("grpc-status", "0"), ("grpc-message", "")]


def encoded(headers: list[tuple[str, str]]) -> bytes:
    encoder = Encoder()
    encoder.header_table_size = 0
    return encoder.encode(headers)


def message(data: bytes) -> bytes:
    return bytes(1) + len(data).to_bytes(4, "big") + data


def answer(stream: int, data: bytes) -> bytes:
    return (
        frame(frames.HEADERS, frames.END_HEADERS, stream, encoded(OK))
        + frame(frames.DATA, 0, stream, message(data))
        + frame(frames.HEADERS, frames.END_HEADERS | frames.END_STREAM, stream, encoded(DONE))
    )


class Peer:
    """The other end of one connection, frame by frame."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    def say(self, data: bytes) -> None:
        self._writer.write(data)

    async def hear(self, *kinds: int) -> tuple[int, int, int, bytes]:
        """The next frame of these kinds; others are skipped."""
        while True:
            head = await self._reader.readexactly(9)
            payload = await self._reader.readexactly(int.from_bytes(head[:3], "big"))
            if head[3] in kinds:
                return head[3], head[4], int.from_bytes(head[5:], "big"), payload

    def hang_up(self) -> None:
        self._writer.transport.abort()


@asynccontextmanager
async def connected(*first: bytes) -> AsyncIterator[tuple[Channel, Peer]]:
    arrived: asyncio.Future[Peer] = asyncio.get_running_loop().create_future()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        assert await reader.readexactly(len(frames.PREFACE)) == frames.PREFACE
        arrived.set_result(Peer(reader, writer))

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    channel = await Channel.open(f"127.0.0.1:{port}", None, 5)
    peer = await arrived
    peer.say(frames.settings({}) + b"".join(first))
    # The peer's settings count from when they are acknowledged.
    while not (await peer.hear(frames.SETTINGS))[1] & frames.ACK:
        pass
    yield channel, peer
    await channel.aclose()
    peer.hang_up()
    server.close()
    await server.wait_closed()


def called(channel: Channel, data: bytes = b"question", timeout_s: float = 20) -> asyncio.Task[bytes]:
    return asyncio.create_task(channel.call(channel.headers("/some/Call", (), timeout_s), data, timeout_s))


async def failure(call: asyncio.Task[bytes]) -> CallFailed:
    with pytest.raises(CallFailed) as caught:
        await call
    return caught.value


async def test_an_answer_is_handed_over() -> None:
    async with connected() as (channel, peer):
        call = called(channel)
        _, flags, stream, sent = await peer.hear(frames.DATA)
        assert (flags, sent) == (frames.END_STREAM, message(b"question"))
        peer.say(answer(stream, b"answer"))
        assert await call == b"answer"


@given(st.binary(max_size=300), st.lists(st.integers(1, 40), max_size=30))
def test_frames_are_the_same_in_whatever_pieces_they_come(data: bytes, cuts: list[int]) -> None:
    whole = answer(1, data) + frame(frames.PING, 0, 0, bytes(8))
    splitter, found, rest = frames.Splitter(), [], whole
    for cut in cuts:
        found += splitter.feed(rest[:cut])
        rest = rest[cut:]
    found += splitter.feed(rest)
    assert found == frames.Splitter().feed(whole)
    assert b"".join(frame(*one) for one in found) == whole


def test_padding_and_priorities_are_taken_off() -> None:
    padded = frame(frames.DATA, 0x8, 1, b"\x03" + b"data" + bytes(3))
    weighed = frame(frames.HEADERS, 0x8 | 0x20 | frames.END_HEADERS, 1, b"\x02" + bytes(5) + b"block" + bytes(2))
    assert [payload for *_, payload in frames.Splitter().feed(padded + weighed)] == [b"data", b"block"]
    with pytest.raises(frames.ProtocolError):
        frames.Splitter().feed(frame(frames.DATA, 0x8, 1, b"\x04data"[:4]))


@given(st.lists(st.tuples(st.from_regex(r"[a-z][a-z-]{0,20}", fullmatch=True), st.text("ab /%", max_size=400))))
def test_headers_that_we_write_can_be_read(headers: list[tuple[str, str]]) -> None:
    assert frames.headers_of(frames.header_block(headers)) == dict(headers)


def test_headers_that_rest_on_a_table_that_we_do_not_keep_are_refused() -> None:
    with pytest.raises(frames.ProtocolError):
        frames.headers_of(b"\xbe")


async def test_headers_may_go_on_in_further_frames() -> None:
    async with connected() as (channel, peer):
        call = called(channel)
        _, _, stream, _ = await peer.hear(frames.DATA)
        block = encoded(DONE)
        peer.say(frame(frames.HEADERS, frames.END_HEADERS, stream, encoded(OK)))
        peer.say(
            frame(frames.DATA, 0, stream, message(b"long")[:6]) + frame(frames.DATA, 0, stream, message(b"long")[6:])
        )
        peer.say(frame(frames.HEADERS, frames.END_STREAM, stream, block[:5]))
        peer.say(frame(frames.CONTINUATION, frames.END_HEADERS, stream, block[5:]))
        assert await call == b"long"


async def test_a_refusal_has_its_code_and_its_words() -> None:
    async with connected() as (channel, peer):
        refused = encoded([*OK, ("grpc-status", "11"), ("grpc-message", "50%25 is compacted")])
        call = called(channel)
        _, _, stream, _ = await peer.hear(frames.DATA)
        peer.say(frame(frames.HEADERS, frames.END_HEADERS | frames.END_STREAM, stream, refused))
        failed = await failure(call)
        assert (failed.code, failed.details) == (Code.OUT_OF_RANGE, "50% is compacted")
        for status in ("5", "999", "what"):
            call = called(channel)
            _, _, stream, _ = await peer.hear(frames.DATA)
            said = encoded([*OK, ("grpc-status", status)])
            peer.say(frame(frames.HEADERS, frames.END_HEADERS | frames.END_STREAM, stream, said))
            assert (await failure(call)).code is Code.UNKNOWN
        call = called(channel)
        _, _, stream, _ = await peer.hear(frames.DATA)
        peer.say(frame(frames.HEADERS, frames.END_HEADERS, stream, encoded([(":status", "502")])))
        assert (await failure(call)).details == "the peer answered with HTTP status 502"


async def test_no_more_is_sent_than_the_peer_takes() -> None:
    async with connected(frames.settings({frames.INITIAL_WINDOW_SIZE: 10, frames.MAX_FRAME_SIZE: 16_384})) as (
        channel,
        peer,
    ):
        call = called(channel, b"x" * 20)
        *_, stream, piece = await peer.hear(frames.DATA)
        assert len(piece) == 10
        peer.say(frames.window_update(stream, 7))
        assert len((await peer.hear(frames.DATA))[3]) == 7
        peer.say(frames.settings({frames.INITIAL_WINDOW_SIZE: 18}))
        _, flags, _, last = await peer.hear(frames.DATA)
        assert (flags, len(last)) == (frames.END_STREAM, 8)
        peer.say(answer(stream, b""))
        assert await call == b""


async def test_the_window_of_the_connection_is_shared_and_frames_are_no_longer_than_allowed() -> None:
    async with connected(frames.settings({frames.INITIAL_WINDOW_SIZE: 200_000})) as (channel, peer):
        first, second = called(channel, b"1" * 60_000), called(channel, b"2" * 60_000)
        sizes: dict[int, int] = {}
        while sum(sizes.values()) < frames.DEFAULT_WINDOW:
            *_, stream, piece = await peer.hear(frames.DATA)
            assert len(piece) <= 16_384
            sizes[stream] = sizes.get(stream, 0) + len(piece)
        assert sum(sizes.values()) == frames.DEFAULT_WINDOW
        peer.say(frames.window_update(0, 100_000))
        while sum(sizes.values()) < 2 * (60_000 + 5):
            *_, stream, piece = await peer.hear(frames.DATA)
            sizes[stream] += len(piece)
        for stream in sizes:
            peer.say(answer(stream, b"%d" % stream))
        assert {await first, await second} == {b"%d" % stream for stream in sizes}


async def test_calls_wait_while_the_peer_has_as_many_as_it_wants() -> None:
    async with connected(frames.settings({frames.MAX_CONCURRENT_STREAMS: 1})) as (channel, peer):
        first, second = called(channel, b"1"), called(channel, b"2")
        third = called(channel, b"3")
        *_, stream, data = await peer.hear(frames.DATA)
        assert data == message(b"1")
        third.cancel()
        peer.say(answer(stream, b"one"))
        assert await first == b"one"
        *_, stream, data = await peer.hear(frames.DATA)
        assert data == message(b"2")
        peer.say(answer(stream, b"two"))
        assert await second == b"two"


async def test_a_call_that_takes_too_long_or_is_cancelled_is_reset() -> None:
    async with connected() as (channel, peer):
        assert (await failure(called(channel, timeout_s=0.01))).code is Code.DEADLINE_EXCEEDED
        assert (await peer.hear(frames.RST_STREAM))[2] == 1
        call = called(channel)
        await peer.hear(frames.DATA)
        call.cancel()
        assert (await peer.hear(frames.RST_STREAM))[2] == 3
        peer.say(answer(3, b"too late"))
        call = called(channel)
        *_, stream, _ = await peer.hear(frames.DATA)
        peer.say(answer(stream, b"in time"))
        assert await call == b"in time"


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (frame(frames.GOAWAY, 0, 0, bytes(8) + b"too_many_pings"), "too_many_pings"),
        (frame(frames.RST_STREAM, 0, 1, bytes(4)), "reset"),
        (frame(frames.HEADERS, frames.END_HEADERS, 1, b"\xbe"), "headers"),
        (frame(frames.DATA, frames.END_STREAM, 1, b""), "without a status"),
    ],
)
async def test_a_peer_that_gives_up_ends_the_call(said: bytes, why: str) -> None:
    async with connected() as (channel, peer):
        call = called(channel)
        await peer.hear(frames.DATA)
        peer.say(said)
        assert why in (await failure(call)).details


async def test_a_lost_connection_ends_all_calls_and_takes_no_more() -> None:
    async with connected() as (channel, peer):
        calls = [called(channel) for _ in range(3)]
        stream = channel.stream(channel.headers("/some/Stream", (), None))
        await peer.hear(frames.DATA)
        peer.hang_up()
        for call in calls:
            assert (await failure(call)).code is Code.UNAVAILABLE
        with pytest.raises(CallFailed):
            await stream.read()
        assert (await failure(called(channel))).code is Code.UNAVAILABLE


@pytest.mark.parametrize("endpoint", ["127.0.0.1:1", "127.0.0.1:99999", f"{'x' * 70}.invalid:1"])
async def test_where_nobody_listens_is_said(endpoint: str) -> None:
    with pytest.raises(CallFailed, match=f"{endpoint} cannot be connected to"):
        await Channel.open(endpoint, None, 5)


async def test_a_stream_hands_over_messages_in_whatever_frames_they_come() -> None:
    async with connected() as (channel, peer):
        stream = channel.stream(channel.headers("/some/Stream", (), None))
        stream.write(b"watch")
        *_, number, data = await peer.hear(frames.DATA)
        assert data == message(b"watch")
        said = b"".join(message(b"%d" % index * 7) for index in range(5))
        peer.say(frame(frames.HEADERS, frames.END_HEADERS, number, encoded(OK)))
        for at in range(0, len(said), 5):
            peer.say(frame(frames.DATA, 0, number, said[at : at + 5]))
        peer.say(frame(frames.HEADERS, frames.END_HEADERS | frames.END_STREAM, number, encoded(DONE)))
        heard: list[bytes] = []
        while messages := await stream.read():
            heard += messages
        assert heard == [b"%d" % index * 7 for index in range(5)]


async def test_a_ping_is_answered_with_the_next_that_is_sent_or_soon() -> None:
    async with connected() as (_, peer):
        peer.say(frame(frames.PING, 0, 0, b"are you?"))
        assert (await peer.hear(frames.PING))[1:] == (frames.ACK, 0, b"are you?")


async def test_a_peer_that_stays_quiet_is_asked_and_then_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(channels, "KEEPALIVE_S", 0.02)
    monkeypatch.setattr(channels, "KEEPALIVE_TIMEOUT_S", 0.02)
    async with connected() as (channel, peer):
        call = called(channel)
        await peer.hear(frames.PING)
        assert "quiet" in (await failure(call)).details
