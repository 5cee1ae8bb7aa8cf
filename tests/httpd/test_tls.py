"""TLS at the server's end: who does not speak it, who does not go on, and what comes in pieces."""

import asyncio
import ssl
from collections.abc import AsyncIterator

import pytest

from attractor.httpd.auth.certificates import CertificateFiles, ensure_certificates
from attractor.httpd.limits import Limits
from attractor.httpd.listener import Listener
from attractor.httpd.pages.metrics import Metrics
from attractor.httpd.parser import HttpRequest
from attractor.httpd.reply import Reply
from attractor.httpd.tls import server_context
from tests.httpd.wire import PATIENCE_S, connected

BIG = b"x" * 3_000_000


def answer(request: HttpRequest, peer: object) -> Reply:
    return Reply(200, BIG if request.path == "/big" else request.body)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> CertificateFiles:
    return ensure_certificates(tmp_path_factory.mktemp("certificates"), ["127.0.0.1"])


@pytest.fixture
async def listener(files: CertificateFiles) -> AsyncIterator[Listener]:
    limits = Limits(head_s=0.2, idle_s=30)
    found = Listener(answer, limits=limits, observer=Metrics(), tls=server_context(files.cert, files.key))
    await found.start("127.0.0.1", 0)
    yield found
    await found.aclose(grace_s=0.5)


def trusting(files: CertificateFiles) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=str(files.ca))


async def test_who_speaks_plain_http_is_told_so_in_gos_words(listener: Listener) -> None:
    async with connected(listener.port) as wire:
        wire.request("GET", "/version")
        said = await wire.rest()
    assert said == b"HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n"


async def test_who_says_nothing_at_all_is_disconnected_in_time(listener: Listener) -> None:
    async with connected(listener.port) as wire:
        assert await wire.rest() == b""
    assert listener.connections == 0


async def test_requests_and_answers_of_many_records_come_whole(listener: Listener, files: CertificateFiles) -> None:
    async with connected(listener.port, trusting(files)) as wire:
        wire.request("POST", "/", BIG[: 2 << 20])
        assert (await wire.answer()).body == BIG[: 2 << 20]
        wire.request("GET", "/big")
        assert (await wire.answer()).body == BIG


async def test_a_greeting_in_single_bytes_is_understood(listener: Listener, files: CertificateFiles) -> None:
    loop, incoming, outgoing = asyncio.get_running_loop(), ssl.MemoryBIO(), ssl.MemoryBIO()
    session = trusting(files).wrap_bio(incoming, outgoing, server_hostname="127.0.0.1")
    reader, writer = await asyncio.open_connection("127.0.0.1", listener.port)
    began = loop.time()
    while loop.time() < began + PATIENCE_S:
        try:
            session.do_handshake()
            break
        except ssl.SSLWantReadError:
            for byte in outgoing.read():
                writer.write(bytes([byte]))
                await writer.drain()
            incoming.write(await reader.read(65536))
    session.write(b"GET / HTTP/1.1\r\nHost: t\r\n\r\n")
    for byte in outgoing.read():
        writer.write(bytes([byte]))
        await writer.drain()
    data = b""
    while not data:
        incoming.write(await reader.read(65536))
        try:
            data = session.read(65536)
        except ssl.SSLWantReadError:
            continue
    writer.transport.abort()
    assert data.startswith(b"HTTP/1.1 200 OK\r\n")
