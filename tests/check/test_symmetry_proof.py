"""A declaration that elements are interchangeable is shown to be right, or refused with what tells them apart."""

from __future__ import annotations

from typing import Any

import pytest

from attractor.check import (
    Map,
    Spec,
    SpecError,
    Step,
    action,
    always,
    always_step,
    check,
    constant,
    constraint,
    each,
    interchangeable,
    require,
    var,
)
from attractor.check.specs.irsa import Irsa
from attractor.check.specs.twophase import TwoPhaseCommit

ENGINES = ["python", "native"]


class Runners(Spec):
    """Each runs three rounds."""

    count: int = constant(3)
    at: Map[int, int] = each(count, 0)
    same = interchangeable(count)

    @action(r=count)
    def run(self, r: int) -> None:
        require(self.at[r] < 3)
        self.at[r] += 1

    @always
    def on_track(self) -> bool:
        return all(0 <= self.at[r] <= 3 for r in range(self.count))


class NamesOneInAProperty(Runners):
    @always
    def the_last_is_slow(self) -> bool:
        return not (self.at[2] == 3 and self.at[0] == 0)


class NamesOneInAStepProperty(Runners):
    @always_step
    def the_first_never_finishes_first(self, step: Step) -> bool:
        return not (step.after.at[0] == 3 and self.at[0] == 2 and self.at[2] == 0)


class NamesOneInAConstraint(Runners):
    @constraint
    def the_first_walks(self) -> bool:
        return self.at[0] < 2


class LooksAtWhichItHas(Runners):
    @action(r=Runners.count)
    def run(self, r: int) -> None:
        require(self.at[r] < (3 if r else 2))
        self.at[r] += 1


class NamesOneInAValue(Runners):
    leader: int = var(0)

    @action(r=Runners.count)
    def overtake(self, r: int) -> None:
        require(self.at[r] > self.at[self.leader])
        self.leader = r

    @always
    def leader_is_not_last(self) -> bool:
        return self.at[self.leader] >= 0


@pytest.mark.parametrize("engine", ENGINES)
def test_a_declaration_that_is_right_is_shown_for_every_state(engine: Any) -> None:
    verdict = check(Runners(), symmetry=True, engine=engine, deadlock=False)
    assert (verdict.verdict, verdict.binding, verdict.distinct) == ("holds", (), 20)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("spec", "culprit"),
    [
        (NamesOneInAProperty, "property the_last_is_slow says something else"),
        (NamesOneInAStepProperty, "property the_first_never_finishes_first says something else"),
        (NamesOneInAConstraint, "the_first_walks"),
        (LooksAtWhichItHas, "action run does something else"),
        (NamesOneInAValue, "action overtake does something else"),
    ],
)
def test_a_false_declaration_is_refused_with_what_tells_the_elements_apart(
    engine: Any, spec: type[Spec], culprit: str
) -> None:
    with pytest.raises(SpecError, match=culprit) as raised:
        check(spec(), symmetry=True, engine=engine, deadlock=False)
    assert "test_symmetry_proof.py:" in str(raised.value)
    check(spec(), engine=engine, deadlock=False)


def test_a_declaration_too_large_to_be_shown_is_in_the_word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("attractor.check.engine.symmetry.WORK", 100)
    verdict = check(Runners(), symmetry=True, deadlock=False)
    assert verdict.word == "holds within the interchangeability same, shown for 2 of 20 states"


def test_a_permutation_that_is_no_exchange_is_tried_with_many_elements() -> None:
    verdict = check(Runners(count=5), symmetry=True, deadlock=False)
    assert verdict.word.startswith("holds within the interchangeability same, shown for 56 of 56 states")


@pytest.mark.parametrize("spec", [TwoPhaseCommit(managers=4), Irsa()])
def test_what_we_ship_declares_rightly(spec: Spec) -> None:
    safe = [claim.name for claim in spec.compile().properties if not claim.is_liveness]
    assert check(spec, symmetry=True, properties=safe).verdict in {"holds", "holds within"}
