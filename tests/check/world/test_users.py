"""Users of a world: free within a budget, or by a script; each at any moment, or when its author would act."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from attractor.check import (
    Bounds,
    Create,
    Delete,
    Edit,
    Script,
    SpecError,
    World,
    WorldState,
    always,
    always_step,
    check,
    sometimes,
)
from attractor.check.report.state_counts import variations
from attractor.check.report.story_builder import story_of
from attractor.check.world.simulation.walk import Walk
from attractor.k8s.core_v1 import ConfigMap
from attractor.testing.replay import Broken, replay, turn_of
from attractor.testing.replay.regression import withstand_async
from tests.check.world.pairs import KEY, Pair, pair, pairs
from tests.quality.zoo import drained_too_early

if TYPE_CHECKING:
    from attractor.check.world.api.users import User

GREEN, BLUE = Edit(Pair, KEY, spec=[{"text": "green"}]), Edit(Pair, KEY, spec=[{"text": "blue"}])


def texts(look: WorldState) -> list[str]:
    return [one.spec.text for one in look.list(Pair)]


def both_children(look: WorldState) -> bool:
    return len(look.list(ConfigMap)) == 2


def world(*users: User, **options: object) -> World:
    return World(controllers=[pairs], objects=[pair()], users=users, **options)  # type: ignore[arg-type]


def goes(before: str, after: str) -> object:
    """Only edits that lead from one text to the other are made."""
    allowed = {(before, after), ("x", before)}

    def holds(one: WorldState, other: WorldState) -> bool:
        return texts(one) == texts(other) or (texts(one)[0], texts(other)[0]) in allowed

    return always_step(holds, name="in order")


def test_the_steps_of_a_script_happen_in_its_order_and_only_in_it() -> None:
    claims = [goes("green", "blue"), sometimes(lambda look: texts(look) == ["blue"], name="to the end")]
    in_order = check(world(Script(GREEN, BLUE), properties=claims)).assert_holds()
    assert in_order.distinct == 490
    free = Edit(Pair, KEY, spec=[{"text": "green"}, {"text": "blue"}], times=2)
    check(world(free, properties=claims)).assert_violated("in order")


def test_a_script_costs_less_than_free_users_with_the_same_steps() -> None:
    scripted = check(world(Script(GREEN, Delete(Pair, KEY)), bounds=Bounds(lag=2))).assert_holds()
    free = check(world(GREEN, Delete(Pair, KEY), bounds=Bounds(lag=2))).assert_holds()
    assert (scripted.distinct, free.distinct) == (25912, 29475)


def test_a_step_that_is_refused_waits_until_it_is_accepted() -> None:
    walk = Walk(world(Script(Delete(Pair, KEY), GREEN, Create(pair())), Create(pair("b"))))
    assert not walk.can("edit")
    walk.take("delete")
    assert not walk.can("edit"), "there is nothing to edit, and the script waits for good"
    assert not walk.can("create", object="pair default/a"), "its turn comes after the edit"
    assert walk.can("create", object="pair default/b"), "other users do not wait"


def test_a_step_that_changes_nothing_is_done_and_the_script_goes_on() -> None:
    walk = Walk(world(Script(Edit(Pair, KEY, spec=[{"text": "x"}]), BLUE)))
    walk.take("edit", set="spec.text=x")
    walk.take("edit", set="spec.text=blue")
    assert walk.look(texts) == ["blue"]
    assert walk.look(lambda look: look.budget("script")) == 0


def test_the_same_step_may_come_twice() -> None:
    walk = Walk(world(Script(GREEN, BLUE, GREEN)))
    for text in ("green", "blue", "green"):
        walk.take("edit", set=f"spec.text={text}")
    assert walk.look(texts) == ["green"]


def test_an_edit_of_a_script_takes_one_of_its_values() -> None:
    either = Edit(Pair, KEY, spec=[{"text": "green"}, {"text": "blue"}])
    claims = [
        sometimes(lambda look: texts(look) == ["green"], name="green"),
        sometimes(lambda look: texts(look) == ["blue"], name="blue"),
        always(lambda look: look.budget("script") == 1 or texts(look) != ["x"], name="once"),
    ]
    assert check(world(Script(either), properties=claims)).assert_holds().distinct == 267


@pytest.mark.parametrize("scripted", [True, False])
def test_a_step_with_a_condition_is_taken_only_when_it_is_true(scripted: bool) -> None:
    late = Delete(Pair, KEY, when=both_children)
    claim = always_step(lambda one, other: not one.list(Pair) or other.list(Pair) != [] or both_children(one), name="x")
    users = Script(late) if scripted else late
    check(world(users, properties=[claim])).assert_holds()
    check(world(Delete(Pair, KEY), properties=[claim])).assert_violated("x")


def test_scripts_of_one_world_have_different_names_and_steps_that_happen_once() -> None:
    with pytest.raises(SpecError, match="several scripts need names"):
        world(Script(GREEN), Script(BLUE))
    with pytest.raises(SpecError, match="needs steps"):
        Script()
    with pytest.raises(SpecError, match="instead of times=2 write it again"):
        Script(Delete(Pair, KEY, times=2))
    with pytest.raises(SpecError, match="is Create, Edit or Delete, not Script"):
        Script(Script(GREEN))  # type: ignore[arg-type]
    world(Script(GREEN), Script(BLUE, name="admin"))


def test_an_explanation_leaves_out_a_script_and_its_last_step() -> None:
    smaller = {what: each.users for what, each in variations(world(Script(GREEN, BLUE)))}
    assert smaller["user: script"] == ()
    (shorter,) = smaller["the last step of script"]
    assert isinstance(shorter, Script)
    assert shorter.steps == (GREEN,)
    assert "the last step of script" not in dict(variations(world(Script(GREEN))))


def test_a_story_says_which_step_of_which_script_it_was() -> None:
    claim = always(lambda look: texts(look) != ["blue"], name="never blue")
    found = world(Script(GREEN, BLUE, name="admin"), properties=[claim])
    story = story_of(found, check(found).assert_violated("never blue"))
    assert [(step.lane, step.title) for step in story.steps] == [
        ("user", "edit pair default/a, spec.text=green, step 1 of admin"),
        ("user", "edit pair default/a, spec.text=blue, step 2 of admin"),
    ]


async def test_a_counterexample_with_a_script_is_replayed_and_kept_as_a_test() -> None:
    broken = drained_too_early.world()
    trace = check(broken, stop_at_first=True).assert_violated("eventually stable")
    assert (await replay(broken, trace)).is_confirmed
    turns = [turn_of(each) for each in story_of(broken, trace).steps]
    with pytest.raises(Broken, match="eventually stable"):
        await withstand_async(broken, "eventually stable", turns, loop=trace.loop)
    await withstand_async(drained_too_early.world(drained_too_early.fixed), "eventually stable", turns)


def test_only_the_ordered_script_tells_the_broken_promise_from_the_kept_one() -> None:
    fixed = drained_too_early.world(drained_too_early.fixed)
    check(fixed).assert_holds()
    (script,) = fixed.users
    assert isinstance(script, Script)
    assert check(fixed.but(users=script.steps)).assert_holds()
    hasty = replace(script.steps[1], when=None)
    check(fixed.but(users=[hasty])).assert_violated("eventually stable")


async def test_a_claim_about_what_a_user_has_left_is_judged_on_the_runtime_too() -> None:
    claim = always(lambda look: look.budget("admin") + look.budget(BLUE.label) != 1, name="two of three")
    found = world(Script(GREEN, BLUE, name="admin"), BLUE, properties=[claim])
    trace = check(found, stop_at_first=True).assert_violated("two of three")
    assert (await replay(found, trace)).is_confirmed


MISSING = ("default", "nobody")


@pytest.mark.parametrize(
    ("users", "warning"),
    [
        ([Edit(Pair, MISSING, spec=[{"text": "blue"}])], 'refuses it: pairs.test.attractor.dev "nobody" not found'),
        ([Delete(Pair, MISSING)], 'refuses it: pairs.test.attractor.dev "nobody" not found'),
        ([Edit(Pair, KEY, patch=[{}])], f"the user never does `edit pair {KEY}`: it would change nothing"),
        ([Edit(Pair, KEY, spec=[{"text": 7}])], "spec.text in body must be of type string"),
        ([replace(GREEN, when=lambda _: False)], "its `when` is true in no reached state"),
        ([Script(Delete(Pair, MISSING), GREEN)], f"`edit pair {KEY}`: what the script does before it never happens"),
    ],
)
@pytest.mark.parametrize("engine", ["python", "native"])
def test_a_user_who_never_acts_is_reported_with_the_reason(users: list[User], warning: str, engine: Any) -> None:
    assert warning in "\n".join(check(world(*users), engine=engine).warnings)


def test_a_user_who_acts_in_one_of_several_ways_is_not_reported() -> None:
    first = pair().spec.text
    assert check(world(Edit(Pair, KEY, spec=[{"text": first}, {"text": "other"}]))).warnings == ()


def test_a_controller_that_never_runs_is_reported() -> None:
    (warning,) = check(World(controllers=[pairs])).warnings
    assert warning.startswith("controller pairs never runs: nothing asks it to; is there a Pair")
