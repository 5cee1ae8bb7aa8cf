"""Webhooks over HTTPS: an API server calls them, trusts them, and goes on trusting them."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from attractor import AdmissionRequest, ApiError, Client, EmbeddedCluster, Invalid, Key, validate
from attractor.httpd.connection import Peer
from attractor.httpd.heads import Head
from attractor.httpd.parser import HttpRequest
from attractor.k8s.apiextensions_v1 import CustomResourceDefinition
from attractor.k8s.core_v1 import Secret
from attractor.objects.gvk import GroupVersionKind
from attractor.webhooks import WebhookSet
from attractor.webhookserver import (
    FileCertificates,
    MemoryCertificates,
    Publisher,
    SecretCertificates,
    WebhookServer,
)
from tests.webhooks.backups import Backup, BackupV1, down, old_backup, up
from tests.webhooks.services import WebService, fits, service, sized

HOOKS = WebhookSet([sized, fits])
MUTATING = GroupVersionKind("admissionregistration.k8s.io", "v1", "MutatingWebhookConfiguration")
SECRET = Key("default", "web-certificate")
NOW = datetime.now(UTC)
REVIEW = b'{"request":{"uid":"1","object":{"apiVersion":"web.example.org/v1","kind":"WebService","spec":{}}}}'


@validate(WebService)
def fails(obj: WebService, request: AdmissionRequest[WebService]) -> None:
    """Has a mistake."""
    obj.spec.replicas //= 0


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    async with EmbeddedCluster() as cluster, cluster.client() as client:
        await client.create(CustomResourceDefinition.from_dict(WebService.crd()))
        yield client


def local(client: Client, keeper: Any, **options: Any) -> WebhookServer:
    """A server that the API server calls by its address."""
    publisher = Publisher(client, "web", HOOKS, lambda path: {"url": f"https://127.0.0.1:{server.port}{path}"})
    server = WebhookServer(HOOKS, keeper, publisher, **options)
    return server


async def test_an_api_server_calls_the_functions_and_trusts_them(client: Client) -> None:
    async with local(client, MemoryCertificates(["127.0.0.1"])).serving("127.0.0.1", 0):
        made = await client.create(service(tier="large"))
        assert made.spec.replicas == 3
        made.spec.tier = "small"
        with pytest.raises(Invalid, match=r"spec.tier: cannot be changed"):
            await client.update(made)


async def test_versions_are_converted_and_the_definition_says_by_whom(client: Client) -> None:
    hooks = WebhookSet([up, down])
    (definition,) = hooks.definitions([Backup], lambda path: {"url": f"https://127.0.0.1:1{path}"})
    await client.create(CustomResourceDefinition.from_dict(definition))
    publisher = Publisher(client, "web", hooks, lambda path: {"url": f"https://127.0.0.1:{server.port}{path}"})
    server = WebhookServer(hooks, MemoryCertificates(["127.0.0.1"]), publisher)
    async with server.serving("127.0.0.1", 0):
        await client.create(old_backup(cron="7 8"))
        assert (await client.get(Backup, Key("default", "a"))).spec.schedule.hour == "8"
        assert (await client.get(BackupV1, Key("default", "a"))).spec.cron == "7 8"


async def test_renewed_certificates_are_shown_and_trusted_without_a_pause(client: Client) -> None:
    at = [NOW - timedelta(days=61)]
    server = local(client, SecretCertificates(client, SECRET, ["127.0.0.1"]), now=lambda: at[0])
    async with server.serving("127.0.0.1", 0):
        first = (await client.get(Secret, SECRET)).data
        at[0] = NOW
        assert await server.check()
        second = (await client.get(Secret, SECRET)).data
        assert (second["ca.crt"], second["tls.crt"] != first["tls.crt"]) == (first["ca.crt"], True)
        await client.create(service())


async def test_replicas_share_one_certificate_whoever_makes_it(client: Client) -> None:
    keepers = [SecretCertificates(client, SECRET, ["web.default.svc"]) for _ in range(4)]
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(keeper.current(NOW)) for keeper in keepers]
    assert len({task.result() for task in tasks}) == 1


async def test_an_empty_secret_from_the_manifests_is_filled(client: Client) -> None:
    await client.apply(
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": SECRET.name, "namespace": SECRET.namespace}},
        field_manager="kubectl",
    )
    shown = await SecretCertificates(client, SECRET, ["web.default.svc"]).current(NOW)
    assert (await client.get(Secret, SECRET)).data["tls.crt"] == shown.cert


async def test_certificates_from_files_are_shown_and_reloaded_and_nothing_is_published(
    client: Client, tmp_path: Path
) -> None:
    async def write() -> None:
        made = await MemoryCertificates(["127.0.0.1"]).current(NOW)
        for name, content in zip(("tls.crt", "tls.key", "ca.crt"), made, strict=True):
            (tmp_path / name).write_bytes(content)

    await write()
    files = tmp_path / "tls.crt", tmp_path / "tls.key"
    server = local(client, FileCertificates(*files))
    async with server.serving("127.0.0.1", 0):
        with pytest.raises(ApiError):
            await client.get(MUTATING, Key("", "web"))
    server = local(client, FileCertificates(*files, tmp_path / "ca.crt"))
    async with server.serving("127.0.0.1", 0):
        assert (await client.create(service("a", tier="large"))).spec.replicas == 3
        await write()
        assert await server.check()
        assert (await client.create(service("b", tier="large"))).spec.replicas == 3


async def test_a_renewal_that_fails_is_told_and_what_is_shown_stays(
    client: Client, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    made = await MemoryCertificates(["127.0.0.1"]).current(NOW)
    for name, content in zip(("tls.crt", "tls.key", "ca.crt"), made, strict=True):
        (tmp_path / name).write_bytes(content)
    server = local(client, FileCertificates(tmp_path / "tls.crt", tmp_path / "tls.key", tmp_path / "ca.crt"))
    async with server.serving("127.0.0.1", 0):
        (tmp_path / "tls.key").unlink()
        assert not await server.check()
        await client.create(service())
    assert "webhook certificate was not renewed" in caplog.text


async def test_withdrawn_webhooks_are_asked_no_more(client: Client) -> None:
    publisher = Publisher(client, "web", HOOKS, lambda path: {"url": f"https://127.0.0.1:1{path}"})
    await publisher.publish((await MemoryCertificates(["127.0.0.1"]).current(NOW)).bundle)
    with pytest.raises(ApiError, match="connection refused"):
        await client.create(service())
    await publisher.withdraw()
    await publisher.withdraw()
    await client.create(service())


@pytest.mark.parametrize(
    ("method", "path", "body", "code", "text"),
    [
        ("GET", "/validate/fits", b"", 405, b"POST"),
        ("POST", "/validate/fits", b"no json", 400, b"no review"),
        ("POST", "/validate/fits", b"[]", 400, b"no review"),
        ("POST", "/validate/other", b'{"request":{"uid":"1"}}', 404, b"there are /validate/fits, /validate/fails"),
        ("POST", "/validate/fails", REVIEW, 500, b"ZeroDivisionError"),
    ],
)
async def test_what_is_no_review_is_refused(method: str, path: str, body: bytes, code: int, text: bytes) -> None:
    server = WebhookServer(WebhookSet([fits, fails]), MemoryCertificates([]))
    reply = server.answer(HttpRequest(method, path, Head({}), body), Peer("127.0.0.1:1"))
    assert reply.code == code
    assert text in reply.body
