"""Counterexamples as files."""

import json
from pathlib import Path
from typing import Any

import pytest

from attractor.check import Faults, World, check, eventually_stable
from attractor.check.report import BadStory
from attractor.check.report.counterexample import Counterexample, save
from attractor.check.trace import Trace
from tests.check.world.pairs import both_are_right, naive, pair


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    world = World(
        controllers=[naive],
        objects=[pair()],
        users=(),
        faults=Faults(crash=1),
        properties=[eventually_stable(both_are_right)],
    )
    folder = tmp_path_factory.mktemp("traces")
    written = save(check(world), world, folder, target="some.module:world")
    assert list(written) == ["eventually stable"]
    assert written["eventually stable"].html.read_text().startswith("<!doctype html>")
    found: dict[str, Any] = json.loads(written["eventually stable"].json.read_bytes())
    return found


def test_a_counterexample_survives_its_file_and_is_a_trace_too(data: dict[str, Any]) -> None:
    found = Counterexample.from_json(data)
    assert found.target == "some.module:world"
    assert Trace.from_json(data) == found.trace
    assert len(found.trace) == len(found.story) == 12
    assert json.loads(json.dumps(found.to_json())) == data


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"format": "else"}, "not a counterexample of a world"),
        ({"version": 1}, "version 1, and only version 2"),
        ({"steps": []}, "trace and story differ"),
        ({"target": None}, "trace and story differ"),
        ({"steps": "none"}, "damaged"),
    ],
)
def test_a_damaged_file_says_what_is_wrong(data: dict[str, Any], change: dict[str, Any], problem: str) -> None:
    with pytest.raises(BadStory, match=problem):
        Counterexample.from_json({**data, **change})


def test_what_holds_leaves_no_file(tmp_path: Path) -> None:
    world = World(
        controllers=[naive], objects=[pair()], users=(), faults=Faults(), properties=[eventually_stable(both_are_right)]
    )
    assert save(check(world), world, tmp_path / "traces", target="m:w") == {}
    assert not (tmp_path / "traces").exists()
