"""`attractor run`, `crd` and `manifests`: what they print, what a cluster says to it, and how they refuse."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from attractor.apiserver.operation import User
from attractor.cli.main import main
from attractor.cli.reloading import stamps
from attractor.client import Client
from attractor.objects.builtin.core_v1 import ConfigMap
from attractor.objects.errors import Forbidden
from attractor.objects.gvk import Key
from attractor.objects.resource import ObjectMeta
from attractor.operators.configpair.controller import configpair
from attractor.operators.configpair.types import ConfigPair, ConfigPairSpec
from attractor.runtime import Election, Manager, Permission, Watches, controller
from attractor.runtime.manifests import rules
from attractor.testing import ClusterUnderTest, eventually
from tests.runtime.things import Thing

OPERATOR = "attractor.operators.configpair.controller:configpair"
ACCOUNT = User(
    "system:serviceaccount:default:configpair",
    groups=("system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated"),
)


def test_crds_are_printed_for_the_modules_kinds(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["crd", OPERATOR]) == 0
    (printed,) = yaml.safe_load_all(capsys.readouterr().out)
    assert printed == ConfigPair.crd()


async def test_the_printed_manifests_are_accepted_and_grant_just_enough(
    cluster: ClusterUnderTest, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["manifests", OPERATOR, "--image", "example.org/pairs:1", "--name", "configpair"]) == 0
    documents = list(yaml.safe_load_all(capsys.readouterr().out))
    assert [one["kind"] for one in documents] == [
        "CustomResourceDefinition",
        "ServiceAccount",
        "ClusterRole",
        "ClusterRoleBinding",
        "Role",
        "RoleBinding",
        "Deployment",
        "PodDisruptionBudget",
    ]
    for document in documents:
        await cluster.client.apply(document, field_manager="test")
    await cluster.install(ConfigPair)
    client = Client(cluster.embedded.transport(ACCOUNT))
    election = Election("configpair-leader", "default", "one")
    async with Manager(client, [configpair], election=election).running():
        meta = ObjectMeta(name="web", namespace="default")
        pair = await cluster.client.create(ConfigPair(metadata=meta, spec=ConfigPairSpec(value="red")))

        async def is_kept() -> bool:
            return (await cluster.client.get(ConfigMap, Key("default", "web-cm2"))).data == {"value": "red"}

        await eventually(is_kept)
        with pytest.raises(Forbidden):
            await client.delete(ConfigPair, pair.key)


def test_rules_follow_from_the_declaration_and_permissions_add_to_them() -> None:
    async def reconcile(ctx: object, key: object) -> None:
        return None

    declared = controller(
        reconcile,
        for_=Thing,
        watches=[Watches(ConfigMap, lambda _: [])],
        permissions=[Permission(ConfigMap, ("create",))],
    )
    assert rules([declared]) == [
        {"apiGroups": [""], "resources": ["events"], "verbs": ["create", "patch"]},
        {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "watch", "create"]},
        {
            "apiGroups": ["test.attractor.dev"],
            "resources": ["things"],
            "verbs": ["get", "list", "watch", "update", "patch"],
        },
        {"apiGroups": ["test.attractor.dev"], "resources": ["things/status"], "verbs": ["get", "update", "patch"]},
        {"apiGroups": ["test.attractor.dev"], "resources": ["things/finalizers"], "verbs": ["update"]},
    ]


@pytest.mark.parametrize(
    ("content", "name", "text"),
    [
        (None, "", "there is no file"),
        ("x = 1\n", "", "declares no controller"),
        ("x = 1\n", ":pairs", "has no 'pairs'"),
        ("x = 1\n", ":x", "is no controller"),
        (
            "from attractor.runtime import controller\ncontroller(print, name='p')\n",
            "",
            "does not say what it reconciles",
        ),
        ("externals = []\n", "", "`externals` is no dict"),
    ],
)
def test_a_module_that_cannot_be_used_is_refused_with_a_hint(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str | None, name: str, text: str
) -> None:
    path = tmp_path / "refused_operator.py"
    if content is not None:
        path.write_text(content)
    assert main(["run", f"{path}{name}"]) == 2
    error = capsys.readouterr().err
    assert text in error
    assert "\n\nhint: " in error


def test_a_missing_module_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "no.such.operator"]) == 2
    assert "there is no module 'no.such.operator'" in capsys.readouterr().err


def test_a_change_of_the_code_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "operator.py"
    path.write_text("x = 1\n")
    known = stamps(str(path))
    os.utime(path, (1, 1))
    assert stamps(str(path)) != known
    assert set(known) == {path}


@pytest.mark.slow
async def test_run_serves_an_embedded_cluster_reconciles_and_ends_in_good_order(tmp_path: Path) -> None:
    from attractor.client.http.transport import HttpTransport
    from attractor.client.kubeconfig import load_kubeconfig

    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "attractor", "run", OPERATOR, "--leader-elect", "--health", "127.0.0.1:0"),
        stdout=subprocess.PIPE,
        env={**os.environ, "XDG_STATE_HOME": str(tmp_path)},
    )
    assert child.stdout is not None
    told: dict[str, str] = {}
    async with asyncio.timeout(60):
        while "running" not in told:
            name, _, value = (await child.stdout.readline()).decode().partition(":")
            told[name] = value.strip()
    async with Client(HttpTransport(load_kubeconfig(told["kubeconfig"]))) as client:
        meta = ObjectMeta(name="web", namespace="default")
        await client.create(ConfigPair(metadata=meta, spec=ConfigPairSpec(value="red")))
        await eventually(lambda: client.get(ConfigMap, Key("default", "web-cm1")), within_s=30)
    child.send_signal(signal.SIGTERM)
    assert await child.wait() == 0
    assert not os.path.exists(told["kubeconfig"])  # noqa: ASYNC240
