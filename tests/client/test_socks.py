"""A server behind a SOCKS5 proxy, as `ssh -D` offers one."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from attractor.client import NO_RETRY, Client, ClientConfig, ServerUnreachable, load_kubeconfig
from attractor.client.http import HttpTransport
from attractor.client.http.socks import SocksError, conversation
from attractor.embedded import EmbeddedCluster
from attractor.httpd.auth.authentication import ADMIN, Authenticator
from attractor.k8s.core_v1 import Namespace


class SocksProxy:
    """Answers as RFC 1928 has it, and connects its clients to where they want to be."""

    def __init__(self, login: bytes = b"", refusal: int = 0) -> None:
        self.login, self.refusal = login, refusal
        self.asked: list[bytes] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        _, count = await reader.readexactly(2)
        offered = await reader.readexactly(count)
        method = 2 if self.login else 0
        writer.write(bytes([5, method if method in offered else 0xFF]))
        if method not in offered:
            writer.close()
            return
        if self.login:
            given = await reader.readexactly(len(self.login))
            writer.write(bytes([1, given != self.login]))
        request = await reader.readexactly(10)
        self.asked.append(request)
        writer.write(bytes([5, self.refusal, 0, 3, 5]) + b"proxy\x00\x01")
        if self.refusal:
            writer.close()
            return
        host, port = ".".join(map(str, request[4:8])), int.from_bytes(request[8:], "big")
        there, onward = await asyncio.open_connection(host, port)
        async with asyncio.TaskGroup() as group:
            group.create_task(_pump(reader, onward))
            group.create_task(_pump(there, writer))

    @asynccontextmanager
    async def running(self) -> AsyncIterator[int]:
        async with await asyncio.start_server(self.serve, "127.0.0.1", 0) as server:
            yield server.sockets[0].getsockname()[1]


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(65536):
            writer.write(data)
    except ConnectionError:
        pass
    finally:
        writer.close()


@pytest.mark.parametrize(("login", "sent"), [("", b""), ("me:p%40s@", b"\x01\x02me\x03p@s")])
async def test_requests_and_watches_go_through_a_socks_proxy(tmp_path: Path, login: str, sent: bytes) -> None:
    proxy = SocksProxy(sent)
    trusting = Authenticator({"one": ADMIN})
    async with EmbeddedCluster(controllers=(), authenticator=trusting) as cluster, proxy.running() as port:
        address = await cluster.listen()
        (tmp_path / "config").write_text(f"""
            clusters: [{{name: a, cluster: {{server: "{address.url}", proxy-url: "socks5://{login}127.0.0.1:{port}"}}}}]
            users: [{{name: me, user: {{token: one}}}}]
            contexts: [{{name: a, context: {{cluster: a, user: me}}}}]
            current-context: a
        """)
        async with Client.connect(load_kubeconfig(tmp_path / "config")) as client:
            assert await client.list(Namespace)
            async with client.watch(Namespace) as events:
                assert await anext(events)
        assert set(proxy.asked) == {bytes([5, 1, 0, 1, 127, 0, 0, 1]) + address.port.to_bytes(2, "big")}


@pytest.mark.parametrize(
    ("proxy", "said"),
    [
        (SocksProxy(refusal=5), "the proxy has no way there: the connection was refused"),
        (SocksProxy(b"\x01\x02me\x02pw"), "the proxy wants a user and a password"),
    ],
)
async def test_a_socks_proxy_that_says_no_is_named(proxy: SocksProxy, said: str) -> None:
    async with proxy.running() as port:
        config = ClientConfig("https://127.0.0.1:1", proxy_url=f"socks5://127.0.0.1:{port}")
        async with Client(HttpTransport(config), retry=NO_RETRY) as client:
            with pytest.raises(ServerUnreachable, match=f"127.0.0.1:1 through proxy 127.0.0.1:{port}: {said}"):
                await client.list(Namespace)


def test_names_are_looked_up_by_the_proxy() -> None:
    talk = conversation("api.example.org", 6443, None)
    assert next(talk) == (b"\x05\x01\x00", 2)
    assert talk.send(b"\x05\x00") == (b"\x05\x01\x00\x03\x0fapi.example.org" + (6443).to_bytes(2, "big"), 4)
    assert talk.send(b"\x05\x00\x00\x04") == (b"", 18)


def test_who_does_not_speak_socks_is_told_apart() -> None:
    assert next(conversation("h", 1, ("me", "pw"))) == (b"\x05\x02\x00\x02", 2)
    with pytest.raises(SocksError, match="does not speak SOCKS5"):
        conversation_with(b"HT")
    with pytest.raises(SocksError, match="does not accept the user and the password"):
        conversation_with(b"\x05\x02", b"\x01\x01")


def conversation_with(*answers: bytes) -> None:
    talk = conversation("h", 1, ("me", "pw"))
    next(talk)
    for answer in answers:
        talk.send(answer)


@pytest.mark.parametrize(
    ("host", "login", "said"),
    [
        (f"{'a' * 64}.example.org", None, "no name of a host"),
        (".".join(["a" * 60] * 5), None, "255 bytes"),
        ("example.org", ("user", "p" * 256), "255 bytes"),
    ],
)
def test_what_socks_cannot_say_is_an_error_that_names_it(host: str, login: tuple[str, str] | None, said: str) -> None:
    talk = conversation(host, 443, login)
    next(talk)
    with pytest.raises(SocksError, match=said):
        talk.send(b"\x05\x02" if login else b"\x05\x00")
