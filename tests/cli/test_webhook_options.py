"""Webhooks on the command line: asked by an embedded cluster, served to another, printed as manifests."""

import asyncio
import os
import socket
import sys
from asyncio.subprocess import PIPE
from pathlib import Path
from typing import Any

import pytest
import yaml

from attractor import Client, EmbeddedCluster, Invalid, load_kubeconfig
from attractor.apiserver.request.caller import User
from attractor.cli.main import main
from attractor.k8s.core_v1 import Secret
from attractor.objects.errors import Forbidden
from attractor.objects.gvk import GroupVersionKind, Key
from attractor.webhooks import WebhookSet
from attractor.webhookserver import Publisher, SecretCertificates, WebhookServer
from tests.serving import Serving
from tests.webhooks.services import WebService, fits, service, sized

OPERATOR = """
from attractor import Context, Key, controller
from tests.webhooks.services import WebService, fits, sized


@controller(for_=WebService)
async def services(ctx: Context, key: Key) -> None:
    await ctx.find(WebService, key)
"""
MUTATING = GroupVersionKind("admissionregistration.k8s.io", "v1", "MutatingWebhookConfiguration")


@pytest.fixture
def module(tmp_path: Path) -> str:
    (tmp_path / "web.py").write_text(OPERATOR)
    return str(tmp_path / "web.py")


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[dict[str, Any]]:
    assert main(["manifests", *arguments]) == 0
    return list(yaml.safe_load_all(capsys.readouterr().out))


async def test_the_printed_manifests_let_the_operator_register_its_webhooks_and_nothing_else(
    module: str, capsys: pytest.CaptureFixture[str]
) -> None:
    documents = printed(capsys, module, "--namespace", "default", "--image", "example.org/web:1")
    kinds = [one["kind"] for one in documents]
    assert {"Service", "Secret", "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"} <= set(kinds)
    deployment = next(one for one in documents if one["kind"] == "Deployment")
    arguments = deployment["spec"]["template"]["spec"]["containers"][0]["args"]
    assert "--webhooks-service=default/web-webhooks" in arguments
    user = User("system:serviceaccount:default:web", groups=("system:serviceaccounts", "system:authenticated"))
    port = free_port()
    addresses = {("default", "web-webhooks"): ("127.0.0.1", port)}
    async with EmbeddedCluster(service_addresses=addresses) as cluster, cluster.client() as client:
        for document in documents:
            await client.apply(document, field_manager="test")
        own, hooks = Client(cluster.transport(user)), WebhookSet([sized, fits])
        keeper = SecretCertificates(own, Key("default", "web-webhooks-certificate"), ["web-webhooks.default.svc"])
        publisher = Publisher(own, "web-webhooks", hooks, at_service, spared=("default", "kube-system"))
        server = WebhookServer(hooks, keeper, publisher)
        async with server.serving("127.0.0.1", port):
            found = await client.get(MUTATING, Key("", "web-webhooks"))
            assert found["webhooks"][0]["clientConfig"]["caBundle"]
            assert (await client.create(service(tier="large"))).spec.replicas == 3
        with pytest.raises(Forbidden):
            await own.get(Secret, Key("default", "another"))
        with pytest.raises(Forbidden):
            await own.apply({**found, "metadata": {"name": "another"}}, field_manager="test")


def at_service(path: str) -> dict[str, Any]:
    return {"service": {"namespace": "default", "name": "web-webhooks", "path": path}}


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    return port


def test_cert_manager_makes_the_certificate_on_demand(module: str, capsys: pytest.CaptureFixture[str]) -> None:
    documents = printed(capsys, module, "--cert-manager", "--namespace", "ops")
    by_kind = {one["kind"]: one for one in documents}
    assert by_kind["Certificate"]["spec"]["dnsNames"][0] == "web-webhooks.ops.svc"
    annotations = by_kind["ValidatingWebhookConfiguration"]["metadata"]["annotations"]
    assert annotations == {"cert-manager.io/inject-ca-from": "ops/web-webhooks"}
    pod = by_kind["Deployment"]["spec"]["template"]["spec"]
    assert pod["volumes"][0]["secret"] == {"secretName": "web-webhooks-certificate"}
    assert "Secret" not in by_kind


@pytest.mark.parametrize(
    ("options", "hint"),
    [
        (["--webhooks", "127.0.0.1:0"], "an embedded one asks in process"),
        (["--kubeconfig", "x", "--webhooks-service", "a/b"], "give --webhooks HOST:PORT"),
        (["--kubeconfig", "x", "--webhooks", "127.0.0.1:0", "--webhooks-cert", "f"], "give both, or neither"),
    ],
)
def test_options_that_would_be_given_in_vain_are_refused(
    module: str, options: list[str], hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", module, *options]) == 2
    assert hint in capsys.readouterr().err


def test_two_webhooks_of_one_name_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "twice.py").write_text(
        OPERATOR
        + "\n\nfrom attractor import validate\nagain = validate(WebService, name='fits')(lambda obj, request: None)\n"
    )
    assert main(["run", str(tmp_path / "twice.py")]) == 2
    assert "two webhooks are called 'fits'" in capsys.readouterr().err


@pytest.mark.slow
async def test_a_cluster_elsewhere_calls_the_webhooks_of_a_running_operator(module: str, tmp_path: Path) -> None:
    server = Serving(tmp_path / "server").start()
    try:
        port = free_port()
        command = [sys.executable, "-m", "attractor", "run", module, "--kubeconfig", str(server.kubeconfig)]
        command += ["--install-crds", "--webhooks", f"127.0.0.1:{port}"]
        where = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
        operator = await asyncio.create_subprocess_exec(*command, stdout=PIPE, env=where)
        assert operator.stdout is not None
        said = await operator.stdout.readuntil(b"running:     services\n")
        assert f"webhooks:    https://127.0.0.1:{port}" in said.decode()
        async with Client.connect(load_kubeconfig(server.kubeconfig)) as client:
            made = await client.create(service(tier="large"))
            assert made.spec.replicas == 3
            with pytest.raises(Invalid, match="10 at most"):
                await client.patch(WebService, made.key, {"spec": {"replicas": 11}})
            operator.terminate()
            assert await operator.wait() == 0
            await client.patch(WebService, made.key, {"spec": {"replicas": 11}})  # nobody is asked any more
    finally:
        server.stop()
