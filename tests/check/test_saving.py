"""``verdict.save``: one way to keep all that a verdict has found."""

from __future__ import annotations

import json
from pathlib import Path

from attractor.check import Faults, Spec, World, action, always, check, eventually_stable, var
from tests.check.world.pairs import both_are_right, naive, pair, pairs


class Counter(Spec):
    n = var(0)

    @action
    def count(self) -> None:
        self.n = min(self.n + 1, 3)

    @always
    def small(self) -> bool:
        return bool(self.n < 2)

    @always
    def tiny(self) -> bool:
        return bool(self.n < 1)


def test_each_counterexample_of_a_specification_is_a_file(tmp_path: Path) -> None:
    found = check(Counter()).save(tmp_path / "made" / "here")
    assert [path.name for path in found] == ["counter-small.json", "counter-tiny.json"]
    assert all(path.parent == tmp_path / "made" / "here" for path in found)
    assert json.loads(found[0].read_bytes())["property"] == "small"


def test_a_counterexample_of_a_world_comes_with_its_diagram(tmp_path: Path) -> None:
    claims = [eventually_stable(both_are_right)]
    world = World(controllers=[naive], objects=[pair()], faults=Faults(crash=1), properties=claims, name="naive")
    trace, diagram = check(world).save(str(tmp_path))
    assert (trace.name, diagram.name) == ("naive-eventually-stable.json", "naive-eventually-stable.html")
    assert json.loads(trace.read_bytes())["format"] == "attractor/counterexample"
    assert diagram.read_text().startswith("<!doctype html>")


def test_a_verdict_that_holds_writes_nothing(tmp_path: Path) -> None:
    assert check(World(controllers=[pairs], objects=[pair()])).save(tmp_path / "empty") == ()
    assert not (tmp_path / "empty").exists()
