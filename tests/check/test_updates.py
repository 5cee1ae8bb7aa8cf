"""A step may change a slot by a function of what it holds, without looking: fewer runs, the same states."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from attractor.check import check
from attractor.check.engine.model import Domain, Model
from attractor.check.errors import Disabled, SpecError
from attractor.check.spec.properties import Case, Property

if TYPE_CHECKING:
    from attractor.check.engine.execution import Execution
    from attractor.check.verdict import Verdict

ENGINES: list[dict[str, Any]] = [{"engine": "python"}, {"engine": "native"}, {"engine": "native", "threads": 2}]
TOP = 4


@dataclass(frozen=True)
class Plus:
    """Counts on by ``step``, and round at ``TOP``."""

    step: int

    def __call__(self, number: int) -> int:
        return (number + self.step) % TOP


def updated(view: Execution, ref: int, how: Plus, *, blindly: bool) -> None:
    if blindly:
        view.update(ref, how)
    else:
        view.write(ref, how(view.read(ref)))


class Counters:
    """Some counters; one action counts all of them on, each by a number of its own."""

    def __init__(self, *, blindly: bool) -> None:
        self.model = Model("counters")
        self.places = [self.model.add_slot("counter", 0, key=n, keyed=True) for n in range(3)]
        self.model.add_initial({})
        for place in self.places:
            self.model.add_actions(f"one {place}", lambda view, place=place: view.write(place, 1))
        self.model.add_actions("all", lambda view: self.count(view, blindly))

    def count(self, view: Execution, blindly: bool) -> None:
        for step, place in enumerate(self.places, 1):
            updated(view, place, Plus(step), blindly=blindly)

    def compile(self) -> Model:
        return self.model


def counts(verdict: Verdict) -> tuple[int, int, int]:
    return verdict.distinct, verdict.generated, verdict.depth


@pytest.mark.parametrize("engine", ENGINES)
def test_a_step_that_only_changes_runs_once_whatever_is_there(engine: dict[str, Any]) -> None:
    blind, looking = (check(Counters(blindly=blindly), deadlock=False, **engine) for blindly in (True, False))
    assert counts(blind) == counts(looking)
    executed = [{each.name: each.executed for each in verdict.coverage}["all"] for verdict in (blind, looking)]
    assert executed == [1, looking.distinct]


class Chance:
    """A random model: each action is a random program over slots of one domain."""

    def __init__(self, seed: int, *, blindly: bool) -> None:
        luck = random.Random(seed)
        self.blindly = blindly
        self.model = Model(f"chance {seed}")
        domain = Domain("number")
        self.slots = [self.model.add_slot("slot", 0, key=n, keyed=True, domain=domain) for n in range(4)]
        self.model.add_initial({})
        for number in range(3):
            program = [self.order(luck) for _ in range(luck.randint(1, 5))]
            self.model.add_actions(f"action {number}", lambda view, program=program: self.run(view, program))
        (seen,) = self.model.add_predicates("not all", lambda view: any(view.read(slot) != 3 for slot in self.slots))
        self.model.properties.append(Property("not all", "always", (Case((), (seen,)),)))

    def order(self, luck: random.Random) -> tuple[Any, ...]:
        what = luck.choice(["need", "set", "copy", "change", "change", "change if"])
        return what, luck.choice(self.slots), luck.choice(self.slots), luck.randrange(TOP)

    def run(self, view: Execution, program: list[tuple[Any, ...]]) -> None:
        for what, slot, other, number in program:
            match what:
                case "need" if view.read(slot) == number:
                    raise Disabled
                case "set":
                    view.write(slot, number)
                case "copy":
                    view.copy(slot, other)
                case "change":
                    updated(view, slot, Plus(number), blindly=self.blindly)
                case "change if" if view.read(other) > number:
                    updated(view, slot, Plus(1), blindly=self.blindly)

    def compile(self) -> Model:
        return self.model


@pytest.mark.parametrize("seed", range(60))
def test_whoever_looks_and_whoever_does_not_explore_the_same(seed: int) -> None:
    looking = check(Chance(seed, blindly=False), deadlock=False, engine="python")
    for engine in ENGINES:
        blind = check(Chance(seed, blindly=True), deadlock=False, **engine)
        assert (blind.verdict, *counts(blind)) == (looking.verdict, *counts(looking))
        traces = [verdict.properties[0].trace for verdict in (blind, looking)]
        assert [trace and len(trace) for trace in traces] == [traces[1] and len(traces[1])] * 2


def test_a_predicate_may_change_nothing() -> None:
    model = Model("looks")
    slot = model.add_slot("slot", 0)
    model.add_initial({})
    model.add_predicates("changes", lambda view: view.update(slot, Plus(1)))
    model.properties.append(Property("changes", "always", (Case((), (0,)),)))
    with pytest.raises(SpecError, match="may only look at the state, not change it"):
        check(type("Spec", (), {"compile": lambda _: model})())
