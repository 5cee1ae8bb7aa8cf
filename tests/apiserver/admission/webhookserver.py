"""A webhook on this machine, over HTTPS with an authority of its own."""

import asyncio
import base64
import datetime as dt
import ipaddress
import json
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

Respond = Callable[[dict[str, Any]], dict[str, Any]]
"""From a review's request to its response."""


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _certificate(subject: str, issuer: str, key: Any, signer: Any, *, is_ca: bool) -> x509.Certificate:
    now = dt.datetime.now(dt.UTC)
    names = [x509.DNSName("hook.default.svc"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    builder = (
        x509.CertificateBuilder()
        .subject_name(_name(subject))
        .issuer_name(_name(issuer))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(hours=1))
        .not_valid_after(now + dt.timedelta(hours=1))
        .add_extension(x509.BasicConstraints(ca=is_ca, path_length=None), critical=True)
    )
    if not is_ca:
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    return builder.sign(signer, hashes.SHA256())


@cache
def authority() -> tuple[str, ssl.SSLContext]:
    """The authority's certificate as a caBundle, and the context of a server that it vouches for."""
    ca_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    ca = _certificate("test authority", "test authority", ca_key, ca_key, is_ca=True)
    leaf = _certificate("webhook", "test authority", key, ca_key, is_ca=False)
    pem = serialization.Encoding.PEM
    plain = serialization.NoEncryption()
    with TemporaryDirectory() as directory:
        chain = Path(directory) / "chain.pem"
        chain.write_bytes(key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain) + leaf.public_bytes(pem))
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(chain)
    return base64.b64encode(ca.public_bytes(pem)).decode(), context


class Webhook:
    """What a running webhook was asked, and where it is."""

    def __init__(self, respond: Respond) -> None:
        self.respond = respond
        self.requests: list[dict[str, Any]] = []
        self.paths: list[str] = []
        self.connections = 0
        self.open: dict[asyncio.Task[None], asyncio.StreamWriter] = {}
        self.port = 0
        self.code = 200
        self.is_silent = False
        """Whether it takes requests and never answers."""
        self.wrong_uid = False
        self.hangs_up = False
        """Whether it closes the connection after each answer, without saying so."""

    def client_config(self, path: str = "/") -> dict[str, Any]:
        return {"url": f"https://127.0.0.1:{self.port}{path}", "caBundle": authority()[0]}

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.current_task()
        assert task is not None
        self.open[task] = writer
        try:
            while (head := await reader.readuntil(b"\r\n\r\n")) is not None:
                lines = head.decode().split("\r\n")
                size = next(int(line[15:]) for line in lines if line.lower().startswith("content-length:"))
                self.paths.append(lines[0].split(" ")[1])
                review = json.loads(await reader.readexactly(size))
                self.requests.append(review["request"])
                if self.is_silent:
                    await reader.read()
                    return
                body = self._answer(review)
                writer.write(b"HTTP/1.1 %d X\r\nContent-Length: %d\r\n\r\n%b" % (self.code, len(body), body))
                await writer.drain()
                if self.hangs_up:
                    return
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    def _answer(self, review: dict[str, Any]) -> bytes:
        uid = "another" if self.wrong_uid else review["request"]["uid"]
        response = {"uid": uid, **self.respond(review["request"])}
        return json.dumps({"kind": review["kind"], "apiVersion": review["apiVersion"], "response": response}).encode()


@asynccontextmanager
async def webhook(respond: Respond) -> AsyncIterator[Webhook]:
    hook = Webhook(respond)
    server = await asyncio.start_server(hook.serve, "127.0.0.1", 0, ssl=authority()[1])
    hook.port = server.sockets[0].getsockname()[1]
    try:
        yield hook
    finally:
        server.close()
        for writer in hook.open.values():
            writer.transport.abort()
        if hook.open:
            await asyncio.wait(hook.open)


def allow(request: dict[str, Any]) -> dict[str, Any]:
    return {"allowed": True}


def deny(message: str = "no", **status: Any) -> Respond:
    return lambda request: {"allowed": False, "status": {"message": message, **status}}


def patching(*operations: dict[str, Any]) -> Respond:
    text = base64.b64encode(json.dumps(operations).encode()).decode()
    return lambda request: {"allowed": True, "patchType": "JSONPatch", "patch": text}
