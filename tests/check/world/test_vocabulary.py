"""One vocabulary of properties: the same words, from the same place, in specifications and in worlds."""

from __future__ import annotations

from typing import Any

import pytest

from attractor.check import (
    Bounds,
    Edit,
    Spec,
    SpecError,
    World,
    WorldProperty,
    WorldState,
    action,
    always,
    always_eventually,
    always_step,
    check,
    eventually,
    eventually_always,
    eventually_stable,
    leads_to,
    sometimes,
    var,
)
from attractor.k8s import ConfigMap
from tests.check.world.pairs import KEY, Pair, both_are_right, pair, pairs

EDIT = Edit(Pair, KEY, spec=[{"text": "y"}])


def at_most_two(look: WorldState) -> bool:
    return len(look.list(ConfigMap)) <= 2


@always
def never_three(look: WorldState) -> bool:
    return len(look.list(ConfigMap)) < 3


def never_fewer(before: WorldState, after: WorldState) -> bool:
    return len(before.list(ConfigMap)) <= len(after.list(ConfigMap))


def test_the_words_of_specifications_are_decided_of_worlds() -> None:
    claims: list[WorldProperty] = [
        always(at_most_two),
        never_three,
        sometimes(both_are_right, name="it is right at last"),
        always_step(never_fewer, except_for=["collect garbage"]),
        eventually(both_are_right, name="reached"),
        eventually_always(both_are_right, name="kept"),
        always_eventually(both_are_right, name="again and again"),
        eventually_stable(both_are_right),
    ]
    verdict = check(World(controllers=[pairs], objects=[pair()], properties=claims)).assert_holds()
    assert [(each.name, each.kind) for each in verdict.properties] == [
        ("at most two", "always"),
        ("never three", "always"),
        ("it is right at last", "sometimes"),
        ("never fewer", "always_step"),
        ("reached", "eventually"),
        ("kept", "eventually_always"),
        ("again and again", "always_eventually"),
        ("eventually stable", "eventually_always"),
        ("quiesces", "settles"),
    ]


def test_steps_of_some_actions_are_judged_and_those_of_others_are_not() -> None:
    def stays(before: WorldState, after: WorldState) -> bool:
        return before.get(Pair, KEY).spec == after.get(Pair, KEY).spec

    def of(**which: Any) -> World:
        return World(
            controllers=[pairs],
            objects=[pair()],
            users=[EDIT],
            properties=[always_step(stays, name="stays", **which)],
            bounds=Bounds(lag=4),
        )

    check(of()).assert_violated("stays")
    check(of(actions=["edit"])).assert_violated("stays")
    assert check(of(except_for=["edit"]))["stays"].verdict == "holds"


class Counter(Spec):
    n = var(0)

    @action
    def count(self) -> None:
        self.n = (self.n + 1) % 3

    @action
    def reset(self) -> None:
        self.n = 0

    @always(name="it stays small")
    def small(self) -> bool:
        return bool(self.n < 3)

    @always_step(name="only a reset goes back", except_for=["reset"])
    def goes_on(self, step: Any) -> bool:
        return bool(step.after.n != 0 or self.n == 2)


class Unjudged(Counter):
    @always_step(actions=["cuont"])
    def misspelt(self, step: Any) -> bool:
        return False


def test_a_specification_names_its_properties_and_leaves_actions_out_as_worlds_do() -> None:
    verdict = check(Counter())
    assert [each.name for each in verdict.properties if each.kind != "deadlock"] == [
        "it stays small",
        "only a reset goes back",
    ]
    assert verdict.verdict == "holds"
    assert verdict["it stays small"].vacuous is None


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (at_most_two, r"at_most_two is no property; say what it claims, as in eventually_stable\(at_most_two\)"),
        (leads_to(at_most_two, both_are_right), r"leads_to is decided of specifications only; .* always_step, always"),
        (always(of=(1, 2))(lambda look, of: True), "has parameters or a switch, which specifications have"),
    ],
    ids=["bare", "leads_to", "parameters"],
)
def test_what_a_world_cannot_decide_is_refused(given: Any, text: str) -> None:
    with pytest.raises(SpecError, match=text):
        World(controllers=[pairs], properties=[given])


def test_a_property_of_steps_that_judges_no_step_is_refused() -> None:
    with pytest.raises(SpecError, match=r"`misspelt` judges no step: there are the actions count, reset"):
        check(Unjudged())
    claims = [always_step(never_fewer, actions=["edti"])]
    with pytest.raises(SpecError, match=r"`never fewer` judges no step: there are the actions .*edit"):
        check(World(controllers=[pairs], objects=[pair()], users=[EDIT], properties=claims))


def test_a_name_is_a_text() -> None:
    with pytest.raises(SpecError, match="a parameter of a property is not called `name`"):
        always(name=("a", "b"))  # type: ignore[call-overload]
