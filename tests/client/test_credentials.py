"""Credentials that change, TLS, client certificates and proxies, against real listeners."""

import asyncio
import json
import ssl
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from attractor.cache import Cache
from attractor.client import NO_RETRY, Client, ClientConfig, ConfigError, CredentialsUnavailable, ServerUnreachable
from attractor.client.configuration.config import tls_context
from attractor.client.configuration.credentials import (
    ClientCertificate,
    Credential,
    Credentials,
    ExecConfig,
    ExecPlugin,
    StaticCredentials,
    TokenFile,
)
from attractor.client.http import HttpTransport
from attractor.client.http.proxies import Proxy, environment_proxy
from attractor.embedded import Address, EmbeddedCluster
from attractor.httpd.auth.authentication import ADMIN, Authenticator
from attractor.httpd.auth.certificates import CertificateFiles, ensure_certificates, issue_client_certificate
from attractor.httpd.tls import server_context
from attractor.k8s.core_v1 import ConfigMap, Namespace
from attractor.objects.errors import Unauthorized
from attractor.objects.resource import ObjectMeta
from attractor.testing import eventually


class Secure:
    """A cluster on HTTPS."""

    def __init__(self, cluster: EmbeddedCluster, address: Address, files: CertificateFiles) -> None:
        self.cluster, self.address, self.files = cluster, address, files
        self.ca = files.ca.read_bytes()

    def client(self, credentials: Credentials, **options: object) -> Client:
        config = ClientConfig(self.address.url, credentials, ca=self.ca)
        for name, value in options.items():
            object.__setattr__(config, name, value)
        return Client(HttpTransport(config), retry=NO_RETRY)


@pytest.fixture
async def secure(tmp_path: Path) -> AsyncIterator[Secure]:
    files = ensure_certificates(tmp_path / "tls", ["127.0.0.1", "kubernetes"])
    async with EmbeddedCluster(controllers=(), authenticator=Authenticator({"one": ADMIN})) as cluster:
        tls = server_context(files.cert, files.key, files.ca)
        yield Secure(cluster, await cluster.listen(tls=tls), files)


async def test_a_client_certificate_says_who_asks(secure: Secure, tmp_path: Path) -> None:
    certificate, key = issue_client_certificate(tmp_path / "tls", "jane", ["system:masters"], timedelta(hours=1))
    pair = ClientCertificate(certificate, key)
    async with secure.client(StaticCredentials(Credential(certificate=pair))) as client:
        assert len(await client.list(Namespace)) == 4
    broken = ClientCertificate(certificate, b"-----BEGIN PRIVATE KEY-----\nx\n-----END PRIVATE KEY-----")
    with pytest.raises(ConfigError, match="cannot be used"):
        tls_context(ClientConfig("https://h"), broken)


async def test_a_server_of_another_authority_is_not_trusted(secure: Secure, tmp_path: Path) -> None:
    other = ensure_certificates(tmp_path / "other", ["127.0.0.1"]).ca.read_bytes()
    for ca in (other, None):
        async with secure.client(StaticCredentials(), ca=ca) as client:
            with pytest.raises(ServerUnreachable, match="not trusted"):
                await client.list(Namespace)
    with pytest.raises(ConfigError, match="no PEM certificate"):
        tls_context(ClientConfig("https://h", ca=b"nonsense"), None)


async def test_the_servers_name_can_be_told_and_verification_can_be_switched_off(secure: Secure) -> None:
    token = StaticCredentials(Credential("Bearer one"))
    async with secure.client(token, tls_server_name="kubernetes") as client:
        assert await client.list(Namespace)
    async with secure.client(token, tls_server_name="elsewhere") as client:
        with pytest.raises(ServerUnreachable, match="not trusted"):
            await client.list(Namespace)
    async with secure.client(token, verify=False, ca=None) as client:
        assert await client.list(Namespace)


async def test_a_token_file_that_rotates_is_read_again_when_its_token_is_refused(
    secure: Secure, tmp_path: Path
) -> None:
    path = tmp_path / "token"
    path.write_text("one\n")
    async with secure.client(TokenFile(path)) as client:
        assert await client.list(Namespace)
        secure.cluster.authenticator._by_digest.clear()
        secure.cluster.authenticator.add("two", ADMIN)
        path.write_text("two\n")
        assert await client.list(Namespace)
        async with client.watch(Namespace) as events:
            assert await anext(events)
        path.write_text("three\n")
        assert await client.list(Namespace)
        secure.cluster.authenticator._by_digest.clear()
        with pytest.raises(Unauthorized):
            await client.list(Namespace)


async def test_a_token_file_is_looked_at_again_after_a_while_and_survives_being_away_or_empty(tmp_path: Path) -> None:
    clock = [0.0]
    path = tmp_path / "token"
    with pytest.raises(ConfigError, match="cannot be read"):
        await TokenFile(path).current()
    path.write_text("one")
    tokens = TokenFile(path, now=lambda: clock[0])
    seen = []
    for at, text in ((0, "one"), (5, "two"), (11, "two"), (22, None), (33, "three"), (44, "")):
        clock[0] = at
        path.unlink() if text is None else path.write_text(text)
        seen.append((await tokens.current()).authorization)
    assert seen == ["Bearer one", "Bearer one", "Bearer two", "Bearer two", "Bearer three", "Bearer three"]


def plugin(directory: Path, body: str, **options: object) -> ExecConfig:
    script = directory / "plugin.py"
    script.write_text(f"import json, os, sys\n{body}\n")
    return ExecConfig(sys.executable, (str(script),), {"COUNTER": str(directory / "count")}, **options)  # type: ignore[arg-type]


COUNTING = """
path = os.environ["COUNTER"]
count = int(open(path).read()) + 1 if os.path.exists(path) else 1
open(path, "w").write(str(count))
info = json.loads(os.environ["KUBERNETES_EXEC_INFO"])
status = {"token": f"t{count}", "expirationTimestamp": os.environ.get("EXPIRY")}
print(json.dumps({"kind": "ExecCredential", "apiVersion": info["apiVersion"], "status": status}))
"""


async def test_a_plugin_runs_once_until_its_credential_expires_or_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expiry = datetime(2026, 1, 1, tzinfo=UTC)
    monkeypatch.setenv("EXPIRY", expiry.strftime("%Y-%m-%dT%H:%M:%SZ"))
    clock = [expiry.timestamp() - 3600]
    tokens = ExecPlugin(plugin(tmp_path, COUNTING), now=lambda: clock[0])
    async with asyncio.TaskGroup() as group:
        asked = [group.create_task(tokens.current()) for _ in range(3)]
    assert {task.result().authorization for task in asked} == {"Bearer t1"}
    clock[0] = expiry.timestamp() - 20
    assert (await tokens.current()).authorization == "Bearer t2"
    clock[0] = expiry.timestamp() - 3600
    current = await tokens.current()
    assert tokens.rejected(current)
    assert (await tokens.current()).authorization == "Bearer t3"


WRONG_PLUGINS = [
    ("sys.exit('not logged in')", "failed with 1: not logged in"),
    ("print('hello')", "no usable ExecCredential"),
    ('print(json.dumps({"kind": "ExecCredential", "apiVersion": "v0", "status": {}}))', "printed no client"),
    (
        'print(json.dumps({"kind": "ExecCredential", "apiVersion": "client.authentication.k8s.io/v1", "status": {}}))',
        "neither a token nor a certificate",
    ),
]


@pytest.mark.parametrize(("body", "text"), WRONG_PLUGINS)
async def test_a_plugin_that_fails_says_why(tmp_path: Path, body: str, text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        await ExecPlugin(plugin(tmp_path, body)).current()


async def test_a_plugin_that_fails_for_a_while_delays_a_view_and_ends_nothing(secure: Secure, tmp_path: Path) -> None:
    logged_in = tmp_path / "logged-in"
    status = '{"kind": "ExecCredential", "apiVersion": "client.authentication.k8s.io/v1", "status": {"token": "one"}}'
    body = f"os.path.exists({str(logged_in)!r}) or sys.exit('not logged in')\nprint({status!r})"
    async with secure.client(ExecPlugin(plugin(tmp_path, body))) as client:
        with pytest.raises(CredentialsUnavailable, match="failed with 1: not logged in"):
            await client.list(Namespace)
        cache = Cache(client)
        informer = cache.informer(Namespace)
        async with asyncio.TaskGroup() as group:
            following = group.create_task(cache.run())
            await eventually(lambda: "failed with 1: not logged in" in informer.health.why)
            logged_in.touch()
            await cache.wait_synced()
            following.cancel()


async def test_a_plugin_that_is_not_there_says_how_to_get_it() -> None:
    config = ExecConfig("no-such-plugin", install_hint="install it with apt")
    with pytest.raises(ConfigError, match=r"no-such-plugin cannot be run: .*\ninstall it with apt"):
        await ExecPlugin(config).current()


async def test_a_plugins_certificate_is_used_for_the_connection(secure: Secure, tmp_path: Path) -> None:
    certificate, key = issue_client_certificate(tmp_path / "tls", "jane", ["system:masters"], timedelta(hours=1))
    status = {"clientCertificateData": certificate.decode(), "clientKeyData": key.decode()}
    answer = {"kind": "ExecCredential", "apiVersion": "client.authentication.k8s.io/v1", "status": status}
    async with secure.client(ExecPlugin(plugin(tmp_path, f"print({json.dumps(answer)!r})"))) as client:
        assert await client.list(Namespace)


PROXIES = [
    ("https://h:6443", {"HTTPS_PROXY": "http://p:1"}, "p"),
    ("https://h:6443", {"https_proxy": "p:1"}, "p"),
    ("http://h", {"HTTPS_PROXY": "http://p:1"}, None),
    ("http://h", {"HTTP_PROXY": "http://p:1"}, "p"),
    ("https://h.example.org", {"HTTPS_PROXY": "p:1", "NO_PROXY": "example.org"}, None),
    ("https://h.example.org", {"HTTPS_PROXY": "p:1", "NO_PROXY": ".example.org"}, None),
    ("https://example.org", {"HTTPS_PROXY": "p:1", "NO_PROXY": ".example.org"}, "p"),
    ("https://h.example.org", {"HTTPS_PROXY": "p:1", "NO_PROXY": "*.example.org"}, None),
    ("https://anexample.org", {"HTTPS_PROXY": "p:1", "NO_PROXY": "example.org"}, "p"),
    ("https://h:6443", {"HTTPS_PROXY": "p:1", "NO_PROXY": "a,h:6443"}, None),
    ("https://h:6443", {"HTTPS_PROXY": "p:1", "NO_PROXY": "h:443"}, "p"),
    ("https://10.1.2.3", {"HTTPS_PROXY": "p:1", "NO_PROXY": "10.0.0.0/8"}, None),
    ("https://11.1.2.3", {"HTTPS_PROXY": "p:1", "NO_PROXY": "10.0.0.0/8,nonsense/9"}, "p"),
    ("https://[fd00::1]", {"HTTPS_PROXY": "p:1", "NO_PROXY": "fd00::/8"}, None),
    ("https://[fd00::1]:6443", {"HTTPS_PROXY": "p:1", "NO_PROXY": "fd00::1"}, None),
    ("https://h", {"HTTPS_PROXY": "p:1", "NO_PROXY": "*"}, None),
    ("https://127.0.0.1:6443", {"HTTPS_PROXY": "p:1"}, None),
    ("https://localhost", {"HTTPS_PROXY": "p:1"}, None),
    ("https://h", {}, None),
]


@pytest.mark.parametrize(("url", "environ", "host"), PROXIES)
def test_which_proxy_the_environment_asks_for(url: str, environ: dict[str, str], host: str | None) -> None:
    found = environment_proxy(url, environ)
    assert (found.host if found else None) == host


def test_a_proxys_address_is_understood_or_refused() -> None:
    assert Proxy.parse("http://user:p%40ss@proxy:3128") == Proxy("proxy", 3128, False, "Basic dXNlcjpwQHNz")
    assert Proxy.parse("https://proxy") == Proxy("proxy", 443, True)
    assert Proxy.parse("socks5://user:p%40ss@proxy") == Proxy("proxy", 1080, is_socks=True, login=("user", "p@ss"))
    with pytest.raises(ConfigError, match="give one such as http://proxy:3128 or socks5://localhost:1080"):
        Proxy.parse("socks4://proxy:1080")


@asynccontextmanager
async def tunnelling_proxy(
    answer: bytes = b"HTTP/1.1 200 Connection established\r\n\r\n", tls: ssl.SSLContext | None = None
) -> AsyncIterator[tuple[int, list[bytes]]]:
    """A proxy that connects its clients to where they want, or says no."""
    asked: list[bytes] = []

    async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(65536):
                writer.write(data)
        except (ConnectionError, ssl.SSLError):
            pass
        finally:
            writer.close()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        asked.append(head)
        writer.write(answer)
        if b" 200 " not in answer:
            writer.close()
            return
        host, _, port = head.split(b" ")[1].decode().rpartition(":")
        there, onward = await asyncio.open_connection(host, int(port))
        async with asyncio.TaskGroup() as group:
            group.create_task(pump(reader, onward))
            group.create_task(pump(there, writer))

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls)
    async with server:
        yield server.sockets[0].getsockname()[1], asked


async def test_https_goes_through_a_proxys_tunnel(secure: Secure) -> None:
    async with tunnelling_proxy() as (port, asked):
        token = StaticCredentials(Credential("Bearer one"))
        async with secure.client(token, proxy_url=f"http://me:pw@127.0.0.1:{port}") as client:
            assert await client.list(Namespace)
            async with client.watch(Namespace) as events:
                assert await anext(events)
        assert asked[0].startswith(f"CONNECT 127.0.0.1:{secure.address.port} HTTP/1.1\r\n".encode())
        assert b"Proxy-Authorization: Basic bWU6cHc=" in asked[0]
        assert b"Bearer" not in b"".join(asked)


async def test_a_proxy_may_itself_be_reached_over_tls(
    secure: Secure, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = ensure_certificates(tmp_path, ["127.0.0.1"])
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(files.cert, files.key)
    monkeypatch.setenv("SSL_CERT_FILE", str(files.ca))
    async with tunnelling_proxy(tls=context) as (port, asked):
        token = StaticCredentials(Credential("Bearer one"))
        async with secure.client(token, proxy_url=f"https://127.0.0.1:{port}") as client:
            big = ConfigMap(metadata=ObjectMeta(namespace="default", name="big"), data={"x": "y" * 300_000})
            assert await client.create(big)
            assert (await client.get(ConfigMap, big.key)).data == big.data
        assert asked[0].startswith(b"CONNECT ")


async def test_a_proxy_that_says_no_is_named(secure: Secure) -> None:
    refusing = tunnelling_proxy(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n")
    async with (
        refusing as (port, _),
        secure.client(StaticCredentials(), proxy_url=f"http://127.0.0.1:{port}") as client,
    ):
        with pytest.raises(ServerUnreachable, match=f"through proxy 127.0.0.1:{port}: the proxy answered .*407"):
            await client.list(Namespace)
