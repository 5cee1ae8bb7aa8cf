"""``attractor replay``: a counterexample, step by step."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run

TRACE = "traces/lift-closed-between-floors.json"


@pytest.fixture
def trace(run: Run, tmp_path: Path) -> Path:
    run("check", "lift.py:Lift", "--property", "closed_between_floors")
    return tmp_path / TRACE


def test_replay_prints_only_what_changed(run: Run, trace: Path) -> None:
    found = run("replay", TRACE)
    assert found.code == 0
    assert found.out.splitlines()[0].startswith("closed_between_floors of Lift(floors=3")
    assert found.out.count("floor ") == 1
    assert "      floor: 0 -> 1\n" in found.out


def test_replay_in_full_prints_every_variable_at_every_step(run: Run, trace: Path) -> None:
    assert run("replay", TRACE, "--full").out.count("floor = ") == 3


def test_replay_of_one_step_prints_the_state_after_it(run: Run, trace: Path) -> None:
    found = run("replay", TRACE, "--step", "2")
    assert "floor = 1" in found.out
    assert "initially" not in found.out


def test_replay_as_json_has_whole_states(run: Run, trace: Path) -> None:
    data = json.loads(run("replay", TRACE, "--json").out)
    assert [each["step"] for each in data["states"]] == [0, 1, 2]
    assert data["states"][2]["state"] == {"floor": 1, "door": {"is_open": True}}


def test_replay_takes_the_output_of_check(run: Run, tmp_path: Path) -> None:
    (tmp_path / "verdict.json").write_text(run("check", "lift.py", "--json").out)
    assert run("replay", "verdict.json").out.startswith("closed_between_floors of Lift")
    assert run("replay", "verdict.json", "--property", "at_the_top").out.startswith("at_the_top of Lift")
    assert "did you mean `at_the_top`" in run("replay", "verdict.json", "--property", "at_top").err


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (None, "there is no file bad.json"),
        ("{", "bad.json is not JSON"),
        ("[]", "bad.json is not a trace"),
        ("{}", "bad.json: this is not a trace"),
        ('{"steps": [1], "spec": "s", "property": "p", "initial": {}, "loop": null}', "this is not a trace"),
        ('{"properties": []}', "bad.json has no counterexample: nothing is violated"),
    ],
)
def test_a_bad_file_is_named_with_what_is_wrong(run: Run, tmp_path: Path, text: str | None, error: str) -> None:
    if text is not None:
        (tmp_path / "bad.json").write_text(text)
    found = run("replay", "bad.json")
    assert found.code == 2
    assert error in found.err
    assert "Traceback" not in found.err


def test_a_step_that_is_not_there_is_refused(run: Run, trace: Path) -> None:
    found = run("replay", TRACE, "--step", "9")
    assert found.code == 2
    assert "the run has steps 0 to 2" in found.err
