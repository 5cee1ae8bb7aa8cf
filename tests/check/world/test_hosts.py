"""Processes with controllers of their own: each crashes, lags and is cut off alone."""

from typing import Any

import pytest

from attractor.check import Edit, Faults, SpecError, World, WorldState, always, always_step_by, check, sometimes
from attractor.check.report.state_counts import variations
from attractor.check.report.story_builder import story_of
from attractor.k8s.core_v1 import ConfigMap
from attractor.testing.replay import replay
from tests.check.world.asking import (
    ANSWER,
    QUESTION,
    Line,
    LineModel,
    Machine,
    answerer,
    asker,
    asking,
    handed_over,
    is_answered,
    speaker,
)
from tests.check.world.pairs import KEY, Pair, naive, pair, pairs


def test_without_a_crash_every_question_is_answered() -> None:
    assert check(asking(Faults())).assert_holds().distinct == 175


def test_a_crash_of_all_at_once_hides_that_a_question_is_lost_with_the_one_who_took_it() -> None:
    check(asking(Faults(crash=1), hosts=("both",))).assert_holds()


def test_a_crash_of_the_one_who_asks_does_no_harm() -> None:
    check(asking(Faults(crash={"asks": 1}))).assert_holds()


async def test_a_crash_of_the_one_who_answers_alone_loses_the_question_also_on_the_runtime() -> None:
    world = asking(Faults(crash={"answers": 1}))
    trace = check(world).assert_violated("eventually stable")
    crashes = [step.arguments for step in trace.steps if step.action == "crash"]
    assert crashes == [{"host": "answers"}]
    assert (await replay(world, trace)).is_confirmed


def test_a_budget_without_a_host_strikes_any_of_them() -> None:
    trace = check(asking(Faults(crash=1))).assert_violated("eventually stable")
    assert [step.arguments for step in trace.steps if step.action == "crash"] == [{"host": "answers"}]


def test_a_host_that_is_cut_off_alone_is_the_only_one_that_fails() -> None:
    check(asking(Faults(partition={"asks": 1}))).assert_holds()
    trace = check(asking(Faults(partition={"answers": 1}))).assert_violated("eventually stable")
    assert [step.arguments["host"] for step in trace.steps if step.action == "cut off"] == ["answers"]


def test_steps_are_told_in_lanes_of_their_hosts() -> None:
    world = asking(Faults(crash={"answers": 1}))
    story = story_of(world, check(world).assert_violated("eventually stable"))
    assert {each.lane for each in story.steps} >= {
        "asks worker 0",
        "answers worker 0",
        "cache asks",
        "cache answers",
        "answers",
    }


def only_the_answerer_answers(before: WorldState, after: WorldState, actor: str) -> bool:
    return before.find(ConfigMap, ANSWER) == after.find(ConfigMap, ANSWER) or actor == "answers"


def only_the_asker_answers(before: WorldState, after: WorldState, actor: str) -> bool:
    return before.find(ConfigMap, ANSWER) == after.find(ConfigMap, ANSWER) or actor == "asks"


async def test_a_claim_about_steps_is_told_who_takes_them() -> None:
    late = Faults(late_request={"answers": 1})
    check(asking(late).but(properties=[always_step_by(only_the_answerer_answers)])).assert_holds()
    wrong = asking(Faults()).but(properties=[always_step_by(only_the_asker_answers)])
    trace = check(wrong).assert_violated("only the asker answers")
    assert (await replay(wrong, trace)).is_confirmed


def a_question_waits(world: WorldState) -> bool:
    return world.find(ConfigMap, QUESTION) is not None


def test_hosts_that_run_the_same_elect_a_leader_among_them() -> None:
    apart: dict[str, Any] = {"first": [asker], "second": [asker], "answers": [answerer]}
    claims = [sometimes(a_question_waits)]
    world = asking(Faults()).but(hosts=apart, election=True, properties=claims)
    assert world.electing == (("first", "second"), ("answers",))
    changed = check(world.but(faults=Faults(leader_change=1))).assert_holds()
    assert {each.name: each.taken for each in changed.coverage}["leadership lost"]


def spoke_once(world: WorldState) -> bool:
    return len(world.external(Line).said) <= 1


async def test_what_a_host_holds_of_an_outside_system_goes_with_it_and_the_rest_stays() -> None:
    world = World(
        hosts={"one": [speaker], "other": [pairs]},
        objects=[pair()],
        faults=Faults(crash=1),
        externals={Line: LineModel()},
        properties=[always(spoke_once)],
        workers=1,
    )
    check(world.but(faults=Faults(crash={"other": 1}))).assert_holds()
    trace = check(world).assert_violated("spoke once")
    assert [step.arguments["host"] for step in trace.steps if step.action == "crash"] == ["one"]
    assert (await replay(world, trace)).is_confirmed


def the_first_runs_when_it_is_answered(world: WorldState) -> bool:
    return not is_answered(world) or world.external(Machine).runs("first")


async def test_a_host_that_the_outside_ends_is_gone_and_one_that_it_starts_begins() -> None:
    world = handed_over(Faults(crash=1))
    check(world).assert_holds()
    gone = world.but(properties=[always(the_first_runs_when_it_is_answered)])
    trace = check(gone).assert_violated("the first runs when it is answered")
    acting = [step.arguments["host"] for step in trace.steps if step.action == "go on"]
    assert acting == ["first", "first", "second"]
    assert (await replay(gone, trace)).is_confirmed


def test_a_world_is_not_explained_by_leaving_out_a_host_that_runs_something_of_its_own() -> None:
    assert not [what for what, _ in variations(asking(Faults())) if what.startswith("host")]


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"hosts": {"a": [pairs]}, "controllers": [pairs]}, "leave `controllers` out"),
        ({"hosts": {}}, "needs a host"),
        ({"hosts": {"a": []}}, "host 'a' runs nothing"),
        ({"hosts": {"a": [pairs, pairs]}}, "two controllers of the name 'pairs'"),
        ({"hosts": {"a b": [pairs]}}, "cannot be named 'a b'"),
        ({"hosts": {"a": [pairs]}, "faults": Faults(crash={"b": 1})}, "crash is to strike host 'b'"),
        ({"hosts": {"a": [pairs]}, "faults": Faults(conflict={"a": 1})}, "on no host"),  # type: ignore[arg-type]
        (
            {"hosts": {"a": [pairs], "b": [naive]}, "faults": Faults(leader_change=1), "election": True},
            "needs two hosts",
        ),
    ],
)
def test_a_world_that_makes_no_sense_says_why(given: dict[str, Any], why: str) -> None:
    with pytest.raises(SpecError, match=why):
        World(objects=[pair()], users=[Edit(Pair, KEY, spec=[{"text": "y"}])], **given)
