"""``attractor dev`` as a person uses it: real processes, a real server, real signals; and nothing is left in the end."""

from __future__ import annotations

import json
import re
import signal
import sys
import urllib.request

import pytest

from tests.operators.devplane.devcommand import Dev

pytestmark = pytest.mark.slow

STUBBORN = "trap '' TERM; echo heedless; while :; do sleep 1000 & wait; done"
HEAD = "apiVersion: dev.attractor.dev/v1\n"
SERVICE = HEAD + "kind: Service\nmetadata: {name: web}\n"


def stubborn() -> str:
    """A process that ignores SIGTERM."""
    return (
        HEAD
        + f"kind: Executable\nmetadata: {{name: stubborn}}\nspec:\n  command: [sh, -c, {STUBBORN!r}]\n"
        + ("  stopGraceSeconds: 600\n")
    )


def application(python: str = sys.executable) -> str:
    """Two servers behind a Service."""
    return f"""{SERVICE}---
{HEAD}kind: ExecutableReplicaSet
metadata: {{name: api}}
spec:
  replicas: 2
  template:
    spec:
      command: [{python}, server.py, '{{{{addressForServing "web"}}}}', '{{{{portForServing "web"}}}}']
      env: [{{name: NAME, value: 'at {{{{portForServing "web"}}}}'}}]
      serves: [{{service: web}}]
"""


def test_an_application_runs_is_seen_and_ends_in_order_when_it_is_interrupted(dev: Dev) -> None:
    with dev.up(application(), "--logs") as plane:
        at = plane.until(r"service +web +Ready +([0-9.:]+), 2 endpoints")[1]
        for name in ("api-0", "api-1"):
            plane.until(rf"(?m)^{name} \| listens$")
        answers = {urllib.request.urlopen(f"http://{at}/").read() for _ in range(8)}
        assert len(answers) == 2, "both replicas are asked"
        plane.until(r"(?m)^api-[01] \| asked$")
        plane.tell(signal.SIGINT)
        assert plane.code() == 0
        after = plane.said.partition("stopping:")[2]
        order = [re.search(rf"{kind} +\S+ +gone", after) for kind in ("replicas", "process", "service")]
        assert None not in order
        starts = [one.start() for one in order if one is not None]
        assert starts == sorted(starts), after
        assert after.endswith("stopped:     nothing is left running\n")
    assert not (dev.directory / ".attractor" / "kubeconfig").exists()


def test_it_is_looked_at_and_ended_from_another_terminal(dev: Dev) -> None:
    with dev.up(application()) as plane:
        at = plane.until(r"service +web +Ready +([0-9.:]+), 2 endpoints")[1]
        status = dev.run("status")
        assert re.search(r"(?m)^KIND +NAME +STATE +WHAT$", status.stdout)
        assert re.search(r"(?m)^replicas +api +Running +2 of 2 run$", status.stdout)
        assert len(re.findall(r"(?m)^process +api-[01] +Running +pid \d+$", status.stdout)) == 2
        assert urllib.request.urlopen(f"http://{at}/").status == 200
        assert re.fullmatch(r"(listens\n)?(asked\n)?", dev.run("logs", "api-0").stdout)
        said = set(dev.run("logs", "api").stdout.splitlines())
        assert said & {"api-0 | asked", "api-1 | asked"}
        assert said <= {f"api-{number} | {word}" for number in (0, 1) for word in ("listens", "asked")}
        assert dev.run("logs", "api-0", "--stderr").stdout == ""
        assert set(dev.run("logs", "--grep", "^lis").stdout.splitlines()) == {"api-0 | listens", "api-1 | listens"}
        unknown = dev.run("logs", "nobody")
        assert (unknown.returncode, unknown.stderr) == (
            2,
            "error: there is no Executable or replica set nobody\n\nhint: name one of: api-0, api-1\n",
        )
        again = dev.run("up", "app.yaml")
        assert again.returncode == 2
        assert f"runs in .attractor already, as process {plane.process.pid}" in again.stderr
        down = dev.run("down")
        assert (down.returncode, down.stdout) == (0, "stopped: nothing is left running\n")
        assert plane.code() == 0
    nothing = dev.run("status")
    assert nothing.returncode == 2
    assert "no developer control plane runs in .attractor" in nothing.stderr


def test_following_a_process_ends_with_it(dev: Dev) -> None:
    text = (
        HEAD + "kind: Executable\nmetadata: {name: once}\nspec:\n  command: [sh, -c, 'echo one; sleep 0.3; echo two']\n"
    )
    with dev.up(text) as plane:
        plane.until(r"process +once +Running")
        followed = dev.run("logs", "once", "-f")
        assert (followed.returncode, followed.stdout) == (0, "one\ntwo\n")
        plane.until(r"process +once +Finished +exit code 0")
        plane.tell(signal.SIGTERM)
        assert plane.code() == 0


def test_a_second_interrupt_does_not_wait_and_leaves_nothing_either(dev: Dev) -> None:
    with dev.up(stubborn(), "--logs") as plane:
        plane.until(r"stubborn \| heedless")
        plane.tell(signal.SIGINT)
        plane.until(r"process +stubborn +Stopping")
        plane.tell(signal.SIGINT)
        assert plane.code() == 128 + signal.SIGINT
    assert dev.processes == []


def test_what_a_killed_plane_has_left_is_ended_by_down(dev: Dev) -> None:
    with dev.up(stubborn(), "--logs") as plane:
        plane.until(r"stubborn \| heedless")
        plane.process.kill()
        plane.process.wait()
        assert dev.processes, "processes outlive their plane"
        silent = dev.run("status")
        assert silent.returncode == 2
        assert "does not answer" in silent.stderr
        down = dev.run("down")
        assert (down.returncode, down.stdout[:10]) == (0, "cleared up")
        assert dev.processes == []
    assert dev.run("down").returncode == 2


def test_what_a_killed_plane_has_left_is_ended_by_the_next_one(dev: Dev) -> None:
    with dev.up(stubborn(), "--logs") as plane:
        plane.until(r"stubborn \| heedless")
        plane.process.kill()
        plane.process.wait()
        left = dev.processes
    with dev.up(SERVICE) as plane:
        assert "nobody serves Service web (app.yaml:1)" in plane.until("note: .*")[0]
        assert not set(left) & set(dev.processes)
        plane.tell(signal.SIGTERM)
        assert plane.code() == 0


def test_with_a_store_on_disk_a_killed_plane_is_taken_up_again(dev: Dev) -> None:
    with dev.up(application(), "--store", "sqlite:dev.db") as plane:
        at = plane.until(r"service +web +Ready +([0-9.:]+), 2 endpoints")[1]
        pids = re.findall(r"Running +pid (\d+)", plane.said)
        plane.process.kill()
        plane.process.wait()
    with dev.up(application(), "--store", "sqlite:dev.db") as plane:
        assert plane.until(r"service +web +Ready +([0-9.:]+), 2 endpoints")[1] == at
        assert sorted(re.findall(r"Running +pid (\d+)", dev.run("status").stdout)) == sorted(pids)
        assert urllib.request.urlopen(f"http://{at}/").status == 200
        assert dev.run("down").returncode == 0
        assert plane.code() == 0


@pytest.mark.parametrize(
    ("text", "error", "hint"),
    [
        ("a: [", "stdin:1:5: this is no YAML", "look at indentation"),
        (SERVICE + "spec: {prot: 1}", "stdin:1: Service web has no field spec.prot", "did you mean port?"),
        (SERVICE + "spec: {port: 70000}", "stdin:1: Service web is refused", "nothing was started"),
        (f"{SERVICE}---\n{SERVICE}", "stdin:5: Service web is at stdin:1 too", "another name"),
    ],
    ids=["no YAML", "unknown field", "invalid value", "two of one name"],
)
def test_what_cannot_be_started_is_refused_before_anything_is(dev: Dev, text: str, error: str, hint: str) -> None:
    refused = dev.run("up", "-", given=text)
    assert refused.returncode == 2
    assert refused.stdout == ""
    assert refused.stderr.startswith(f"error: {error}")
    assert hint in refused.stderr.partition("\n\nhint: ")[2]


@pytest.mark.parametrize("words", [[], ["up"], ["status"], ["logs"], ["down"]], ids=" ".join)
def test_every_command_shows_an_example(dev: Dev, words: list[str]) -> None:
    shown = dev.run(*words, "--help").stdout
    assert re.search(rf"examples?:\n  attractor dev {words[0] if words else ''}", shown)


def test_a_plane_in_the_background_is_waited_for_asked_and_restarted(dev: Dev) -> None:
    (dev.directory / "Procfile").write_text(
        f"web: exec {sys.executable} server.py 127.0.0.1 $PORT\njob: echo one; echo two >&2; exit 3\n"
    )
    (dev.directory / ".env").write_text("NAME=from the file\n")
    up = dev.run("up", "--detach")
    assert (up.returncode, up.stderr) == (0, "")
    try:
        assert dev.run("wait", "web", "--timeout", "60").stdout == "web: ready\n"
        failed = dev.run("wait", "job", "--for", "completed", "--json")
        assert (failed.returncode, json.loads(failed.stdout)) == (
            1,
            {"code": 1, "problems": ["Executable job has failed: it ended with exit code 3"]},
        )
        lines = [json.loads(line) for line in dev.run("logs", "job", "--json").stdout.splitlines()]
        assert sorted((line["stream"], line["text"]) for line in lines) == [("stderr", "two"), ("stdout", "one")]
        shown = {line["name"]: line for line in json.loads(dev.run("ps", "--json").stdout) if line["kind"] == "process"}
        assert (shown["job"]["state"], shown["web"]["state"]) == ("Failed", "Running")
        restarted = dev.run("restart", "web")
        assert (restarted.returncode, restarted.stdout) == (0, "web: restarted\n"), restarted.stderr
        runs = json.loads(dev.run("history", "web", "--json").stdout)["web"]
        assert [(run["run"], run["state"]) for run in runs] == [(1, "running"), (0, "ended")]
        assert dev.run("logs", "web", "--run", "-1").stdout.splitlines()[:1] == ["listens"]
        assert "run 7 is not remembered" in dev.run("logs", "web", "--run", "7").stderr
    finally:
        down = dev.run("down", "--json")
    assert json.loads(down.stdout) == {"cleared": 0}


def test_a_plane_in_the_background_that_cannot_start_says_why(dev: Dev) -> None:
    (dev.directory / "app.yaml").write_text(SERVICE.replace("Service", "Servise"))
    up = dev.run("up", "--detach")
    assert up.returncode == 2
    assert "did you mean Service" in up.stderr


def test_a_plane_ends_with_an_executable_and_its_exit_code(dev: Dev) -> None:
    (dev.directory / "Procfile.test").write_text("server: sleep 1000\ntests: echo passed; exit 5\n")
    ended = dev.run("up", "Procfile.test", "--exit-with", "tests", "--logs")
    assert ended.returncode == 5
    assert "tests  | passed" in ended.stdout
    unknown = dev.run("up", "Procfile.test", "--exit-with", "nobody")
    assert (unknown.returncode, unknown.stderr) == (
        2,
        "error: --exit-with names nobody, which is no Executable or Container of the files\n\nhint: name one of: server, tests\n",
    )
