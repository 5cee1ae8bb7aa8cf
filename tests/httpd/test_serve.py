"""``attractor serve`` as a process: what it prints, writes, serves, and how it ends."""

import json
import logging
import os
import re
import signal
import socket
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import IO

import pytest
import yaml

from attractor.cli.main import main
from attractor.embedded.controllers import CONTROLLERS
from attractor.store.contract import StoreFull
from attractor.store.sqlite.log import SqliteLog
from tests.httpd.api import CONFIGMAPS, HttpApi
from tests.httpd.wire import connected

pytestmark = pytest.mark.slow
PATIENCE_S = 30


class Serving:
    """A running ``attractor serve``."""

    def __init__(self, directory: Path, *options: str) -> None:
        self.kubeconfig = directory / "kubeconfig"
        tokens = directory / "tokens.csv"
        tokens.write_text('admin-token,admin,admin,"system:masters"\n')
        command = [sys.executable, "-m", "attractor", "serve", "--listen", "127.0.0.1:0"]
        command += ["--state-dir", str(directory / "state"), "--kubeconfig", str(self.kubeconfig)]
        command += ["--token-file", str(tokens), *options]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.lines: list[str] = []

    def wait_ready(self) -> None:
        watchdog = threading.Timer(PATIENCE_S, self.process.kill)
        watchdog.start()
        for line in out(self.process):
            self.lines.append(line.rstrip("\n"))
            if line == "ready\n":
                break
        watchdog.cancel()
        assert self.lines[-1:] == ["ready"], self.process.communicate()

    @property
    def port(self) -> int:
        found = re.search(r"address: +https?://127\.0\.0\.1:(\d+)", "\n".join(self.lines))
        assert found
        return int(found.group(1))

    def stop(self, number: int = signal.SIGTERM) -> tuple[int, str]:
        self.process.send_signal(number)
        _, errors = self.process.communicate(timeout=PATIENCE_S)
        return self.process.returncode, errors


def out(process: subprocess.Popen[str]) -> IO[str]:
    assert process.stdout is not None
    return process.stdout


@contextmanager
def serving(directory: Path, *options: str) -> Iterator[Serving]:
    server = Serving(directory, *options)
    try:
        server.wait_ready()
        yield server
    finally:
        if server.process.poll() is None:
            server.process.kill()
        server.process.communicate()


def kubectl(server: Serving, *arguments: str) -> str:
    home = server.kubeconfig.parent / "home"
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "KUBECONFIG": str(server.kubeconfig)}
    done = subprocess.run(
        ["kubectl", *arguments], env=environment, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_it_prints_one_line_for_each_fact_and_writes_a_private_kubeconfig(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        facts = dict(line.split(": ", 1) for line in server.lines[:-1])
        assert {name: fact.strip() for name, fact in facts.items()} == {
            "address": f"https://127.0.0.1:{server.port}",
            "store": "memory",
            "kubeconfig": str(server.kubeconfig),
            "controllers": ", ".join(CONTROLLERS),
        }
        assert stat.S_IMODE(server.kubeconfig.stat().st_mode) == 0o600
        config = yaml.safe_load(server.kubeconfig.read_text())
        token = config["users"][0]["user"]["token"]
        code, errors = server.stop()
        assert (code, errors) == (0, "")
        assert token not in "\n".join(server.lines)
        assert not server.kubeconfig.exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_it_ends_watches_cleanly_and_exits_0_within_5_s(tmp_path: Path, number: int) -> None:
    with serving(tmp_path, "--no-tls") as server:
        api = HttpApi(server.port)
        async with api.watch() as watch, connected(server.port) as half_sent:
            half_sent.send(b"POST / HTTP/1.1\r\nHost: t\r\nContent-Length: 10\r\n\r\nabc")
            server.process.send_signal(number)
            assert await watch.event() is None
            assert await watch.rest() == b""
            server.process.communicate(timeout=5)
            assert server.process.returncode == 0


def test_it_stops_in_good_order_although_nobody_reads_what_it_says(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        assert server.process.stdout is not None
        server.process.stdout.close()
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(timeout=5) == 0
        assert not server.kubeconfig.exists()


async def test_what_was_written_to_sqlite_is_there_after_a_restart(tmp_path: Path) -> None:
    store = f"sqlite:{tmp_path / 'cluster.db'}"
    with serving(tmp_path, "--no-tls", "--store", store) as server:
        version = (await HttpApi(server.port).create("kept", x="1")).json["metadata"]["resourceVersion"]
        assert server.stop()[0] == 0
    with serving(tmp_path, "--no-tls", "--store", store) as server:
        found = await HttpApi(server.port).get(f"{CONFIGMAPS}/kept")
        assert found.json["metadata"]["resourceVersion"] == version
        async with HttpApi(server.port).watch(f"resourceVersion={version}") as watch:
            await HttpApi(server.port).create("next")
            assert (await watch.event())["object"]["metadata"]["name"] == "next"


def test_kubectl_finds_its_way_with_the_kubeconfig(tmp_path: Path) -> None:
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.org"},
        "spec": {
            "group": "example.org",
            "names": {"plural": "widgets", "kind": "Widget"},
            "scope": "Namespaced",
            "versions": [
                {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
            ],
        },
    }
    crds = tmp_path / "crds"
    crds.mkdir()
    (crds / "widget.yaml").write_text(yaml.safe_dump(definition))
    (crds / "README.md").write_text("not a definition")
    with serving(tmp_path, "--crds", str(crds)) as server:
        assert "crds:        widgets.example.org" in server.lines
        assert kubectl(server, "get", "--raw", "/healthz") == "ok"
        assert "Server Version: v1.36.4+attractor" in kubectl(server, "version")
        assert "widgets.example.org" in kubectl(server, "api-resources", "-o", "name")
        assert "default" in kubectl(server, "get", "namespaces")
        assert kubectl(server, "get", "widgets", "-o", "name") == ""
        assert server.stop()[0] == 0


def run(*options: str) -> tuple[int, str, str]:
    command = [sys.executable, "-m", "attractor", "serve", *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def quiet_log() -> Iterator[None]:
    """``serve`` sets up the log of its process; put it back."""
    log = logging.getLogger("attractor")
    before = (log.handlers, log.level, log.propagate)
    yield
    log.handlers, log.level, log.propagate = before


@pytest.mark.usefixtures("quiet_log")
def test_mistakes_on_the_command_line_are_named_with_a_way_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad_tokens = tmp_path / "bad.csv"
    bad_tokens.write_text("a,b\n")
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "x.yaml").write_text("a: [")
    not_a_store = tmp_path / "text.db"
    not_a_store.write_text("hello, I am no database" * 100)
    free = ["--listen", "127.0.0.1:0", "--state-dir", str(tmp_path / "state")]
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        for options, said in [
            (["--listen", f"127.0.0.1:{port}", "--state-dir", str(tmp_path / "state")], "cannot listen on"),
            (["--listen", "nowhere"], "--listen 'nowhere' is not an address"),
            ([*free, "--store", "mongodb:x"], "--store mongodb:x"),
            ([*free, "--store", f"sqlite:{not_a_store}"], "--store sqlite:"),
            ([*free, "--store", f"sqlite:{tmp_path}/no/such/dir/x.db"], "--store sqlite:"),
            ([*free, "--token-file", str(tmp_path / "absent")], "cannot be read"),
            ([*free, "--token-file", str(bad_tokens)], "line 1 has 2 columns"),
            ([*free, "--controllers", "garbage"], "there is no controller garbage"),
            ([*free, "--crds", str(tmp_path / "absent")], "is not a directory"),
            ([*free, "--crds", str(broken)], "x.yaml cannot be read"),
            ([*free, "--tls-cert", str(bad_tokens)], "belong together"),
            ([*free, "--tls-cert", str(bad_tokens), "--tls-key", str(bad_tokens)], "the certificate cannot be used"),
            ([*free, "--no-tls", "--client-ca", str(bad_tokens)], "exclude each other"),
            ([*free, "--client-ca", str(bad_tokens)], f"the certificate cannot be used: {bad_tokens}: "),
            ([*free, "--kubeconfig", str(bad_tokens / "below")], "cannot be written"),
        ]:
            code = main(["serve", *options])
            errors = capsys.readouterr().err
            first, _, rest = errors.partition("\n\n")
            assert code == 2, errors
            assert first.startswith("error: "), errors
            assert said in first
            assert rest.startswith("hint: "), errors
            assert "Traceback" not in errors


def test_a_disk_that_is_full_from_the_start_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: object) -> None:
        raise StoreFull(f"{path}: no space left; free some, then open again")

    monkeypatch.setattr(SqliteLog, "open", full)
    options = ["--listen", "127.0.0.1:0", "--state-dir", str(tmp_path / "state")]
    assert main(["serve", *options, "--store", f"sqlite:{tmp_path}/x.db"]) == 2
    assert "x.db: no space left; free some, then open again\n\nhint: " in capsys.readouterr().err


def test_help_shows_examples() -> None:
    code, text, _ = run("--help")
    assert code == 0
    assert "attractor serve --store sqlite:cluster.db --kubeconfig ./kubeconfig" in text


def test_a_store_that_another_server_uses_is_refused(tmp_path: Path) -> None:
    store = tmp_path / "cluster.db"
    with serving(tmp_path, "--no-tls", "--store", f"sqlite:{store}"):
        code, _, errors = run(
            "--listen", "127.0.0.1:0", "--state-dir", str(tmp_path / "s2"), "--store", f"sqlite:{store}"
        )
        assert code == 2, errors
        assert errors.startswith("error: --store sqlite:")
    with closing(sqlite3.connect(store)) as free:
        assert free.execute("select 1").fetchone() == (1,)


async def test_audit_lines_on_standard_output_stand_among_the_facts(tmp_path: Path) -> None:
    with serving(tmp_path, "--no-tls", "--audit-log", "-") as server:
        assert (await HttpApi(server.port).get(CONFIGMAPS)).code == 200
        line = out(server.process).readline()
        assert json.loads(line)["requestURI"] == CONFIGMAPS
    assert "audit log:   -" in server.lines


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--audit-log", "{dir}/none/audit.log"], "cannot be written: No such file or directory"),
        (["--audit-policy", "{dir}/policy.yaml"], "but there is no log"),
        (["--audit-log", "-", "--audit-policy", "{dir}/none.yaml"], "cannot be read: No such file or directory"),
        (["--audit-log", "-", "--audit-policy", "{dir}/policy.yaml"], "rules cannot apply to both"),
    ],
)
def test_audit_options_that_cannot_work_are_refused_with_a_hint(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], complaint: str
) -> None:
    rule = "{level: None, namespaces: [a], nonResourceURLs: [/x]}"
    (tmp_path / "policy.yaml").write_text(f"{{apiVersion: audit.k8s.io/v1, kind: Policy, rules: [{rule}]}}")
    given = [option.replace("{dir}", str(tmp_path)) for option in options]
    assert main(["serve", "--listen", "127.0.0.1:0", "--no-tls", "--state-dir", str(tmp_path), *given]) == 2
    said = capsys.readouterr().err
    assert said.startswith("error: --audit-")
    assert complaint in said
    assert "\n\nhint: " in said
