"""``attractor check``, ``replay`` and ``trace-to-test`` on a world: from the violation to a test that keeps it away."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Run

OPERATOR = '''
from attractor import Context, Key, ObjectMeta, controller
from attractor.check import Edit, Faults, World, eventually_stable
from attractor.k8s.core_v1 import ConfigMap

SOURCE, COPY = Key("default", "a"), Key("default", "a-copy")


@controller(for_=ConfigMap)
async def copies(ctx: Context, key: Key) -> None:
    source = await ctx.find(ConfigMap, SOURCE)
    copy = await ctx.find(ConfigMap, COPY)
    if source is not None and copy is None:
        await ctx.create(ConfigMap(metadata=ObjectMeta(name="a-copy", namespace="default"), data=source.data))
    # REPAIR


def is_copied(world) -> bool:
    """The copy has what its source has."""
    source, copy = world.find(ConfigMap, SOURCE), world.find(ConfigMap, COPY)
    return copy is not None and source is not None and copy.data == source.data


def edited() -> World:
    start = ConfigMap(metadata=ObjectMeta(name="a", namespace="default"), data={"x": "1"})
    edit = Edit(ConfigMap, SOURCE, patch=[{"data": {"x": "2"}}])
    return World(controllers=[copies], objects=[start], users=[edit], properties=[eventually_stable(is_copied)])
'''
REPAIR = """elif source is not None and copy is not None and copy.data != source.data:
        copy.data = source.data
        await ctx.update(copy)"""
TRACE = "traces/world-of-copies-eventually-stable.json"


@pytest.fixture(scope="module")
def checked(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A folder in which the world was checked, and what was printed."""
    folder = tmp_path_factory.mktemp("checked")
    (folder / "operator_.py").write_text(OPERATOR)
    command = [sys.executable, "-m", "attractor", "check", "operator_.py:edited", "--property", "eventually stable"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    return folder, done.stdout


@pytest.fixture
def trace(run: Run, tmp_path: Path, checked: tuple[Path, str]) -> Path:
    """The counterexample, in the folder in which ``run`` runs."""
    shutil.copytree(checked[0], tmp_path, dirs_exist_ok=True)
    return tmp_path / TRACE


def test_a_violation_is_told_with_what_can_be_done_about_it(checked: tuple[Path, str]) -> None:
    folder, printed = checked
    assert f"attractor replay {TRACE} --open" in printed
    assert f"attractor replay {TRACE} --runtime" in printed
    assert f"attractor trace-to-test {TRACE}" in printed
    assert "user            edit configmap default/a, data.x=2" in printed
    assert "~ data.x: 1 → 2" in printed
    assert sorted(path.name for path in (folder / "traces").iterdir()) == [
        "world-of-copies-eventually-stable.html",
        "world-of-copies-eventually-stable.json",
    ]


def test_a_counterexample_is_printed_drawn_and_confirmed(run: Run, trace: Path, tmp_path: Path) -> None:
    assert trace.with_suffix(".html").read_text().startswith("<!doctype html>")
    printed = run("replay", TRACE)
    assert printed.code == 0
    assert printed.out.startswith("eventually stable of operator_.py:edited\n")
    assert len(run("replay", TRACE, "--full").out) > len(printed.out)
    assert run("replay", TRACE, "--html", "out.html").out == "out.html\n"
    assert "<svg" in (tmp_path / "out.html").read_text()
    confirmed = run("replay", TRACE, "--runtime")
    assert confirmed.code == 0
    assert "confirmed: nothing is left to do, and `eventually stable` is not reached" in confirmed.out
    assert json.loads(run("replay", TRACE, "--json").out)["property"] == "eventually stable"


def test_a_trace_that_lies_is_refuted(run: Run, trace: Path) -> None:
    data = json.loads(trace.read_bytes())
    step = next(each for each in data["steps"] if each["action"] == "edit")
    (name,) = (each for each in step["changed"] if each.startswith("object["))
    step["changed"][name]["data"]["x"] = "3"
    trace.write_text(json.dumps(data))
    found = run("replay", TRACE, "--runtime")
    assert found.code == 1
    assert "refuted at step" in found.out
    assert "data.x: expected '3', got '2'" in found.out
    assert "that is a bug of attractor" in found.out


def test_a_test_made_from_it_fails_until_the_controller_is_repaired(run: Run, trace: Path, tmp_path: Path) -> None:
    written = run("trace-to-test", TRACE, "--output", "test_kept.py")
    assert (written.code, written.out) == (0, "pytest test_kept.py\n")
    refused = run("trace-to-test", TRACE, "--output", "test_kept.py")
    assert refused.code == 2
    assert "test_kept.py exists already" in refused.err
    assert run("trace-to-test", TRACE, "--output", "-").out == (tmp_path / "test_kept.py").read_text()

    def outcome() -> str:
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_kept.py"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        return done.stdout

    assert "Broken: `eventually stable` does not come true" in outcome()
    (tmp_path / "operator_.py").write_text(OPERATOR.replace("# REPAIR", REPAIR))
    assert "1 passed" in outcome()


@pytest.mark.parametrize(
    ("command", "error"),
    [
        (["replay", "lift.json", "--runtime"], "is not a counterexample of a world"),
        (["replay", "lift.json", "--html", "x.html"], "is not a counterexample of a world"),
        (["trace-to-test", "lift.json"], "not a counterexample of a world"),
        (["trace-to-test", "nowhere.json"], "there is no file nowhere.json"),
        (["replay", "old.json"], "version 0, and only version 2"),
        (["replay", "gone.json", "--runtime"], "there is no file gone.py"),
    ],
)
def test_what_cannot_be_done_is_said(run: Run, trace: Path, tmp_path: Path, command: list[str], error: str) -> None:
    data = json.loads(trace.read_bytes())
    (tmp_path / "old.json").write_text(json.dumps({**data, "version": 0}))
    (tmp_path / "gone.json").write_text(json.dumps({**data, "target": "gone.py:world"}))
    (tmp_path / "lift.json").write_text(
        json.dumps({"spec": "Lift", "property": "p", "initial": {}, "steps": [], "loop": None})
    )
    found = run(*command)
    assert found.code == 2
    assert error in found.err
    assert "Traceback" not in found.err


@pytest.mark.parametrize("command", ["replay", "trace-to-test"])
def test_help_has_examples(run: Run, command: str) -> None:
    assert f"attractor {command} traces/" in run(command, "--help").out
