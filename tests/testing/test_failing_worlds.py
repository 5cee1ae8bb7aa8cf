"""A world that fails in a test: the same table as on the command line, saved, and taken up again from the test."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from attractor.cli.main import main
from attractor.testing.replay.capture import world_in_test

pytest_plugins = ["pytester"]
ROOT = Path(__file__).parents[2]

TEST = """
import pytest

from attractor.check import check
from attractor.check import Faults, World, eventually_stable
from tests.check.world.pairs import both_are_right, naive, pair, pairs

@pytest.fixture
def faults():
    return Faults(crash=1)

@pytest.mark.parametrize("text", ["x", "y"])
def test_withstands(faults, text):
    check(World(controllers=[pairs], objects=[pair(text=text)])).assert_holds()
    world = World(controllers=[naive], objects=[pair(text=text)], faults=faults, properties=[eventually_stable(both_are_right)])
    check(world).assert_holds()
"""
FILE = "traces/world-of-naive-eventually-stable.json"


@pytest.fixture(scope="module")
def failing_run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A directory in which the test failed, and what pytest printed."""
    there = tmp_path_factory.mktemp("failing")
    (there / "test_naive.py").write_text(TEST)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-k", "[x]", "-p", "no:xdist"]
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))}
    done = subprocess.run(command, cwd=there, env=environ, capture_output=True, text=True, check=False)
    assert "1 failed, 1 deselected" in done.stdout, done.stdout
    return there, done.stdout


@pytest.fixture
def failed(failing_run: tuple[Path, str], pytester: pytest.Pytester) -> str:
    """What pytest prints of the failing test; the test and the files that it wrote are in the working directory."""
    shutil.copytree(failing_run[0], pytester.path, dirs_exist_ok=True)
    pytester.syspathinsert()
    return failing_run[1]


def test_the_short_table_is_printed_and_the_artefact_is_saved(failed: str, pytester: pytest.Pytester) -> None:
    assert "7  host1           host1 crashes and starts again" in failed
    assert "After step 12, and for ever:" in failed
    assert "default/a-2: nothing on the left, {'text': 'x'} on the right" in failed
    assert "reconcile['" not in failed, "slots of the machinery are no table"
    assert f"attractor replay {FILE} --open" in failed
    assert json.loads((pytester.path / FILE).read_text())["target"] == "test_naive.py::test_withstands[x]#2"
    assert "<html" in (pytester.path / FILE).with_suffix(".html").read_text()


def test_the_world_is_taken_out_of_the_test_again(failed: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert failed
    world = world_in_test("test_naive.py::test_withstands[x]#2")
    assert repr(world) == "world of naive"
    assert main(["replay", FILE, "--runtime"]) == 0
    assert "confirmed: nothing is left to do, and `eventually stable` is not reached" in capsys.readouterr().out


def test_the_test_of_a_controller_that_was_mended_is_kept(
    failed: str, pytester: pytest.Pytester, capsys: pytest.CaptureFixture[str]
) -> None:
    assert failed
    assert main(["trace-to-test", FILE, "--output", "test_broken.py"]) == 0
    assert "mended" not in capsys.readouterr().err
    sys.modules.pop("test_naive")  # whoever mends it calls another process
    source = pytester.path / "test_naive.py"
    source.write_text(source.read_text().replace("controllers=[naive]", "controllers=[pairs]"))
    assert main(["trace-to-test", FILE, "--output", "test_mended.py"]) == 0
    assert "the controller was mended since" in capsys.readouterr().err
    turns = [(pytester.path / f"test_{name}.py").read_text().partition("TURNS")[2] for name in ("broken", "mended")]
    assert turns[0] == turns[1]


def test_counterexamples_of_worlds_of_one_name_are_kept_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "two.py").write_text(
        "from attractor.check import Faults, World, eventually_stable\n"
        "from tests.check.world.pairs import both_are_right, naive, pair\n"
        "claims = [eventually_stable(both_are_right)]\n"
        "one = World(controllers=[naive], objects=[pair()], faults=Faults(crash=1), properties=claims)\n"
        "two = World(controllers=[naive], objects=[pair(text='y')], faults=Faults(crash=1), properties=claims)\n"
    )
    for _ in range(2):
        for name in ("one", "two"):
            assert main(["check", f"two.py:{name}"]) == 1
    capsys.readouterr()
    stem = "world-of-naive-eventually-stable"
    targets = {path.stem: json.loads(path.read_text())["target"] for path in (tmp_path / "traces").glob("*.json")}
    assert targets == {stem: "two.py:one", f"{stem}-2": "two.py:two"}
