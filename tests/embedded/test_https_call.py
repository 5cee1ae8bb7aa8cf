"""Calls of webhooks that get no usable answer say why, in the words of Go's client."""

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from attractor.embedded.webhooks.https_call import MAX_ANSWER_BYTES, CallError, HttpsCaller, Place
from tests.apiserver.admission.webhookserver import authority

_PIECE = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"


@asynccontextmanager
async def answering(*pieces: bytes) -> AsyncIterator[Place]:
    """A server that says this to every request and hangs up."""
    bundle, context = authority()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.readuntil(b"\r\n\r\n")
            for piece in pieces:
                writer.write(piece)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.transport.abort() if not pieces else writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", ssl=context)
    async with server:
        yield Place("127.0.0.1", server.sockets[0].getsockname()[1], "127.0.0.1", base64.b64decode(bundle))


@pytest.mark.parametrize(
    ("pieces", "said"),
    [
        ((), "EOF"),
        ((b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf",), "unexpected EOF"),
        ((b"hello\r\n\r\n",), "malformed HTTP response: "),
        (
            (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", *[_PIECE] * (MAX_ANSWER_BYTES // 0x10000 + 1)),
            "malformed HTTP response: the answer is larger than allowed",
        ),
    ],
    ids=["none", "half", "no HTTP", "too large"],
)
async def test_an_answer_that_cannot_be_used_is_told(pieces: tuple[bytes, ...], said: str) -> None:
    caller = HttpsCaller()
    async with answering(*pieces) as place:
        with pytest.raises(CallError) as caught:
            await caller.post(place, "/", b"{}")
    assert str(caught.value).startswith(said)
    caller.close()


async def test_nobody_there_and_nobody_to_be_trusted_are_told_apart() -> None:
    caller = HttpsCaller()
    async with answering(b"") as place:
        with pytest.raises(CallError, match="tls: failed to verify certificate: x509: "):
            await caller.post(place._replace(ca_bundle=b""), "/", b"{}")
        with pytest.raises(CallError, match=r"tls: .*see that caBundle holds PEM certificates"):
            await caller.post(place._replace(ca_bundle=b"no certificate"), "/", b"{}")
    with pytest.raises(CallError, match="connect: connection refused"):
        await caller.post(place, "/", b"{}")
    caller.close()
