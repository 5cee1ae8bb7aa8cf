"""Where the states come from: by slot, by step, by part."""

from __future__ import annotations

from attractor.check import Bounds, Edit, Faults, World
from attractor.check.report.state_counts import explain
from tests.check.world.pairs import KEY, Pair, pair, pairs


def test_an_explanation_says_what_each_fault_and_user_multiplies() -> None:
    world = World(
        controllers=[pairs],
        objects=[pair()],
        users=[Edit(Pair, KEY, spec=[{"text": "y"}])],
        faults=Faults(crash=1),
        bounds=Bounds(lag=2),
    )
    told = explain(world)
    parts = {row.what: row for row in told.parts}
    assert set(parts) == {"fault crash", "user: edit pair default/a", "lag 1 instead of 2", "1 worker instead of 2"}
    assert parts["user: edit pair default/a"].count == 61
    assert parts["1 worker instead of 2"].remark == "x 1.0"
    assert told.distinct > parts["fault crash"].count > 30
    assert told.is_complete
    assert any("states without a part" in line for line in told.lines())


def test_an_explanation_of_a_search_that_was_stopped_says_so() -> None:
    told = explain(World(controllers=[pairs], objects=[pair()], faults=Faults(crash=2)), max_states=20)
    assert not told.is_complete
    assert "the search was stopped" in next(iter(told.lines()))


def test_the_busiest_slots_and_steps_come_first() -> None:
    told = explain(World(controllers=[pairs], objects=[pair()]))
    assert [row.count for row in told.slots] == sorted((row.count for row in told.slots), reverse=True)
    assert told.actions[0].count >= told.actions[-1].count > 0
    assert "its code ran" in told.actions[0].remark
