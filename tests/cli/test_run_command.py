"""`attractor run`, `crd` and `manifests`: what they print, what a cluster says to it, and how they refuse."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from attractor.apiserver.request.caller import User
from attractor.cli.main import main
from attractor.cli.operator.reload import stamps
from attractor.client import Client
from attractor.k8s.coordination_v1 import Lease
from attractor.k8s.core_v1 import ConfigMap
from attractor.objects.errors import Forbidden
from attractor.objects.gvk import GroupVersionKind, Key
from attractor.objects.resource import ObjectMeta
from attractor.operators.configpair.api import ConfigPair, ConfigPairSpec
from attractor.operators.configpair.controllers import configpair
from attractor.runtime import Election, Index, Manager, Permission, Watches, controller
from attractor.runtime.manifests import rules
from attractor.testing import ClusterUnderTest, eventually
from tests.runtime.things import Thing

OPERATOR = "attractor.operators.configpair.controllers:configpair"
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
        for lease in ("another-leader", "kube-scheduler"):
            with pytest.raises(Forbidden):
                await client.get(Lease, Key("default", lease))
        with pytest.raises(Forbidden):
            await client.list(Lease, "default")


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


def test_what_is_indexed_may_be_read_and_resources_are_called_by_their_own_names() -> None:
    async def reconcile(ctx: object, key: object) -> None:
        return None

    declared = controller(
        reconcile,
        for_=Thing,
        indexes=[Index(ConfigMap, "of", lambda _: [])],
        permissions=[
            Permission(GroupVersionKind("", "v1", "Endpoints"), ("get",)),
            Permission(GroupVersionKind("example.org", "v1", "Policy"), ("get",)),
            Permission(Thing, ("patch",), "scale"),
        ],
    )
    granted = {(one["apiGroups"][0], name): one["verbs"] for one in rules([declared]) for name in one["resources"]}
    assert granted["", "configmaps"] == ["get", "list", "watch"]
    assert granted["", "endpoints"] == ["get"]
    assert granted["example.org", "policies"] == ["get"]
    assert granted["test.attractor.dev", "things/scale"] == ["patch"]


SCOPED = """
from attractor import Resource, Struct, controller
from attractor.k8s.core_v1 import ConfigMap

class Zone(Resource, group="example.org", version="v1", scope="Cluster"):
    pass

class Unwatched(Resource, group="example.org", version="v1"):
    pass

@controller(for_=ConfigMap)
async def inside(ctx, key): ...

@controller(for_=Zone)
async def outside(ctx, key): ...
"""


def test_in_one_namespace_what_lives_in_none_has_a_role_of_its_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "scoped.py").write_text(SCOPED)
    assert main(["manifests", str(tmp_path / "scoped.py"), "--watch-namespace", "team-a"]) == 0
    documents = list(yaml.safe_load_all(capsys.readouterr().out))
    granted = {
        (one["kind"], one["metadata"]["name"], one["metadata"].get("namespace", "")): {
            resource for rule in one["rules"] for resource in rule["resources"]
        }
        for one in documents
        if "rules" in one
    }
    assert granted == {
        ("ClusterRole", "scoped-cluster", ""): {"zones", "zones/finalizers", "events"},
        ("Role", "scoped", "team-a"): {"configmaps", "configmaps/finalizers", "events"},
        ("Role", "scoped-leader", "default"): {"leases"},
    }
    defined = {one["metadata"]["name"] for one in documents if one["kind"] == "CustomResourceDefinition"}
    assert defined == {"zones.example.org", "unwatcheds.example.org"}, "as `attractor crd` prints them"


NEEDS_OUTSIDE = """
from attractor import controller
from attractor.k8s.core_v1 import ConfigMap
class Dns: ...
@controller(for_=ConfigMap, externals=[Dns])
async def r(ctx, key): ...
"""


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
        ("x = {}['nothing']\n", "", "cannot be imported: KeyError: 'nothing'"),
        ("import no_such_library\n", "", "cannot be imported: ModuleNotFoundError: No module named 'no_such_library'"),
        ("def f(:\n", "", "cannot be imported: invalid syntax in line 1"),
        ("raise SystemExit(0)\n", "", "it ends the program instead of only defining things"),
        ("class Thing:\n    def __init__(self, spec): ...\n", ":Thing", "is no controller"),
        ("def made(of): ...\n", ":made", "as a function that makes controllers it needs of"),
        ("async def reconcile(ctx, key): ...\n", ":reconcile", "is a bare async function"),
        (NEEDS_OUTSIDE, "", "controller 'r' needs the outside system Dns, and"),
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


UNFIT = """
from attractor import Resource, Struct, controller
class Spec(Struct):
    size: int = "large"
class Web(Resource, group="example.org", version="v1"):
    spec: Spec
@controller(for_=Web)
async def r(ctx, key): ...
"""


@pytest.mark.parametrize("command", ["crd", "manifests", "run"])
def test_a_class_that_makes_no_definition_is_named(
    tmp_path: Path, command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    (tmp_path / "unfit.py").write_text(UNFIT)
    assert main([command, str(tmp_path / "unfit.py")]) == 2
    said = capsys.readouterr().err
    assert "declares what no server can serve: Web.spec.size: its default 'large' does not fit: Expected `int`" in said
    assert "hint: mend that class" in said


def test_a_missing_module_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "no.such.operator"]) == 2
    assert "there is no module `no.such.operator`" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["", ".", "..", "a b", "examples/"])
def test_what_is_no_module_at_all_is_refused(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", name]) == 2
    assert "\n\nhint: name a" in capsys.readouterr().err


def test_a_mistake_in_a_module_is_shown_by_its_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "mistaken.py"
    path.write_text("import json\n\n\nsettings = json.loads('{')\n")
    assert main(["crd", str(path)]) == 2
    assert f"hint: look at {path}:4: settings = json.loads('{{')\n" in capsys.readouterr().err


def test_a_module_may_use_files_beside_it(tmp_path: Path) -> None:
    (tmp_path / "kinds_beside.py").write_text("NAME = 1\n")
    (tmp_path / "uses_kinds.py").write_text("from kinds_beside import NAME\n")
    assert main(["crd", str(tmp_path / "uses_kinds.py")]) == 0


def test_a_file_named_as_one_of_pythons_own_modules_does_not_replace_it(tmp_path: Path) -> None:
    import operator

    path = tmp_path / "operator.py"
    path.write_text("from operator import itemgetter\n")
    assert main(["crd", str(path)]) == 0
    assert sys.modules["operator"] is operator


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--workers", "0"], "'0' is not a whole number above 0"),
        (["--resync", "-4"], "'-4' is not a number of seconds"),
        (["--resync", "nan"], "'nan' is not a number of seconds"),
        (["--namespace", "BAD/ns"], "'BAD/ns' is not the name of a namespace"),
        (["--leader-elect-name", "A B"], "'A B' is not the name of an object"),
    ],
)
def test_an_argument_that_makes_no_sense_is_refused(
    words: list[str], text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["run", "x.py", *words])
    assert text in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--context", "x"], "--context names a context of a kubeconfig"),
        (["--kubeconfig", "k", "--store", "sqlite:x"], "--store is for an embedded cluster"),
        (["--in-cluster", "--listen", "127.0.0.1:1"], "--listen is for an embedded cluster"),
        (["--leader-elect-name", "x"], "--leader-elect-name names a Lease, but nobody is elected"),
    ],
)
def test_an_argument_that_would_be_given_in_vain_is_refused(
    words: list[str], text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", OPERATOR, *words]) == 2
    assert text in capsys.readouterr().err


def test_a_kubeconfig_with_a_broken_authority_is_refused_before_anything_begins(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = {"server": "https://127.0.0.1:1", "certificate-authority-data": "Zm9v"}
    document = {
        "clusters": [{"name": "c", "cluster": broken}],
        "contexts": [{"name": "c", "context": {"cluster": "c"}}],
        "current-context": "c",
    }
    path = tmp_path / "kubeconfig"
    path.write_text(json.dumps(document))
    assert main(["run", OPERATOR, "--kubeconfig", str(path)]) == 2
    assert "error: the certificate authority for https://127.0.0.1:1 is no PEM certificate" in capsys.readouterr().err


def test_manifests_name_an_image_of_their_own_if_none_is_given(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["manifests", OPERATOR, "--replicas", "1"]) == 0
    shown = capsys.readouterr()
    documents = {one["kind"]: one for one in yaml.safe_load_all(shown.out)}
    assert documents["Deployment"]["spec"]["template"]["spec"]["containers"][0]["image"] == "controllers:latest"
    assert documents["PodDisruptionBudget"]["spec"]["maxUnavailable"] == 1, "a single replica can be moved elsewhere"
    assert "note: the image is controllers:latest; name another with --image" in shown.err


def test_manifests_refuse_names_that_no_cluster_takes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["--namespace", "Bad!"], ["--watch-namespace", "Bad!"], ["--replicas", "0"]):
        with pytest.raises(SystemExit, match="2"):
            main(["manifests", OPERATOR, *words])
    assert main(["manifests", OPERATOR, "--name", "Bad!"]) == 2
    assert "'Bad!' cannot be the name of an operator" in capsys.readouterr().err


def test_a_module_without_kinds_says_that_there_is_nothing_to_print(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "bare_module.py"
    path.write_text("")
    assert main(["crd", str(path)]) == 0
    assert capsys.readouterr() == ("", f"note: {path} has no kinds of its own, so there is nothing to print\n")


def test_a_change_of_the_code_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "operator.py"
    path.write_text("x = 1\n")
    known = stamps(str(path))
    os.utime(path, (1, 1))
    assert stamps(str(path)) != known
    assert set(known) == {path}


def test_only_a_persons_own_code_is_watched(tmp_path: Path) -> None:
    own = [tmp_path / "operator.py", tmp_path / "kinds" / "web.py", tmp_path / "kinds" / "deeper" / "db.py"]
    others = [tmp_path / ".git" / "hook.py", tmp_path / "env" / "lib" / "x.py", tmp_path / "node_modules" / "y.py"]
    for path in [*own, *others]:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    (tmp_path / "env" / "pyvenv.cfg").write_text("")
    assert set(stamps(str(own[0]))) == set(own)


@pytest.mark.slow
async def test_run_serves_an_embedded_cluster_reconciles_and_ends_in_good_order(tmp_path: Path) -> None:
    from attractor.client.configuration.kubeconfig import load_kubeconfig
    from attractor.client.http.transport import HttpTransport

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


NOBODY = """
clusters: [{name: a, cluster: {server: "http://127.0.0.1:1"}}]
contexts: [{name: a, context: {cluster: a}}]
current-context: a
"""


def test_definitions_that_cannot_be_installed_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "config").write_text(NOBODY)
    assert main(["run", OPERATOR, "--kubeconfig", str(tmp_path / "config"), "--install-crds"]) == 2
    said = capsys.readouterr().err
    assert (
        "error: CustomResourceDefinition configpairs.operators.attractor.dev cannot be applied: no connection" in said
    )


@pytest.mark.slow
async def test_run_that_is_stopped_before_its_controllers_ran_ends_in_good_order(tmp_path: Path) -> None:
    (tmp_path / "config").write_text(NOBODY)
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "attractor", "run", OPERATOR, "--kubeconfig", str(tmp_path / "config")),
        stderr=subprocess.PIPE,
    )
    assert child.stderr is not None
    async with asyncio.timeout(60):
        await child.stderr.readuntil(b"the first list of a kind fails; controllers wait for it")
    child.send_signal(signal.SIGTERM)
    _, said = await child.communicate()
    assert child.returncode == 0, said.decode()
    assert b"Traceback" not in said


@pytest.mark.slow
async def test_reloading_runs_a_file_that_is_named_as_one_of_pythons_own_modules(tmp_path: Path) -> None:
    (tmp_path / "operator.py").write_text(NEEDS_OUTSIDE + "externals = {Dns: Dns()}\n")
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", "attractor", "run", "operator.py", "--reload"),
        stdout=subprocess.PIPE,
        env={**os.environ, "XDG_STATE_HOME": str(tmp_path)},
        cwd=tmp_path,
    )
    assert child.stdout is not None
    async with asyncio.timeout(60):
        await child.stdout.readuntil(b"running:     r\n")
    child.send_signal(signal.SIGTERM)
    assert await child.wait() == 0


def test_an_address_for_health_that_is_taken_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = "{}:{}".format(*taken.getsockname())
        assert main(["run", OPERATOR, "--health", address]) == 2
    assert f"error: health cannot be served on {address}: " in capsys.readouterr().err
