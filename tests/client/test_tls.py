"""A client's TLS without a socket: what it says, whom it trusts, and how it ends."""

import asyncio
import contextlib
import ssl
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from attractor.client import AnswerLost, ClientConfig, ClientRequest, ServerUnreachable
from attractor.client.http import HttpTransport
from attractor.httpd.auth.certificates import CertificateFiles, ensure_certificates
from attractor.wire.tls import TlsSession

GET = ClientRequest("GET", "/api/v1/namespaces")
Script = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class Server:
    """The other side of a session."""

    def __init__(self, files: CertificateFiles) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(files.cert, files.key)
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.session = context.wrap_bio(self.incoming, self.outgoing, server_side=True)

    def hear(self, data: bytes) -> None:
        self.incoming.write(data)
        with contextlib.suppress(ssl.SSLWantReadError):
            self.session.do_handshake()


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> CertificateFiles:
    return ensure_certificates(tmp_path_factory.mktemp("certificates"), ["127.0.0.1", "localhost"])


def session_for(files: CertificateFiles, name: str = "localhost") -> TlsSession:
    return TlsSession(ssl.create_default_context(cafile=str(files.ca)), name)


def greeted(client: TlsSession, server: Server) -> None:
    while not client.is_established:
        client.greet()
        server.hear(client.outgoing())
        client.receive(memoryview(server.outgoing.read()))


def test_both_sides_understand_each_other(files: CertificateFiles) -> None:
    client, server = session_for(files), Server(files)
    greeted(client, server)
    server.incoming.write(client.write(b"question"))
    assert server.session.read(100) == b"question"
    server.session.write(b"answer")
    assert client.read() == b""
    client.receive(memoryview(server.outgoing.read()))
    assert (client.read(), client.read(), client.is_ended) == (b"answer", b"", False)


def test_half_a_record_says_nothing_yet(files: CertificateFiles) -> None:
    client, server = session_for(files), Server(files)
    greeted(client, server)
    client.read()
    server.session.write(b"answer")
    data = server.outgoing.read()
    client.receive(memoryview(data[:7]))
    assert client.read() == b""
    client.receive(memoryview(data[7:]))
    assert client.read() == b"answer"


def test_the_end_is_told_from_silence(files: CertificateFiles) -> None:
    client, server = session_for(files), Server(files)
    greeted(client, server)
    with pytest.raises(ssl.SSLWantReadError):
        server.session.unwrap()
    client.receive(memoryview(server.outgoing.read()))
    while not client.is_ended:
        assert client.read() == b""


def test_a_certificate_for_another_name_is_not_trusted(files: CertificateFiles) -> None:
    with pytest.raises(ssl.SSLCertVerificationError, match=r"example\.org"):
        greeted(session_for(files, "example.org"), Server(files))


async def served(script: Script, files: CertificateFiles | None) -> tuple[asyncio.Server, int]:
    context = None
    if files is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(files.cert, files.key)

    async def run(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await script(reader, writer)
        finally:
            writer.close()

    server = await asyncio.start_server(run, "127.0.0.1", 0, ssl=context)
    return server, server.sockets[0].getsockname()[1]


def transport_to(port: int, files: CertificateFiles) -> HttpTransport:
    return HttpTransport(ClientConfig.of(f"https://127.0.0.1:{port}", token="t", ca=Path(files.ca).read_bytes()))


async def test_an_answer_of_many_records_comes_whole(files: CertificateFiles) -> None:
    async def big(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 300000\r\n\r\n" + b"x" * 300_000)
        await writer.drain()
        await reader.read()

    server, port = await served(big, files)
    async with server:
        transport = transport_to(port, files)
        assert (await transport.send(GET)).body == b"x" * 300_000
        await transport.aclose()


async def test_who_speaks_no_tls_is_unreachable(files: CertificateFiles) -> None:
    async def plain(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await writer.drain()

    server, port = await served(plain, None)
    async with server:
        with pytest.raises(ServerUnreachable, match="no connection to"):
            await transport_to(port, files).send(GET)


async def test_who_hangs_up_before_the_certificate_is_unreachable(files: CertificateFiles) -> None:
    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(10)

    server, port = await served(silent, None)
    async with server:
        with pytest.raises(ServerUnreachable, match="no connection to"):
            await transport_to(port, files).send(GET)


async def test_who_hangs_up_in_the_middle_of_an_answer_has_lost_it(files: CertificateFiles) -> None:
    async def half(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")
        await writer.drain()

    server, port = await served(half, files)
    async with server:
        transport = transport_to(port, files)
        with pytest.raises(AnswerLost):
            await transport.send(GET)
        await transport.aclose()
