"""Partial-order reduction: the same verdicts on fewer states, and footprints that never miss a slot."""

from __future__ import annotations

import importlib.util
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from attractor.check import Map, Spec, SpecError, action, always, check, constant, each, require, terminal, var
from attractor.check.footprints import Footprint
from attractor.check.specs.twophase import TwoPhaseCommit

NAMES = ("deadlock", "small", "apart", "seen")

guards = st.sampled_from(
    ["self.x < 2", "self.y == 0", "self.local[p] == 1", "self.local[0] != 2", "0 in self.flags", "p not in self.flags"]
)
writes = st.sampled_from(
    [
        "self.x = (self.x + 1) % 3",
        "self.y = 1 - self.y",
        "self.local[p] = 1",
        "self.local[p] = self.x",
        "self.local[p] += 1 - self.local[p]",
        "self.flags.add(p)",
        "self.flags.discard(0)",
        "self.helper(p)",
        "self.y = self.choose((0, 1))",
    ]
)
processes = st.lists(
    st.tuples(st.lists(guards, max_size=1), st.lists(writes, min_size=1, max_size=2), st.integers(0, 2)),
    min_size=1,
    max_size=3,
)
programs = st.tuples(
    st.integers(2, 3),
    processes,
    st.sampled_from(["self.x < 2", "self.y == 0", "self.local[0] == 0 or self.x == 0"]),
    st.sampled_from(["self.y == 1", "self.local[1] == 2", "self.x == 2 and self.y == 1"]),
)

HEADER = '''"""A random specification."""
from attractor.check import Map, Spec, Subset, action, always, each, require, sometimes, subset, var

class Random(Spec):
    x: int = var(0)
    y: int = var(0)
    pc: Map[int, int] = each({processes}, 0)
    local: Map[int, int] = each({processes}, 0)
    flags: Subset[int] = subset({processes}, initial=(1,))

    def helper(self, q):
        if self.local[q] == 0:
            self.local[q] = 2

    @always
    def small(self):
        return {invariant}

    @always(p={processes})
    def apart(self, p):
        return not (self.pc[p] == 2 and self.local[p] == 2)

    @sometimes
    def seen(self):
        return {witness}
'''


def source_of(program: Any) -> str:
    count, body, invariant, witness = program
    lines = [HEADER.format(processes=count, invariant=invariant, witness=witness)]
    for number, (conditions, effects, following) in enumerate(body):
        guard = " and ".join([f"self.pc[p] == {number}", *conditions])
        lines.append(f"    @action(p={count})\n    def step{number}(self, p):\n        require({guard})")
        lines += [f"        {effect}" for effect in effects]
        lines.append(f"        self.pc[p] = {following}\n")
    return "\n".join(lines)


def load(source: str, folder: str) -> Spec:
    path = Path(folder, f"random_{abs(hash(source))}.py")
    path.write_text(source)
    module_spec = importlib.util.spec_from_file_location(path.stem, path)
    assert module_spec is not None
    assert module_spec.loader is not None
    module = importlib.util.module_from_spec(module_spec)
    module_spec.loader.exec_module(module)
    made: Spec = module.Random()
    return made


def assert_reduction_changes_no_verdict(program: Any, names: tuple[str, ...]) -> tuple[int, int]:
    with tempfile.TemporaryDirectory() as folder:
        source = source_of(program)
        chosen = [name for name in names if name != "deadlock"]
        full = check(load(source, folder), properties=chosen, deadlock="deadlock" in names)
        reduced = check(load(source, folder), properties=chosen, deadlock="deadlock" in names, reduction=True)
    assert {p.name: p.verdict for p in reduced.properties} == {p.name: p.verdict for p in full.properties}
    assert reduced.distinct <= full.distinct
    return full.distinct, reduced.distinct


@settings(max_examples=100, suppress_health_check=[HealthCheck.too_slow])
@given(programs, st.sampled_from([("deadlock",), ("small",), ("apart",), ("seen",), NAMES]))
def test_reduced_and_full_search_give_the_same_verdicts(program: Any, names: tuple[str, ...]) -> None:
    assert_reduction_changes_no_verdict(program, names)


@pytest.mark.nightly
@settings(max_examples=3000, suppress_health_check=list(HealthCheck))
@given(programs, st.sampled_from([("deadlock",), ("small",), ("apart",), ("seen",), NAMES]))
def test_reduced_and_full_search_agree_in_thousands_of_cases(program: Any, names: tuple[str, ...]) -> None:
    assert_reduction_changes_no_verdict(program, names)


class Strangers(Spec):
    """Processes that have nothing to do with each other, and one counter that they all use."""

    count: int = constant(4)
    at: Map[int, int] = each(count, 0)
    total: int = var(0)

    @action(p=count)
    def work(self, p: int) -> None:
        require(self.at[p] < 3)
        self.at[p] += 1

    @action(p=count)
    def report(self, p: int) -> None:
        require(self.at[p] == 3)
        self.at[p] = 4
        self.total += 1

    @always
    def counted(self) -> bool:
        return self.total <= self.count

    @terminal
    def all_reported(self) -> bool:
        return self.total == self.count


def test_independent_processes_are_explored_in_one_order() -> None:
    full = check(Strangers(), engine="python").assert_holds()
    reduced = check(Strangers(), reduction=True).assert_holds()
    assert full.distinct == 5**4
    assert reduced.distinct < 100


def test_two_phase_commit_needs_fewer_states_for_its_deadlocks() -> None:
    assert check(TwoPhaseCommit(managers=5), properties=[], reduction=True).assert_holds().distinct < 8_832


def test_footprints_are_found_in_the_source() -> None:
    model = Strangers(count=2).compile()
    found = {each.label: each.footprint for each in model.actions}
    names = {slot.index: slot.name for slot in model.slots}

    def named(slots: set[int]) -> set[str]:
        return {names[slot] for slot in slots}

    report = found["report(1)"]
    assert isinstance(report, Footprint)
    assert (named(report.reads), named(report.writes)) == ({"at[1]", "total"}, {"at[1]", "total"})
    work = found["work(0)"]
    assert isinstance(work, Footprint)
    assert named(work.reads | work.writes) == {"at[0]"}


def test_what_cannot_be_followed_touches_everything() -> None:
    def elsewhere(spec: Any) -> None:
        spec.total += 1

    class Escaping(Strangers):
        @action
        def escape(self) -> None:
            require(self.total < 2)
            elsewhere(self)

    model = Escaping(count=2).compile()
    assert next(each for each in model.actions if each.name == "escape").footprint is None
    assert check(Escaping(count=2), reduction=True).verdict == check(Escaping(count=2)).verdict


def test_reduction_is_refused_where_it_is_not_done() -> None:
    with pytest.raises(SpecError, match="python engine"):
        check(Strangers(), reduction=True, engine="native")
