"""What is remembered of steps: how little is executed, when it is forgotten, and what sharing must not hide."""

from __future__ import annotations

from typing import Any

import pytest

from attractor.check import (
    Map,
    Spec,
    SpecError,
    action,
    always,
    check,
    constant,
    each,
    interchangeable,
    require,
    terminal,
    var,
)
from attractor.check.engine import native
from attractor.check.spec.conjunctions import conjuncts
from tests.check.naive import Naive

ENGINES = ["python", "native"]


class Wide(Spec):
    """Every step reads everything: the worst case for remembering."""

    parts: Map[int, int] = each(4, 0)

    @action(k=4)
    def bump(self, k: int) -> None:
        total = sum(self.parts.values())
        require(total < 10)
        self.parts[k] = (self.parts[k] + 1 + total % 2) % 5


@pytest.mark.parametrize("engine", ENGINES)
def test_an_action_that_reads_everything_is_named_with_what_it_reads(
    engine: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("attractor.check.engine.audit.TOO_OFTEN", 100)
    verdict = check(Wide(), engine=engine, deadlock=False)
    (advice,) = verdict.advice
    assert "action bump was executed" in advice
    assert "reads 4 slots (parts[0], parts[1], parts[2], parts[3])" in advice


def test_what_never_returns_is_forgotten_without_changing_the_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    remembered = check(Wide(), engine="native", deadlock=False)
    monkeypatch.setattr(native, "FORGET_AFTER", 40)
    forgetful = check(Wide(), engine="native", deadlock=False)
    assert (forgetful.distinct, forgetful.generated) == (remembered.distinct, remembered.generated)
    assert forgetful.coverage[0].executed > remembered.coverage[0].executed


@pytest.mark.parametrize("engine", ENGINES)
def test_interchangeable_instances_are_executed_once_for_all(engine: Any) -> None:
    class Same(Spec):
        count: int = constant(6)
        at: Map[int, int] = each(count, 0)

        @action(p=count)
        def go(self, p: int) -> None:
            require(self.at[p] < 2)
            self.at[p] += 1

    verdict = check(Same(), engine=engine, deadlock=False)
    assert verdict.distinct == 3**6
    assert verdict.coverage[0].executed == 3


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("way", ["compare", "add", "write", "neighbour", "all", "text", "isinstance"])
def test_a_step_that_looks_at_its_parameter_is_executed_for_each(engine: Any, way: str) -> None:
    class Looking(Spec):
        count: int = constant(3)
        at: Map[int, int] = each(count, 0)
        last: Any = var(None)

        @action(p=count)
        def go(self, p: int) -> None:
            require(self.at[p] == 0)
            self.at[p] = 1
            if way == "compare":
                self.last = p == 1
            elif way == "add":
                self.last = p + 1
            elif way == "write":
                self.last = (p,)
            elif way == "neighbour":
                self.last = self.at[(p + 1) % self.count]
            elif way == "all":
                self.last = tuple(self.at.values())
            elif way == "text":
                self.last = f"process {p}"
            else:
                self.last = isinstance(p, int)

    naive = Naive(Looking()).enumerate()
    verdict = check(Looking(), engine=engine, deadlock=False)
    assert (verdict.distinct, verdict.generated) == (len(naive.states), naive.generated)


@pytest.mark.parametrize("engine", ENGINES)
def test_symmetry_of_elements_that_a_value_names_is_refused(engine: Any) -> None:
    class Lock(Spec):
        count: int = constant(3)
        at: Map[int, str] = each(count, "out")
        owner: int | None = var(None)
        same = interchangeable(count)

        @action(p=count)
        def take(self, p: int) -> None:
            require(self.owner is None)
            self.owner = p
            self.at[p] = "in"

        @action(p=count)
        def give(self, p: int) -> None:
            require(self.owner == p)
            self.owner = None
            self.at[p] = "out"

    assert check(Lock(), engine=engine).distinct == 4
    with pytest.raises(SpecError, match="same: the elements are declared interchangeable, but action"):
        check(Lock(), engine=engine, symmetry=True)


@pytest.mark.parametrize("engine", ENGINES)
def test_symmetry_keeps_the_verdict_on_promises(engine: Any) -> None:
    from attractor.check import eventually

    class Runners(Spec):
        count: int = constant(3)
        at: Map[int, int] = each(count, 0)
        same = interchangeable(count)

        @action(p=count, fair="weak")
        def run(self, p: int) -> None:
            require(self.at[p] < 2)
            self.at[p] += 1

        @terminal
        def arrived(self) -> bool:
            return all(place == 2 for place in self.at.values())

        all_arrive = eventually(lambda self: all(place == 2 for place in self.at.values()))

    full = check(Runners(), engine=engine).assert_holds()
    reduced = check(Runners(), engine=engine, symmetry=True).assert_holds()
    assert (full.distinct, reduced.distinct) == (27, 10)


def test_a_conjunction_is_judged_part_by_part() -> None:
    class Pair(Spec):
        a: int = var(0)
        b: int | None = var(None)

        @action
        def step(self) -> None:
            self.a = (self.a + 1) % 3

        @action
        def set_b(self) -> None:
            require(self.b is None)
            self.b = 2

        @always
        def fine(self) -> bool:
            """Both parts."""
            return self.a < 3 and (self.b is None or self.b < 3)

        @always
        def guarded(self) -> bool:
            return self.b is not None and self.b > 1 and self.b < 2

    assert len(conjuncts(Pair.declared["fine"].function)) == 2  # type: ignore[attr-defined]
    verdict = check(Pair())
    assert verdict["fine"].verdict == "holds"
    assert len(verdict.assert_violated("guarded")) == 0


def test_functions_that_are_not_one_conjunction_stay_whole() -> None:
    def two_lines(self: Any) -> bool:
        ready = self.a and self.b
        return bool(ready and self.c)

    def one_term(self: Any) -> bool:
        return bool(self.a)

    limit = 3

    def closed_over(self: Any) -> bool:
        return self.a < limit and self.b < limit  # type: ignore[no-any-return]

    assert conjuncts(two_lines) == [two_lines]
    assert conjuncts(one_term) == [one_term]
    assert conjuncts(len) == [len]
    parts = conjuncts(closed_over)
    state = type("State", (), {"a": 2, "b": 5})()
    assert [part(state) for part in parts] == [True, False]
